"""Cluster objects that affect a verdict, other than pods, nodes and storage."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import ClassVar

from msgspec import Struct, field
from msgspec.structs import replace

from kubesched_lint.engine.base.partly_compared import Distinct, PartlyCompared
from kubesched_lint.engine.base.places import ObjectRef, Path, Source
from kubesched_lint.engine.model.labels import Labels, Selector
from kubesched_lint.engine.model.pod import Pod, Resources, Toleration
from kubesched_lint.engine.model.workloads.workload import Workload


class Namespace(PartlyCompared, frozen=True):
    name: str
    labels: Labels = field(default_factory=dict)
    source: Source | None = None


class Service(PartlyCompared, frozen=True):
    namespace: str
    name: str
    selector: Labels = field(default_factory=dict)
    source: Source | None = None


class CronWindow(PartlyCompared, frozen=True):
    """A trigger that asks for ``replicas`` from ``start`` to ``end``, which are cron expressions as written."""

    replicas: int
    start: str
    end: str
    path: Path = ()


class ResourceMetric(PartlyCompared, frozen=True):
    """The use of a pod's cpu or memory, to which an autoscaler fits the replicas."""

    resource: str
    container: str = ""
    """The one container that counts; empty for all of the pod."""
    is_relative: bool = True
    """The target is a share of the requests (Utilization)."""
    path: Path = ()


class Autoscaler(Distinct, frozen=True):
    """A HorizontalPodAutoscaler, or a ScaledObject of KEDA, which makes one."""

    namespace: str
    name: str
    target: ObjectRef
    min_replicas: int = 1
    max_replicas: int = 1
    path: Path = ()
    source: Source | None = None
    kind: str = "HorizontalPodAutoscaler"
    windows: tuple[CronWindow, ...] = ()
    metrics: tuple[ResourceMetric, ...] = ()
    """Those of cpu and memory; a snapshot keeps none."""

    @property
    def ref(self) -> ObjectRef:
        return ObjectRef(self.kind, self.namespace, self.name)

    @property
    def bounds(self) -> tuple[str, str]:
        """The names of its fields for the most and the least replicas."""
        if self.kind == "ScaledObject":
            return "maxReplicaCount", "minReplicaCount"
        return "maxReplicas", "minReplicas"


def autoscaler_of(workload: Workload, autoscalers: Mapping[tuple[str, str, str], Autoscaler]) -> Autoscaler | None:
    """Return its HorizontalPodAutoscaler, with bounds in pods of the workload; None if nothing scales it.

    ``autoscalers`` maps (kind, namespace, name) of the scaled object to its autoscaler. A replica of a custom resource
    may be several pods, and an autoscaler scales it only if a card names its scale subresource.
    """
    custom = workload.custom
    if custom is None:
        return autoscalers.get(workload.key)
    target, each = custom.resource, custom.replica_pods
    autoscaler = autoscalers.get((target.kind, target.namespace, target.name)) if each else None
    if autoscaler is None or each == 1:
        return autoscaler
    return replace(autoscaler, min_replicas=autoscaler.min_replicas * each, max_replicas=autoscaler.max_replicas * each)


class DisruptionBudget(Distinct, frozen=True):
    """A PodDisruptionBudget. Bounds are as written: an int, or text such as ``50%``."""

    namespace: str
    name: str
    selector: Selector | None = None
    min_available: int | str | None = None
    max_unavailable: int | str | None = None
    unhealthy_pod_eviction_policy: str = "IfHealthyBudget"
    disruptions_allowed: int | None = None
    """From its status, if the snapshot has it."""
    path: Path = ()
    source: Source | None = None

    @property
    def bound(self) -> str:
        """The bound that counts, in words: ``minAvailable 50%``."""
        if self.max_unavailable is not None:
            return f"maxUnavailable {self.max_unavailable}"
        return f"minAvailable {self.min_available}"

    @property
    def bound_path(self) -> Path:
        """Where that bound is written."""
        return (*self.path, "minAvailable" if self.max_unavailable is None else "maxUnavailable")

    @property
    def asks_for_scale(self) -> bool:
        """Whether the disruption controller asks the controllers of the pods for their scale."""
        return self.max_unavailable is not None or isinstance(self.min_available, str)

    def expected(self, pods: int, scales: Iterable[tuple[str, int]]) -> int:
        """Return the pods that the disruption controller expects; 0 if it therefore allows no disruption.

        ``scales`` are kind and replicas of each controller of the selected ``pods``; the kind is Pod for a pod without
        one. minAvailable as a number counts the pods, other bounds the scales. See getExpectedPodCount in
        ``pkg/controller/disruption``.
        """
        if not self.asks_for_scale:
            return 0 if self.min_available is None else pods
        known = list(scales)
        if not WITHOUT_SCALE.isdisjoint(kind for kind, _ in known):
            return 0
        return sum(replicas for kind, replicas in known if kind != "Pod")

    def may_fail(self, kind: str) -> bool:
        """Whether nobody knows if a budget works for the pods of such controllers, as it asks for their scale."""
        return kind not in WITH_SCALE | WITHOUT_SCALE and self.asks_for_scale and self.disruptions_allowed is None


WITHOUT_SCALE = frozenset({"CronJob", "DaemonSet", "Job", "Node"})
"""Kinds of controllers without a scale subresource: a budget that asks for it allows nothing, for no pod."""
WITH_SCALE = frozenset({"Deployment", "ReplicaSet", "ReplicationController", "StatefulSet"})


class PriorityClass(PartlyCompared, frozen=True):
    name: str
    value: int = 0
    preemption_policy: str = "PreemptLowerPriority"
    is_default: bool = False
    source: Source | None = None


class RuntimeClass(PartlyCompared, frozen=True):
    name: str
    overhead: Resources = field(default_factory=dict)
    node_selector: Labels = field(default_factory=dict)
    tolerations: tuple[Toleration, ...] = ()
    source: Source | None = None


class ServiceAccount(PartlyCompared, frozen=True):
    namespace: str
    name: str
    source: Source | None = None


KUBERNETES, VOLCANO, COSCHEDULING = "Kubernetes", "Volcano", "coscheduling"
POD_GROUP_SYSTEMS = {
    "scheduling.k8s.io": KUBERNETES,
    "scheduling.volcano.sh": VOLCANO,
    "scheduling.x-k8s.io": COSCHEDULING,
}
"""API group of a PodGroup → whose word it is."""


class PodGroup(Distinct, frozen=True):
    """A PodGroup: ``min_count`` pods start together or not at all; None: no gang."""

    uncompared: ClassVar[tuple[str, ...]] = ("topology_path", "path", "source")

    namespace: str
    name: str
    min_count: int | None = None
    topology_key: str = ""
    """All its pods go to nodes with one value of this label; empty: no such constraint."""
    is_constrained: bool = False
    """It has ``schedulingConstraints``, even empty ones: its pods then preempt nobody."""
    has_own_priority: bool = False
    """It names a priority, by which it evicts pods as a whole."""
    system: str = KUBERNETES
    """Who schedules by it, as in ``POD_GROUP_SYSTEMS``."""
    topology_path: Path = ()
    path: Path = ()
    source: Source | None = None

    def may_evict(self, pods: Iterable[Pod], running: Iterable[Pod]) -> bool:
        """Return whether running pods may be of lower priority than its own ``pods`` as a whole."""
        ours = max((pod.priority or 0 for pod in pods), default=0)
        return any(self.has_own_priority or (pod.priority or 0) < ours for pod in running)


class GroupTemplates(PartlyCompared, frozen=True):
    """A Workload of scheduling.k8s.io: templates from which a controller makes PodGroups."""

    namespace: str
    name: str
    controller: tuple[str, str]
    """(kind, name) of the object whose pods they are for; empty strings if it names none, or a custom resource."""
    templates: tuple[PodGroup, ...] = ()
    """Named as in the Workload; ``path`` leads to the minCount of each."""
    source: Source | None = None


Written = Mapping[str, object]
"""Resource name → quantity as written, because messages repeat it."""


class LimitItem(PartlyCompared, frozen=True):
    """Bounds of one ``type``:

    Container, Pod or PersistentVolumeClaim. An empty ``default`` has the values of ``max``.
    """

    type: str
    min: Written = field(default_factory=dict)
    max: Written = field(default_factory=dict)
    ratio: Written = field(default_factory=dict)
    """maxLimitRequestRatio."""
    default: Written = field(default_factory=dict)
    default_request: Written = field(default_factory=dict)
    path: Path = ()


class LimitRange(Distinct, frozen=True):
    """Bounds of a namespace, and the defaults of its containers."""

    namespace: str
    name: str
    default_requests: Resources = field(default_factory=dict)
    default_limits: Resources = field(default_factory=dict)
    items: tuple[LimitItem, ...] = ()
    source: Source | None = None


class QuotaScope(Struct, frozen=True):
    """``operator`` is In, NotIn, Exists or DoesNotExist; Exists for entries of ``scopes``."""

    name: str
    operator: str = "Exists"
    values: tuple[str, ...] = ()


class ResourceQuota(Distinct, frozen=True):
    namespace: str
    name: str
    hard: Mapping[str, int] = field(default_factory=dict)
    used: Mapping[str, int] | None = None
    scopes: tuple[QuotaScope, ...] = ()
    """Includes those of ``scopeSelector``; a pod counts if it matches all of them."""
    source: Source | None = None
    in_force: bool = True
    """Whether its controller has written ``status.hard``: it refuses nothing before. True where no status is shown."""


class ReplicaSet(PartlyCompared, frozen=True):
    """A revision of a Deployment in a snapshot."""

    uncompared: ClassVar[tuple[str, ...]] = ("template",)

    namespace: str
    name: str
    owner: str = ""
    replicas: int = 0
    template_hash: str = ""
    revision: int = 0
    owner_kind: str = ""
    """``Deployment``, or another controller that uses ReplicaSets; empty for a bare one."""
    template: object = None
    """The pod template as plain values while it has replicas, to compare with the manifest's."""
