"""The fields kept of nodes, pods and workloads: a field without a place in these types is dropped on decoding.

The names are the API's, in Python's spelling; those of a pod's spec are the API's own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import GenericAlias
from typing import TYPE_CHECKING, Any, TypeAlias

from msgspec import Struct, defstruct, field

from kubesched_lint.engine.base.identity import ByIdentity
from kubesched_lint.engine.model import pod_fields

Labels = dict[str, str] | None
Amounts = dict[str, str | int | float] | None
Bound = int | str | None
"""An IntOrString."""
_NO_WORD = re.compile(r"\W")


class Part(Struct, rename="camel", omit_defaults=True, gc=False):
    """Absent and null fields are left out; an empty object is kept, because it may have a meaning."""


class Nothing(Part):
    """Only the presence of an object."""


class KeptOwner(Part):
    kind: str | None = None
    name: str | None = None
    uid: str | None = None
    controller: bool | None = None


class Annotations(Part):
    """All annotations that are read."""

    selected_node: str | None = field(default=None, name="volume.kubernetes.io/selected-node")
    bind_completed: str | None = field(default=None, name="pv.kubernetes.io/bind-completed")
    storage_class: str | None = field(default=None, name="volume.beta.kubernetes.io/storage-class")
    default_class: str | None = field(default=None, name="storageclass.kubernetes.io/is-default-class")
    beta_default_class: str | None = field(default=None, name="storageclass.beta.kubernetes.io/is-default-class")
    migrated_plugins: str | None = field(default=None, name="storage.alpha.kubernetes.io/migrated-plugins")
    revision: str | None = field(default=None, name="deployment.kubernetes.io/revision")
    # Annotations by which cluster/elastic.py detects that a node belongs to a pool.
    oke_pool: str | None = field(default=None, name="oci.oraclecloud.com/node-pool-id")
    capi_machine: str | None = field(default=None, name="cluster.x-k8s.io/machine")
    capi_owner: str | None = field(default=None, name="cluster.x-k8s.io/owner-name")
    openshift_machine: str | None = field(default=None, name="machine.openshift.io/machine")


class Meta(Part):
    name: str | None = None
    namespace: str | None = None
    uid: str | None = None
    labels: Labels = None
    owner_references: list[KeptOwner] | None = None
    deletion_timestamp: str | None = None


class PodMeta(Meta):
    creation_timestamp: str | None = None
    finalizers: list[str] | None = None


class NotedMeta(Meta):
    annotations: Annotations | None = None


class NameMeta(Part):
    name: str | None = None
    namespace: str | None = None


class TemplateMeta(Part):
    labels: Labels = None


# --- what pods require: the fields that ``engine.model.pod_fields`` lists
# ------------------------------------------------------

_LEAVES: Mapping[str, Any] = {
    pod_fields.TEXT: str,
    pod_fields.NUMBER: int,
    pod_fields.FLAG: bool,
    pod_fields.TEXTS: list[str],
    pod_fields.LABELS: dict[str, str],
    pod_fields.AMOUNTS: dict[str, str | int | float],
}
_made: ByIdentity[pod_fields.Fields, type[Struct]] = ByIdentity()


def _part(name: str, fields: pod_fields.Fields) -> type[Struct]:
    """Return the type that keeps these fields; one type for all places with the same fields."""
    if fields not in _made:
        kept = [
            (_NO_WORD.sub("_", key), _type(key, shape) | None, field(default=None, name=key))
            for key, shape in fields.items()
        ]
        _made[fields] = defstruct(name, kept, bases=(Part,), module=__name__, omit_defaults=True, gc=False)
    return _made[fields]


def _type(name: str, shape: pod_fields.Shape) -> Any:
    if isinstance(shape, list):
        return GenericAlias(list, (_type(name, shape[0]),))
    return _LEAVES[shape] if isinstance(shape, str) else _part(name[:1].upper() + name[1:], shape)


if TYPE_CHECKING:
    ClaimSpec: TypeAlias = Any
    NodeTerms: TypeAlias = Any
    PodSpec: TypeAlias = Any
    Selector: TypeAlias = Any
    Toleration: TypeAlias = Any
    Volume: TypeAlias = Any
else:
    ClaimSpec = _part("ClaimSpec", pod_fields.CLAIM_SPEC)
    NodeTerms = _part("NodeTerms", pod_fields.NODE_TERMS)
    PodSpec = _part("PodSpec", pod_fields.POD)
    Selector = _part("Selector", pod_fields.SELECTOR)
    Toleration = _part("Toleration", pod_fields.TOLERATION)
    Volume = _part("Volume", pod_fields.VOLUME)


class KeptPhase(Part):
    phase: str | None = None


class ClaimTemplate(Part):
    metadata: NotedMeta | None = None
    spec: ClaimSpec | None = None
    status: KeptPhase | None = None


# --- pods, workloads, nodes -----------------------------------------------------------------------------------------


class Condition(Part):
    type: str | None = None
    status: str | None = None


class PodCondition(Condition):
    """Only the scheduler's own condition keeps the last three, and that of a resize its reason: see ``resources``."""

    reason: str | None = None
    message: str | None = None
    last_transition_time: str | None = None


class SetResources(Part):
    requests: Amounts = None
    limits: Amounts = None


class ContainerStatus(Part):
    name: str | None = None
    allocated_resources: Amounts = None
    resources: SetResources | None = None


class PodStatus(Part):
    """Only pods that are resized in place keep the last four: see ``resources``."""

    phase: str | None = None
    start_time: str | None = None
    nominated_node_name: str | None = None
    conditions: list[PodCondition] | None = None
    container_statuses: list[ContainerStatus] | None = None
    init_container_statuses: list[ContainerStatus] | None = None
    allocated_resources: Amounts = None
    resources: SetResources | None = None


class KeptPod(Part):
    metadata: PodMeta
    spec: PodSpec
    status: PodStatus | None = None


class Template(Part):
    metadata: TemplateMeta | None = None
    spec: PodSpec | None = None


class Rolling(Part):
    max_surge: Bound = None
    max_unavailable: Bound = None
    partition: int | None = None


class KeptStrategy(Part):
    type: str | None = None
    rolling_update: Rolling | None = None


class Ordinals(Part):
    start: int | None = None


class JobSpec(Part):
    parallelism: int | None = None
    completions: int | None = None
    suspend: bool | None = None
    template: Template | None = None


class JobTemplate(Part):
    spec: JobSpec | None = None


class WorkloadSpec(Part):
    """The spec of every kind of controller: no two kinds use one name in different senses."""

    replicas: int | None = None
    selector: Selector | None = None
    template: Template | None = None
    strategy: KeptStrategy | None = None
    update_strategy: KeptStrategy | None = None
    min_ready_seconds: int | None = None
    pod_management_policy: str | None = None
    volume_claim_templates: list[ClaimTemplate] | None = None
    parallelism: int | None = None
    completions: int | None = None
    job_template: JobTemplate | None = None
    paused: bool | None = None
    suspend: bool | None = None
    ordinals: Ordinals | None = None


class ReplicationControllerSpec(Part):
    replicas: int | None = None
    selector: Labels = None
    template: Template | None = None
    min_ready_seconds: int | None = None


class ReplicationController(Part):
    metadata: NotedMeta
    spec: ReplicationControllerSpec


class WorkloadStatus(Part):
    conditions: list[Condition] | None = None


class KeptWorkload(Part):
    metadata: NotedMeta
    spec: WorkloadSpec
    status: WorkloadStatus | None = None


class KeptTaint(Part):
    key: str | None = None
    value: str | None = None
    effect: str | None = None


class NodeSpec(Part):
    taints: list[KeptTaint] | None = None
    unschedulable: bool | None = None


class Image(Part):
    names: list[str] | None = None
    size_bytes: int | None = None


class NodeInfo(Part):
    kubelet_version: str | None = None


class NodeStatus(Part):
    allocatable: Amounts = None
    conditions: list[Condition] | None = None
    images: list[Image] | None = None
    declared_features: list[str] | None = None
    node_info: NodeInfo | None = None


class KeptNode(Part):
    metadata: NotedMeta
    spec: NodeSpec | None = None
    status: NodeStatus | None = None
