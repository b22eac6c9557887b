"""The fields kept of storage, classes, policies and node pools."""

from __future__ import annotations

from msgspec import field

from kubesched_lint.sources.capture.parts import (
    Amounts,
    Bound,
    ClaimSpec,
    KeptPhase,
    KeptTaint,
    Labels,
    Meta,
    NameMeta,
    NodeTerms,
    NotedMeta,
    Nothing,
    Part,
    Selector,
    TemplateMeta,
    Toleration,
)


class KeptNamespace(Part):
    metadata: Meta


# --- storage --------------------------------------------------------------------------------------------------------


class KeptClaim(Part):
    metadata: NotedMeta
    spec: ClaimSpec
    status: KeptPhase | None = None


class ClaimRef(Part):
    namespace: str | None = None
    name: str | None = None
    uid: str | None = None


class VolumeAffinity(Part):
    required: NodeTerms | None = None


class CsiSource(Part):
    driver: str | None = None
    volume_handle: str | None = None


class VolumeSpec(Part):
    capacity: Amounts = None
    access_modes: list[str] | None = None
    storage_class_name: str | None = None
    volume_mode: str | None = None
    claim_ref: ClaimRef | None = None
    node_affinity: VolumeAffinity | None = None
    csi: CsiSource | None = None
    # Only which other source it has, not where.
    aws_elastic_block_store: Nothing | None = None
    azure_disk: Nothing | None = None
    azure_file: Nothing | None = None
    cephfs: Nothing | None = None
    cinder: Nothing | None = None
    fc: Nothing | None = None
    flex_volume: Nothing | None = None
    gce_persistent_disk: Nothing | None = None
    host_path: Nothing | None = None
    iscsi: Nothing | None = None
    local: Nothing | None = None
    nfs: Nothing | None = None
    portworx_volume: Nothing | None = None
    rbd: Nothing | None = None
    vsphere_volume: Nothing | None = None


class KeptVolume(Part):
    metadata: NotedMeta
    spec: VolumeSpec
    status: KeptPhase | None = None


class TopologyExpression(Part):
    key: str | None = None
    values: list[str] | None = None


class TopologyTerm(Part):
    match_label_expressions: list[TopologyExpression] | None = None


class ClassMeta(NotedMeta):
    creation_timestamp: str | None = None


class KeptStorageClass(Part):
    metadata: ClassMeta
    provisioner: str | None = None
    volume_binding_mode: str | None = None
    allowed_topologies: list[TopologyTerm] | None = None


class DriverAllocatable(Part):
    count: int | None = None


class Driver(Part):
    name: str | None = None
    topology_keys: list[str] | None = None
    allocatable: DriverAllocatable | None = None


class CsiNodeSpec(Part):
    drivers: list[Driver] | None = None


class CsiNode(Part):
    metadata: NotedMeta
    spec: CsiNodeSpec | None = None


class CsiDriverSpec(Part):
    prevent_pod_scheduling_if_missing: bool | None = None


class KeptCsiDriver(Part):
    metadata: NameMeta
    spec: CsiDriverSpec | None = None


class KeptStorageCapacity(Part):
    metadata: NameMeta
    storage_class_name: str | None = None
    node_topology: Selector | None = None
    capacity: str | int | None = None
    maximum_volume_size: str | int | None = None


class AttachedSource(Part):
    persistent_volume_name: str | None = None


class AttachmentSpec(Part):
    node_name: str | None = None
    attacher: str | None = None
    source: AttachedSource | None = None


class KeptVolumeAttachment(Part):
    metadata: NameMeta
    spec: AttachmentSpec


# --- classes and policies -------------------------------------------------------------------------------------------


class KeptPriorityClass(Part):
    metadata: NameMeta
    value: int | None = None
    preemption_policy: str | None = None
    global_default: bool | None = None


class Overhead(Part):
    pod_fixed: Amounts = None


class RuntimeScheduling(Part):
    node_selector: Labels = None
    tolerations: list[Toleration] | None = None


class KeptRuntimeClass(Part):
    metadata: NameMeta
    overhead: Overhead | None = None
    scheduling: RuntimeScheduling | None = None


class Gang(Part):
    min_count: int | None = None


class SchedulingPolicy(Part):
    gang: Gang | None = None


class GroupTopology(Part):
    key: str | None = None


class SchedulingConstraints(Part):
    topology: list[GroupTopology] | None = None


class PodGroupSpec(Part):
    scheduling_policy: SchedulingPolicy | None = None
    scheduling_constraints: SchedulingConstraints | None = None
    priority_class_name: str | None = None
    priority: int | None = None


class KeptPodGroup(Part):
    metadata: NameMeta
    spec: PodGroupSpec | None = None


class ServiceSpec(Part):
    selector: Labels = None


class KeptService(Part):
    metadata: NameMeta
    spec: ServiceSpec | None = None


class BudgetSpec(Part):
    selector: Selector | None = None
    min_available: Bound = None
    max_unavailable: Bound = None
    unhealthy_pod_eviction_policy: str | None = None


class BudgetStatus(Part):
    disruptions_allowed: int | None = None


class Budget(Part):
    metadata: NameMeta
    spec: BudgetSpec
    status: BudgetStatus | None = None


class Limit(Part):
    type: str | None = None
    max: Amounts = None
    min: Amounts = None
    default: Amounts = None
    default_request: Amounts = None
    max_limit_request_ratio: Amounts = None


class LimitRangeSpec(Part):
    limits: list[Limit] | None = None


class KeptLimitRange(Part):
    metadata: NameMeta
    spec: LimitRangeSpec | None = None


class ScopeExpression(Part):
    scope_name: str | None = None
    operator: str | None = None
    values: list[str] | None = None


class ScopeSelector(Part):
    match_expressions: list[ScopeExpression] | None = None


class QuotaSpec(Part):
    hard: Amounts = None
    scopes: list[str] | None = None
    scope_selector: ScopeSelector | None = None


class QuotaStatus(Part):
    used: Amounts = None


class Quota(Part):
    metadata: NameMeta
    spec: QuotaSpec | None = None
    status: QuotaStatus | None = None


# --- node pools (Karpenter) -----------------------------------------------------------------------------------------


class PoolRequirement(Part):
    key: str | None = None
    operator: str | None = None
    values: list[str] | None = None
    min_values: int | None = None


class NodeClassRef(Part):
    group: str | None = None
    kind: str | None = None
    name: str | None = None


class PoolNodeSpec(Part):
    requirements: list[PoolRequirement] | None = None
    taints: list[KeptTaint] | None = None
    startup_taints: list[KeptTaint] | None = None
    node_class_ref: NodeClassRef | None = None
    expire_after: str | None = None
    termination_grace_period: str | None = None


class PoolTemplate(Part):
    metadata: TemplateMeta | None = None
    spec: PoolNodeSpec | None = None


class NodePoolSpec(Part):
    template: PoolTemplate | None = None
    limits: Amounts = None
    weight: int | None = None
    replicas: int | None = None


class NodePoolStatus(Part):
    resources: Amounts = None


class StatusText(Part):
    status: str | None = None


class KeptStatus(Part):
    """The ConfigMap in which cluster-autoscaler names its node groups."""

    metadata: NameMeta
    data: StatusText | None = None


class KeptNodePool(Part):
    metadata: NameMeta
    spec: NodePoolSpec | None = None
    status: NodePoolStatus | None = None


class Kubelet(Part):
    max_pods: int | None = None
    pods_per_core: int | None = None
    system_reserved: Amounts = None
    kube_reserved: Amounts = None
    eviction_hard: Amounts = None


class NodeClassSpec(Part):
    """A node class of any provider; user data, tags and roles are not kept."""

    kubelet: Kubelet | None = None
    ami_family: str | None = None
    image_family: str | None = None
    instance_store_policy: str | None = None
    max_pods: int | None = None
    os_disk_size_gb: int | None = field(default=None, name="osDiskSizeGB")


class Subnet(Part):
    zone: str | None = None


class NodeClassStatus(Part):
    subnets: list[Subnet] | None = None


class KeptNodeClass(Part):
    metadata: NameMeta
    spec: NodeClassSpec | None = None
    status: NodeClassStatus | None = None
