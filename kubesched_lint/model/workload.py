"""A controller and the pods that it will create."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import TYPE_CHECKING

from kubesched_lint.findings import ObjectRef, Path, Source
from kubesched_lint.manifests.classify import value_at
from kubesched_lint.manifests.document import Document
from kubesched_lint.record import record

if TYPE_CHECKING:
    from kubesched_lint.model.labels import Selector
    from kubesched_lint.model.pod import Pod
    from kubesched_lint.model.storage import Claim

KINDS = ("Deployment", "DaemonSet", "StatefulSet", "ReplicaSet", "ReplicationController", "Job", "CronJob", "Pod")
ROLLED_OUT = frozenset(["Deployment", "StatefulSet", "DaemonSet"])
"""Kinds whose controller replaces pods when the template changes; the others use it for new pods only."""
SCALED = ("Deployment", "StatefulSet", "ReplicaSet", "ReplicationController")
"""Kinds with ``spec.replicas``."""


@record
class Strategy:
    """How a template change reaches the pods. Bounds are as written: an int, or text such as ``25%``.

    ``type`` is RollingUpdate, Recreate or OnDelete; defaults are the API server's for the kind.
    """

    type: str = "RollingUpdate"
    max_surge: int | str | None = None
    max_unavailable: int | str | None = None
    partition: int = 0
    path: Path = field(default=(), compare=False)


@record
class Workload:
    """A Deployment, DaemonSet, StatefulSet, ReplicaSet, ReplicationController, Job, CronJob or bare Pod.

    ``replicas`` is the number after defaulting: parallelism of a Job, 1 of a Pod, 0 of a DaemonSet (its number follows
    the nodes). ``replicas_written``: the manifest sets it.
    """

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
    suspended: str = ""
    """``paused`` (a Deployment) or ``suspended`` (a Job, a CronJob): no new pods are created until a user resumes it.
    """
    uid: str = ""
    template: object = field(default=None, compare=False)
    """The template as plain values, to compare with a running revision; None if ``source`` holds it."""
    source: Source | None = field(default=None, compare=False)
    order: int = field(default=0, compare=False)
    """Its position in the order in which files and documents were read."""

    @property
    def ref(self) -> ObjectRef:
        return ObjectRef(self.kind, self.namespace, self.name)

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
        return f"{self.kind} {self.namespace}/{self.name}"


def written_template(workload: Workload) -> object:
    """Return the template of a workload as plain values; None if it is unknown."""
    if workload.template is None and isinstance(workload.source, Document):
        return value_at(workload.source.value, workload.pod.path[:-1])
    return workload.template


def service_account(workload: Workload) -> str:
    """Return the ServiceAccount of the pods; empty for ``default``, which every namespace has, and if unknown."""
    template = written_template(workload)
    spec = template.get("spec") if isinstance(template, dict) else None
    name = (spec.get("serviceAccountName") or spec.get("serviceAccount")) if isinstance(spec, dict) else None
    return name if isinstance(name, str) and name != "default" else ""
