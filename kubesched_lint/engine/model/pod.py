"""A pod as the scheduler sees it: only its requirements on nodes and on other pods.

Field names follow ``k8s.io/api/core/v1`` (v1.36) in Python's spelling. Resources are integers: millicores for cpu,
bytes or counts for the rest. ``path`` fields hold the position in the manifest and never take part in equality.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import ClassVar

from msgspec import Struct, field

from kubesched_lint.engine.base.partly_compared import Distinct, PartlyCompared
from kubesched_lint.engine.base.places import Path, Source
from kubesched_lint.engine.model.labels import Labels, Requirement, Selector

Resources = Mapping[str, int]

DEFAULT_SCHEDULER = "default-scheduler"
INLINE_DISKS = ("awsElasticBlockStore", "azureDisk", "azureFile", "cinder", "csi", "gcePersistentDisk", "iscsi", "rbd")
"""Volume sources, by field name, that scheduling distinguishes without a claim."""


class Toleration(PartlyCompared, frozen=True):
    key: str = ""
    operator: str = "Equal"
    value: str = ""
    effect: str = ""
    seconds: int | None = None
    path: Path = ()


EVERY_TAINT = Toleration(operator="Exists")


class NodeSelectorTerm(PartlyCompared, frozen=True):
    """``expressions`` match labels, ``fields`` metadata.name; all of both must hold. Both empty: matches nothing."""

    expressions: tuple[Requirement, ...] = ()
    fields: tuple[Requirement, ...] = ()
    path: Path = ()


class PreferredNodeTerm(PartlyCompared, frozen=True):
    weight: int
    term: NodeSelectorTerm
    path: Path = ()


class PodAffinityTerm(PartlyCompared, frozen=True, dict=True):
    """A pod affinity term. ``namespaces`` empty and ``namespace_selector`` null mean the pod's own namespace.

    ``selector`` None selects nothing; ``namespace_selector`` with no requirement selects every namespace.
    """

    topology_key: str
    selector: Selector | None = None
    namespaces: tuple[str, ...] = ()
    namespace_selector: Selector | None = None
    match_label_keys: tuple[str, ...] = ()
    mismatch_label_keys: tuple[str, ...] = ()
    path: Path = ()

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, PodAffinityTerm) and self._meaning == other._meaning)

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _meaning(self) -> tuple[object, ...]:
        """Everything but paths, as plain tuples: simulations compare hundreds of terms per pod, again and again."""
        return (
            self.topology_key,
            _meaning(self.selector),
            self.namespaces,
            _meaning(self.namespace_selector),
            self.match_label_keys,
            self.mismatch_label_keys,
        )

    @cached_property
    def _hash(self) -> int:
        return hash(self._meaning)


def _meaning(selector: Selector | None) -> tuple[object, ...] | None:
    return None if selector is None else tuple((r.key, r.operator, r.values) for r in selector.requirements)


class WeightedPodAffinityTerm(PartlyCompared, frozen=True):
    weight: int
    term: PodAffinityTerm
    path: Path = ()


class SpreadConstraint(PartlyCompared, frozen=True):
    max_skew: int
    topology_key: str
    when_unsatisfiable: str
    selector: Selector | None = None
    min_domains: int | None = None
    node_affinity_policy: str = ""
    """Empty: nobody wrote it."""
    node_taints_policy: str = ""
    match_label_keys: tuple[str, ...] = ()
    path: Path = ()

    @property
    def is_hard(self) -> bool:
        return self.when_unsatisfiable == "DoNotSchedule"

    @property
    def honors_affinity(self) -> bool:
        """Whether it counts only nodes that the pod's node affinity selects; it does if nobody wrote a policy."""
        return self.node_affinity_policy != "Ignore"

    @property
    def honors_taints(self) -> bool:
        """Whether it counts only nodes whose taints the pod tolerates; it does not if nobody wrote a policy."""
        return self.node_taints_policy == "Honor"


class HostPort(PartlyCompared, frozen=True):
    port: int
    protocol: str = "TCP"
    host_ip: str = "0.0.0.0"
    path: Path = ()


class Held(Struct, frozen=True):
    """What a container, or a pod, of the cluster counts with while it is resized in place, instead of its spec."""

    requests: Resources
    later: Resources
    """Its requests once the kubelet has set what it allocated, and has allocated what it can."""
    limits: Resources = field(default_factory=dict)


class Container(PartlyCompared, frozen=True):
    """``requests`` include limits written without a request, as the API server stores them."""

    name: str
    requests: Resources = field(default_factory=dict)
    limits: Resources = field(default_factory=dict)
    restart_always: bool = False
    """True for an init container that is a sidecar."""
    image: str = ""
    held: Held | None = None
    """None: it counts with ``requests`` and ``limits``, as in a manifest. See ``engine.model.decode.resizes``."""
    path: Path = ()


class PodClaim(Struct, frozen=True):
    """An entry of ``spec.resourceClaims``: it names a ResourceClaim, or the template of one that is the pod's own."""

    name: str
    claim: str = ""
    template: str = ""


class Volume(PartlyCompared, frozen=True):
    """A volume that affects scheduling: a claim, an ephemeral claim, an inline disk, or an image.

    ``kind`` is ``persistentVolumeClaim``, ``ephemeral``, ``csi``, ``image``, or the field name of an inline disk
    (``awsElasticBlockStore``, ``gcePersistentDisk``, ``iscsi``, ``rbd``…); ``disk`` then holds its fields.
    """

    name: str
    kind: str
    claim: str = ""
    read_only: bool = False
    disk: Mapping[str, object] = field(default_factory=dict)
    path: Path = ()


# --- How its scheduler is configured ---------------------------------------------------------------------------------

LEAST_ALLOCATED, MOST_ALLOCATED, BY_RATIO = "LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"

FILTERS = (
    "NodeUnschedulable",
    "NodeName",
    "TaintToleration",
    "NodeAffinity",
    "NodePorts",
    "NodeResourcesFit",
    "VolumeRestrictions",
    "NodeVolumeLimits",
    "VolumeBinding",
    "VolumeZone",
    "PodTopologySpread",
    "InterPodAffinity",
    "NodeDeclaredFeatures",
)
"""The default filter plugins that we model, in the order of getDefaultPlugins."""
NEED_PREFILTER = (
    "NodePorts",
    "NodeResourcesFit",
    "VolumeRestrictions",
    "VolumeBinding",
    "PodTopologySpread",
    "InterPodAffinity",
)
"""Those of them that fail if their PreFilter does not run."""
PREFILTERS = ("NodeAffinity", "VolumeRestrictions", "VolumeBinding", "VolumeZone")
"""Those of them whose PreFilter can end the attempt or leave nodes out."""
WEIGHTS = {
    "TaintToleration": 3,
    "NodeAffinity": 2,
    "NodeResourcesFit": 1,
    "PodTopologySpread": 2,
    "InterPodAffinity": 2,
    "NodeResourcesBalancedAllocation": 1,
    "ImageLocality": 1,
}
"""The default score plugins that we model, with their weights."""
DEVICES_PLUGIN = "DynamicResources"
"""The plugin for devices: it filters, frees claims and scores only pods that need devices."""
EQUAL_WEIGHTS = {"cpu": 1, "memory": 1}


class ScoringStrategy(Struct, frozen=True):
    """How NodeResourcesFit scores a node."""

    type: str = LEAST_ALLOCATED
    resources: Mapping[str, int] = field(default_factory=EQUAL_WEIGHTS.copy)
    """Resource → weight."""
    shape: tuple[tuple[int, int], ...] = ()
    """For RequestedToCapacityRatio: points (utilization 0–100, score 0–10)."""


class SchedulerProfile(Distinct, frozen=True):
    """One profile. The defaults are those of kube-scheduler."""

    uncompared: ClassVar[tuple[str, ...]] = ("source", "configuration")

    name: str = DEFAULT_SCHEDULER
    prefilters: tuple[str, ...] = PREFILTERS
    filters: tuple[str, ...] = FILTERS
    """Plugins in the order in which they judge a node: the first that rejects it gives the reason."""
    failing: tuple[str, ...] = ()
    """Those whose PreFilter is disabled although they need it: a pod that reaches them is never scheduled."""
    weights: Mapping[str, int] = field(default_factory=WEIGHTS.copy)
    """Score plugin → weight."""
    preempts: bool = True
    """DefaultPreemption is enabled."""
    allocates_devices: bool = True
    """DynamicResources judges nodes."""
    devices_weight: int = 2
    """The weight of DynamicResources; 0: it does not score."""
    ignored_resources: frozenset[str] = frozenset()
    """Extended resources that NodeResourcesFit does not check."""
    ignored_resource_groups: frozenset[str] = frozenset()
    """Prefixes, up to the slash, of such resources."""
    strategy: ScoringStrategy = ScoringStrategy()
    balanced_resources: tuple[str, ...] = tuple(EQUAL_WEIGHTS)
    capacity_weight: int = 1
    """The weight of VolumeBinding, which scores with StorageCapacityScoring only; 0: it does not score."""
    capacity_shape: tuple[tuple[int, int], ...] = ((0, 10), (100, 0))
    """Points like those of ``ScoringStrategy.shape``."""
    added_node_terms: tuple[NodeSelectorTerm, ...] | None = None
    """Node terms that every pod has to match besides its own."""
    added_preferred_node_terms: tuple[PreferredNodeTerm, ...] = ()
    default_spread: tuple[SpreadConstraint, ...] | None = None
    """The list of constraints for pods without any; None: the system's own, which only score."""
    hard_pod_affinity_weight: int = 1
    ignores_preferred_terms_of_existing_pods: bool = False
    percentage_of_nodes_to_score: int = 0
    min_candidate_nodes_percentage: int = 10
    min_candidate_nodes_absolute: int = 100
    unmodelled: tuple[str, ...] = ()
    """What may decide differently: plugins of somebody's own, extenders."""
    half_disabled: tuple[str, ...] = ()
    """Plugins that fail in some attempts, because they run at one extension point and not at an earlier one."""
    is_known: bool = True
    """False for a scheduler that the configuration does not name: the fields say nothing."""
    origin: str = ""
    """Its place in the configuration, like ``scheduler.yaml:4``."""
    source: Source | None = None
    """The text of the configuration: the paths of ``default_spread`` and ``added_node_terms`` lead into it."""
    configuration: Mapping[str, object] = field(default_factory=dict)
    """The whole configuration as plain values."""


DEFAULT_PROFILE = SchedulerProfile()


class Pod(Distinct, frozen=True, weakref=True):
    """The scheduling part of a pod spec with its labels; identical pods share one Pod.

    Decoded from a template, it holds the manifest's fields with the API server's defaults; ``admission.Admission`` adds
    the rest (merged matchLabelKeys, priority, default tolerations, RuntimeClass, LimitRange).
    """

    uncompared: ClassVar[tuple[str, ...]] = ("path", "labels_path", "profile")

    namespace: str
    labels: Labels
    node_name: str = ""
    scheduler_name: str = DEFAULT_SCHEDULER
    node_selector: Labels = field(default_factory=dict)
    required_node_terms: tuple[NodeSelectorTerm, ...] | None = None
    """None: no required node affinity. An empty tuple matches no node."""
    preferred_node_terms: tuple[PreferredNodeTerm, ...] = ()
    tolerations: tuple[Toleration, ...] = ()
    required_affinity: tuple[PodAffinityTerm, ...] = ()
    required_anti_affinity: tuple[PodAffinityTerm, ...] = ()
    preferred_affinity: tuple[WeightedPodAffinityTerm, ...] = ()
    preferred_anti_affinity: tuple[WeightedPodAffinityTerm, ...] = ()
    spread: tuple[SpreadConstraint, ...] = ()
    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] = ()
    pod_requests: Resources | None = None
    """``spec.resources.requests`` (pod level), if given."""
    pod_held: Held | None = None
    """What counts instead of ``pod_requests`` while the pod is resized in place; None: nothing does."""
    overhead: Resources = field(default_factory=dict)
    requests: Resources = field(default_factory=dict)
    """Effective request per resource, as NodeResourcesFit counts it. See
    ``engine.model.resources.effective_requests``."""
    host_ports: tuple[HostPort, ...] = ()
    host_network: bool = False
    volumes: tuple[Volume, ...] = ()
    scheduling_gates: tuple[str, ...] = ()
    group: str = ""
    """The name of its PodGroup (``spec.schedulingGroup.podGroupName``)."""
    priority: int | None = None
    priority_class: str = ""
    preemption_policy: str = ""
    runtime_class: str = ""
    resource_claims: tuple[PodClaim, ...] = ()
    required_features: tuple[str, ...] = ()
    """Kubelet features that the spec needs, by the names in a node's status.declaredFeatures."""
    varying: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Labels that differ between the replicas of this pod, with their values; empty if the values are unknown."""
    as_written: Pod | None = None
    """The pod without the selector and tolerations of its RuntimeClass, as controllers see it; None if it has none."""
    path: Path = ()
    """The path of the pod spec in its object: ``("spec", "template", "spec")``, or ``("spec",)`` of a Pod."""
    labels_path: Path = ()
    profile: SchedulerProfile | None = None
    """The profile of its scheduler, which the scheduler's name decides; None: kube-scheduler's defaults."""


def knows_scheduler(pod: Pod) -> bool:
    """Return whether it is known how the pod's scheduler decides."""
    return pod.scheduler_name == DEFAULT_SCHEDULER if pod.profile is None else pod.profile.is_known


def waits_for_unknown_scheduler(pod: Pod) -> bool:
    """Return whether a scheduler of unknown rules chooses the node: none is asked about a pod with nodeName."""
    return not pod.node_name and not knows_scheduler(pod)


def is_given_devices(pod: Pod) -> bool:
    """Return whether a scheduler allocates devices for the pod: none is asked about a pod with nodeName."""
    return not pod.node_name and profile_of(pod).allocates_devices


def profile_of(pod: Pod) -> SchedulerProfile:
    """Return the profile that schedules a pod; the default one for a scheduler of unknown configuration."""
    return pod.profile or DEFAULT_PROFILE


class Unscheduled(Struct, frozen=True):
    """The PodScheduled condition, with status False, of a pod without a node."""

    reason: str = ""
    """``Unschedulable``, ``SchedulingGated`` or ``SchedulerError``."""
    message: str = ""
    since: str = ""
    """RFC 3339: when the pod became unschedulable. The scheduler may have written the message later."""


class BoundPod(Distinct, frozen=True):
    """One pod of a snapshot: its identity, and a Pod shared with all equal ones."""

    name: str
    node: str
    """Name of its node; empty while it waits."""
    pod: Pod
    owner: Owner | None = None
    terminating: bool = False
    kept_by_finalizers: bool = False
    """It terminates, and stays until a finalizer is removed."""
    start_time: str = ""
    created: str = ""
    nominated_node: str = ""
    ready: bool = True
    unscheduled: Unscheduled | None = None
    """What the scheduler says of it while it waits."""

    @property
    def namespace(self) -> str:
        return self.pod.namespace

    @property
    def outlasts_drains(self) -> bool:
        """Whether kubectl drain leaves it: of a DaemonSet, or a mirror of a static pod (its owner is the node)."""
        return self.owner is not None and self.owner.kind in ("DaemonSet", "Node")


class Owner(Struct, frozen=True):
    """The controlling ownerReference."""

    kind: str
    name: str
    uid: str = ""
