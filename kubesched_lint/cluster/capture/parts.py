"""What is kept of nodes, pods and workloads: a field that has no place in these types never leaves the answer.

Templates keep what ``cluster/template.py`` compares. The names are the API's, in Python's spelling.
"""

from __future__ import annotations

from msgspec import Struct, field

Labels = dict[str, str] | None
Amounts = dict[str, str | int | float] | None
Bound = int | str | None
"""An IntOrString."""


class Part(Struct, rename="camel", omit_defaults=True, gc=False):
    """Fields that are absent or null stay away; an empty object, which may mean something, stays."""


class Nothing(Part):
    """That something is there, and no more."""


class Owner(Part):
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
    # What tells in cluster/elastic.py that a node belongs to a pool.
    oke_pool: str | None = field(default=None, name="oci.oraclecloud.com/node-pool-id")
    capi_machine: str | None = field(default=None, name="cluster.x-k8s.io/machine")
    openshift_machine: str | None = field(default=None, name="machine.openshift.io/machine")


class Meta(Part):
    name: str | None = None
    namespace: str | None = None
    uid: str | None = None
    labels: Labels = None
    owner_references: list[Owner] | None = None
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


# --- what pods ask for ----------------------------------------------------------------------------------------------


class Expression(Part):
    key: str | None = None
    operator: str | None = None
    values: list[str] | None = None


class Selector(Part):
    match_labels: Labels = None
    match_expressions: list[Expression] | None = None


class NodeTerm(Part):
    match_expressions: list[Expression] | None = None
    match_fields: list[Expression] | None = None


class NodeTerms(Part):
    node_selector_terms: list[NodeTerm] | None = None


class PreferredNodeTerm(Part):
    weight: int | None = None
    preference: NodeTerm | None = None


class PodTerm(Part):
    topology_key: str | None = None
    label_selector: Selector | None = None
    namespaces: list[str] | None = None
    namespace_selector: Selector | None = None
    match_label_keys: list[str] | None = None
    mismatch_label_keys: list[str] | None = None


class PreferredPodTerm(Part):
    weight: int | None = None
    pod_affinity_term: PodTerm | None = None


class NodeAffinity(Part):
    required_during_scheduling_ignored_during_execution: NodeTerms | None = None
    preferred_during_scheduling_ignored_during_execution: list[PreferredNodeTerm] | None = None


class PodAffinity(Part):
    required_during_scheduling_ignored_during_execution: list[PodTerm] | None = None
    preferred_during_scheduling_ignored_during_execution: list[PreferredPodTerm] | None = None


class Affinity(Part):
    node_affinity: NodeAffinity | None = None
    pod_affinity: PodAffinity | None = None
    pod_anti_affinity: PodAffinity | None = None


class Toleration(Part):
    key: str | None = None
    operator: str | None = None
    value: str | None = None
    effect: str | None = None
    toleration_seconds: int | None = None


class Spread(Part):
    max_skew: int | None = None
    topology_key: str | None = None
    when_unsatisfiable: str | None = None
    label_selector: Selector | None = None
    min_domains: int | None = None
    node_affinity_policy: str | None = None
    node_taints_policy: str | None = None
    match_label_keys: list[str] | None = None


class Named(Part):
    name: str | None = None


class SchedulingGroup(Part):
    pod_group_name: str | None = None


class ResourceClaim(Part):
    name: str | None = None
    resource_claim_name: str | None = None
    resource_claim_template_name: str | None = None


class ResourceClaimUse(Part):
    name: str | None = None
    request: str | None = None


class Resources(Part):
    requests: Amounts = None
    limits: Amounts = None
    claims: list[ResourceClaimUse] | None = None


class Port(Part):
    name: str | None = None
    container_port: int | None = None
    host_port: int | None = None
    host_ip: str | None = field(default=None, name="hostIP")
    protocol: str | None = None


class RestartRule(Part):
    action: str | None = None


class Container(Part):
    name: str | None = None
    image: str | None = None
    ports: list[Port] | None = None
    resources: Resources | None = None
    restart_policy: str | None = None
    restart_policy_rules: list[RestartRule] | None = None


# --- volumes --------------------------------------------------------------------------------------------------------


class ClaimUse(Part):
    claim_name: str | None = None
    read_only: bool | None = None


class ClaimSpec(Part):
    access_modes: list[str] | None = None
    resources: Resources | None = None
    storage_class_name: str | None = None
    volume_name: str | None = None
    volume_mode: str | None = None
    selector: Selector | None = None


class Phase(Part):
    phase: str | None = None


class ClaimTemplate(Part):
    metadata: NotedMeta | None = None
    spec: ClaimSpec | None = None
    status: Phase | None = None


class EphemeralVolume(Part):
    volume_claim_template: ClaimTemplate | None = None


class ImageVolume(Part):
    reference: str | None = None


class Disk(Part):
    """What tells one inline disk from another (volume_restrictions.go)."""

    pd_name: str | None = None
    volume_id: str | None = field(default=None, name="volumeID")
    iqn: str | None = None
    image: str | None = None
    pool: str | None = None
    monitors: list[str] | None = None
    driver: str | None = None
    read_only: bool | None = None


class Volume(Part):
    name: str | None = None
    persistent_volume_claim: ClaimUse | None = None
    ephemeral: EphemeralVolume | None = None
    image: ImageVolume | None = None
    aws_elastic_block_store: Disk | None = None
    azure_disk: Disk | None = None
    azure_file: Disk | None = None
    cinder: Disk | None = None
    csi: Disk | None = None
    gce_persistent_disk: Disk | None = None
    iscsi: Disk | None = None
    rbd: Disk | None = None


class PodSpec(Part):
    node_name: str | None = None
    containers: list[Container] | None = None
    init_containers: list[Container] | None = None
    affinity: Affinity | None = None
    node_selector: Labels = None
    tolerations: list[Toleration] | None = None
    topology_spread_constraints: list[Spread] | None = None
    volumes: list[Volume] | None = None
    overhead: Amounts = None
    resources: Resources | None = None
    host_network: bool | None = None
    host_users: bool | None = None
    scheduler_name: str | None = None
    scheduling_gates: list[Named] | None = None
    scheduling_group: SchedulingGroup | None = None
    priority: int | None = None
    priority_class_name: str | None = None
    preemption_policy: str | None = None
    runtime_class_name: str | None = None
    resource_claims: list[ResourceClaim] | None = None


# --- pods, workloads, nodes -----------------------------------------------------------------------------------------


class Condition(Part):
    type: str | None = None
    status: str | None = None


class PodStatus(Part):
    phase: str | None = None
    start_time: str | None = None
    nominated_node_name: str | None = None
    conditions: list[Condition] | None = None


class Pod(Part):
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


class Strategy(Part):
    type: str | None = None
    rolling_update: Rolling | None = None


class JobSpec(Part):
    parallelism: int | None = None
    completions: int | None = None
    template: Template | None = None


class JobTemplate(Part):
    spec: JobSpec | None = None


class WorkloadSpec(Part):
    """Of every kind of controller: none uses a name in another sense."""

    replicas: int | None = None
    selector: Selector | None = None
    template: Template | None = None
    strategy: Strategy | None = None
    update_strategy: Strategy | None = None
    min_ready_seconds: int | None = None
    pod_management_policy: str | None = None
    volume_claim_templates: list[ClaimTemplate] | None = None
    parallelism: int | None = None
    completions: int | None = None
    job_template: JobTemplate | None = None


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


class Workload(Part):
    metadata: NotedMeta
    spec: WorkloadSpec
    status: WorkloadStatus | None = None


class Taint(Part):
    key: str | None = None
    value: str | None = None
    effect: str | None = None


class NodeSpec(Part):
    taints: list[Taint] | None = None
    unschedulable: bool | None = None


class Image(Part):
    names: list[str] | None = None
    size_bytes: int | None = None


class NodeStatus(Part):
    allocatable: Amounts = None
    conditions: list[Condition] | None = None
    images: list[Image] | None = None
    declared_features: list[str] | None = None


class Node(Part):
    metadata: NotedMeta
    spec: NodeSpec | None = None
    status: NodeStatus | None = None
