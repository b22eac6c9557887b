"""The fields kept of device classes, slices, claims and taint rules, in the shapes of v1, v1beta2 and v1beta1.

Drivers' parameters and the status of single devices are left out.
"""

from __future__ import annotations

from msgspec import field

from kubesched_lint.sources.capture.parts import Amounts, KeptTaint, NameMeta, NodeTerms, Part, Toleration

Amount = str | int | float | None


class Cel(Part):
    expression: str | None = None


class DeviceSelector(Part):
    cel: Cel | None = None


class DeviceClassMeta(NameMeta):
    creation_timestamp: str | None = None


class DeviceClassSpec(Part):
    selectors: list[DeviceSelector] | None = None
    extended_resource_name: str | None = None


class KeptDeviceClass(Part):
    metadata: DeviceClassMeta
    spec: DeviceClassSpec | None = None


# --- slices ---------------------------------------------------------------------------------------------------------


class Attribute(Part):
    whole: int | None = field(default=None, name="int")
    flag: bool | None = field(default=None, name="bool")
    string: str | None = None
    version: str | None = None
    ints: list[int] | None = None
    bools: list[bool] | None = None
    strings: list[str] | None = None
    versions: list[str] | None = None


class RequestRange(Part):
    min: Amount = None
    max: Amount = None
    step: Amount = None


class RequestPolicy(Part):
    default: Amount = None
    valid_values: list[str | int | float] | None = None
    valid_range: RequestRange | None = None


class DeviceCapacity(Part):
    value: Amount = None
    request_policy: RequestPolicy | None = None


class Counter(Part):
    value: Amount = None


class CounterSet(Part):
    name: str | None = None
    counters: dict[str, Counter] | None = None


class Consumption(Part):
    counter_set: str | None = None
    counters: dict[str, Counter] | None = None


class NodeAccess(Part):
    node_name: str | None = None
    node_selector: NodeTerms | None = None
    all_nodes: bool | None = None


class DeviceBody(NodeAccess):
    attributes: dict[str, Attribute] | None = None
    capacity: dict[str, DeviceCapacity] | None = None
    consumes_counters: list[Consumption] | None = None
    taints: list[KeptTaint] | None = None
    binds_to_node: bool | None = None
    binding_conditions: list[str] | None = None
    allow_multiple_allocations: bool | None = None


class Device(DeviceBody):
    name: str | None = None
    basic: DeviceBody | None = None
    """Only v1beta1."""


class DevicePool(Part):
    name: str | None = None
    generation: int | None = None
    resource_slice_count: int | None = None


class SliceSpec(NodeAccess):
    driver: str | None = None
    pool: DevicePool | None = None
    per_device_node_selection: bool | None = None
    devices: list[Device] | None = None
    shared_counters: list[CounterSet] | None = None


class KeptSlice(Part):
    metadata: NameMeta
    spec: SliceSpec | None = None


# --- claims ---------------------------------------------------------------------------------------------------------


class CapacityRequirements(Part):
    requests: Amounts = None


class ExactRequest(Part):
    device_class_name: str | None = None
    selectors: list[DeviceSelector] | None = None
    allocation_mode: str | None = None
    count: int | None = None
    admin_access: bool | None = None
    tolerations: list[Toleration] | None = None
    capacity: CapacityRequirements | None = None


class Alternative(ExactRequest):
    name: str | None = None


class Request(Alternative):
    """v1beta1 writes the fields of ``exactly`` into the request itself."""

    exactly: ExactRequest | None = None
    first_available: list[Alternative] | None = None


class Constraint(Part):
    requests: list[str] | None = None
    match_attribute: str | None = None
    distinct_attribute: str | None = None


class WantedDevices(Part):
    requests: list[Request] | None = None
    constraints: list[Constraint] | None = None


class DeviceClaimSpec(Part):
    devices: WantedDevices | None = None


class AllocatedDevice(Part):
    request: str | None = None
    driver: str | None = None
    pool: str | None = None
    device: str | None = None
    admin_access: bool | None = None
    share_id: str | None = field(default=None, name="shareID")
    consumed_capacity: Amounts = None


class AllocatedDevices(Part):
    results: list[AllocatedDevice] | None = None


class Allocation(Part):
    devices: AllocatedDevices | None = None
    node_selector: NodeTerms | None = None


class Consumer(Part):
    name: str | None = None


class DeviceClaimStatus(Part):
    allocation: Allocation | None = None
    reserved_for: list[Consumer] | None = None


class ClaimAnnotations(Part):
    pod_claim_name: str | None = field(default=None, name="resource.kubernetes.io/pod-claim-name")
    extended_resource: str | None = field(default=None, name="resource.kubernetes.io/extended-resource-claim")


class PodOwner(Part):
    kind: str | None = None
    name: str | None = None
    controller: bool | None = None


class DeviceClaimMeta(NameMeta):
    annotations: ClaimAnnotations | None = None
    owner_references: list[PodOwner] | None = None
    deletion_timestamp: str | None = None


class KeptDeviceClaim(Part):
    metadata: DeviceClaimMeta
    spec: DeviceClaimSpec | None = None
    status: DeviceClaimStatus | None = None


class DeviceClaimTemplateSpec(Part):
    spec: DeviceClaimSpec | None = None


class KeptDeviceClaimTemplate(Part):
    metadata: NameMeta
    spec: DeviceClaimTemplateSpec | None = None


# --- taint rules ----------------------------------------------------------------------------------------------------


class TaintedDevices(Part):
    driver: str | None = None
    pool: str | None = None
    device: str | None = None


class TaintRuleSpec(Part):
    device_selector: TaintedDevices | None = None
    taint: KeptTaint | None = None


class KeptTaintRule(Part):
    metadata: NameMeta
    spec: TaintRuleSpec | None = None
