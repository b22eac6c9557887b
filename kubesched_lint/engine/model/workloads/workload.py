"""A controller and the pods that it will create."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from msgspec import Struct, field

from kubesched_lint.engine.base.partly_compared import Distinct, PartlyCompared
from kubesched_lint.engine.base.places import Manifest, ObjectRef, Path, Source
from kubesched_lint.engine.base.plain import value_at

if TYPE_CHECKING:
    from kubesched_lint.engine.model.labels import Selector
    from kubesched_lint.engine.model.pod import Pod
    from kubesched_lint.engine.model.storage import Claim

KINDS = ("Deployment", "DaemonSet", "StatefulSet", "ReplicaSet", "ReplicationController", "Job", "CronJob", "Pod")
ROLLED_OUT = frozenset(["Deployment", "StatefulSet", "DaemonSet"])
"""Kinds whose controller replaces pods when the template changes; the others use it for new pods only."""
SCALED = ("Deployment", "StatefulSet", "ReplicaSet", "ReplicationController")
"""Kinds with ``spec.replicas``."""
NO_DEADLINE = 2**31 - 1
"""``progressDeadlineSeconds`` of a Deployment that never reports a rollout without progress."""


class Strategy(PartlyCompared, frozen=True):
    """How a template change reaches the pods. Bounds are as written: an int, or text such as ``25%``.

    ``type`` is RollingUpdate, Recreate or OnDelete; defaults are the API server's for the kind.
    """

    type: str = "RollingUpdate"
    max_surge: int | str | None = None
    max_unavailable: int | str | None = None
    partition: int = 0
    path: Path = ()
    is_whole: bool = False
    """A blue-green rollout: the old pods stay until all new ones are available."""
    by_weight: bool = False
    """A canary by weights: while it waits at a weight, it may want one pod more than the replicas."""
    progress_deadline: int = 600
    """Seconds after which a Deployment reports that its rollout does not go on; ``NO_DEADLINE``: it never does."""
    in_own_order: bool = False
    """An operator replaces one pod after another, as a StatefulSet does, but in an order of its own."""


IN_OWN_ORDER = "its controller replaces one pod after another, in an order of its own"
"""Why a rollout is unknown that does not end well in every order of a StatefulSet."""


class Custom(Struct, frozen=True):
    """What a card says of a custom resource: its controller makes pods as a plain workload would."""

    ref: ObjectRef
    """The resource; one that makes several kinds of pods has the part behind a colon: ``RayCluster ml/ray:head``."""
    replica_pods: int = 0
    """Pods of this part per replica of the resource's scale subresource; 0: an autoscaler does not scale it."""
    owner: str = ""
    """Kind of the controller in ``ownerReferences`` of its pods."""
    owner_name: str = ""
    """Name of this controller, where ``?`` is any character; empty: its selector alone tells its pods."""
    revision_label: str = ""
    """The label whose value differs between revisions; empty if the controller sets none."""
    varying_labels: tuple[str, ...] = ()
    """Labels that the controller sets, and whose values are unknown or differ from pod to pod."""
    unknown: Mapping[str, str] = field(default_factory=dict)
    """Event → why its outcome is unknown."""
    selector: Selector | None = None
    """Selects its running pods."""
    claims: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Claim template → names of its claims, by pod; those of a StatefulSet where none is listed."""

    @property
    def resource(self) -> ObjectRef:
        """The custom resource, whatever the part."""
        return ObjectRef(self.ref.kind, self.ref.namespace, self.ref.name.partition(":")[0])


class Workload(Distinct, frozen=True):
    """A Deployment, DaemonSet, StatefulSet, ReplicaSet, ReplicationController, Job, CronJob or bare Pod.

    ``replicas`` is the number after defaulting: parallelism of a Job, 1 of a Pod, 0 of a DaemonSet (its number follows
    the nodes). ``replicas_written``: the manifest sets it.
    """

    uncompared: ClassVar[tuple[str, ...]] = ("template", "source", "order")

    kind: str
    namespace: str
    name: str
    pod: Pod
    replicas: int = 1
    replicas_written: bool = False
    selector: Selector | None = None
    strategy: Strategy = field(default_factory=Strategy)
    pod_management: str = "OrderedReady"
    first_ordinal: int = 0
    """The number of a StatefulSet's first pod (``spec.ordinals.start``)."""
    claim_templates: tuple[Claim, ...] = ()
    min_ready_seconds: int = 0
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    eviction_notes: tuple[tuple[str, str], ...] = ()
    """Annotations of its pods that tell autoscalers whether they may evict them."""
    suspended: str = ""
    """``paused`` (a Deployment) or ``suspended`` (a Job, a CronJob): no new pods are created until a user resumes it.
    """
    replaces_late: bool = False
    """Whether a Job replaces a pod only once that has ended (``podReplacementPolicy: Failed``)."""
    uid: str = ""
    template: object = None
    """The template as plain values, to compare with a running revision; None if ``source`` holds it."""
    source: Source | None = None
    order: int = 0
    """Its position in the order in which files and documents were read."""
    custom: Custom | None = None
    """The custom resource that this plain workload stands for; None if the manifest itself defines the workload."""

    @property
    def ref(self) -> ObjectRef:
        """The object that a user writes: the workload, or the custom resource that it stands for."""
        return ObjectRef(self.kind, self.namespace, self.name) if self.custom is None else self.custom.ref

    @property
    def key(self) -> tuple[str, str, str]:
        """(kind, namespace, name) of ``ref``: different for all objects of a set."""
        ref = self if self.custom is None else self.custom.ref
        return ref.kind, ref.namespace, ref.name

    @property
    def stays(self) -> bool:
        """Whether all its pods run at the same time and stay: a Job's pods end, a DaemonSet's follow the nodes."""
        return self.kind not in ("DaemonSet", "Job", "CronJob")

    @property
    def replicas_path(self) -> Path:
        return ("spec", "parallelism" if self.kind in ("Job", "CronJob") else "replicas")

    @property
    def suspended_field(self) -> str:
        """The field that sets ``suspended``."""
        return "spec.paused" if self.suspended == "paused" else "spec.suspend"

    def __str__(self) -> str:
        return str(self.ref)


DO_NOT_DISRUPT, SAFE_TO_EVICT = "karpenter.sh/do-not-disrupt", "cluster-autoscaler.kubernetes.io/safe-to-evict"
DO_NOT_EVICT = "karpenter.sh/do-not-evict"
"""The name of ``DO_NOT_DISRUPT`` before NodePools."""
EVICTION_NOTES = (DO_NOT_DISRUPT, SAFE_TO_EVICT, DO_NOT_EVICT)

SURVIVES = "kubesched-lint.io/survive"
"""Annotation of a workload: events that it must survive, ``hpa-max, drain``, besides those of the configuration."""


def asked_to_survive(workload: Workload) -> tuple[str, ...]:
    """Return the events that a workload's annotation names."""
    return tuple(map(str.strip, workload.annotations.get(SURVIVES, "").split(",")))


BREAK_GLASS = "kubesched-lint.io/break-glass"
"""Annotation or label of a workload: it is applied although ``check`` blocks it, and why."""


def broken_glass_of(workload: Workload) -> str:
    """Return why a workload is applied whatever blocks it; empty if nothing says so."""
    for noted in (workload.annotations, workload.labels):
        if BREAK_GLASS in noted:
            return noted[BREAK_GLASS].strip() or "no reason given"
    return ""


def is_made_anew(workload: Workload) -> bool:
    """Return whether the object says that its tool deletes and creates it where the API server refuses a change."""
    notes = workload.annotations
    hooks = ("helm.sh/hook", "argocd.argoproj.io/hook")  # deleted before they are created, if nothing else is said
    options = notes.get("argocd.argoproj.io/sync-options", "").split(",")
    is_forced = notes.get("kustomize.toolkit.fluxcd.io/force", "").lower() == "enabled"
    return is_forced or any(hook in notes for hook in hooks) or "Force=true" in map(str.strip, options)


def written_template(workload: Workload) -> object:
    """Return the template of a workload as plain values; None if it is unknown."""
    if workload.template is None and isinstance(workload.source, Manifest):
        return value_at(workload.source.value, workload.pod.path[:-1])
    return workload.template


def service_account(workload: Workload) -> str:
    """Return the ServiceAccount of the pods; empty for ``default``, which every namespace has, and if unknown."""
    template = written_template(workload)
    spec = template.get("spec") if isinstance(template, dict) else None
    name = (spec.get("serviceAccountName") or spec.get("serviceAccount")) if isinstance(spec, dict) else None
    return name if isinstance(name, str) and name != "default" else ""
