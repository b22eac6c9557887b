"""Devices, their classes, and claims for them, as DynamicResources reads them.

Mirrors ``staging/src/k8s.io/api/resource/v1/types.go`` (v1.36). Amounts are exact fractions of the unit.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction
from functools import cached_property

from msgspec import Struct, field

from kubesched_lint.engine.base.partly_compared import Distinct, PartlyCompared
from kubesched_lint.engine.base.places import Path, Source
from kubesched_lint.engine.model.pod import NodeSelectorTerm

Scalar = str | int | bool
Attribute = tuple[str, Scalar | tuple[Scalar, ...]]
"""Kind and value of a device's attribute.

The kind is ``string``, ``int``, ``bool`` or ``version``, or one of ``LISTS``; ``own`` for a text of a sketch that
differs on every device and is not stated; else ``unknown``.
"""
OWN = "own"
LISTS = {"ints": "int", "bools": "bool", "strings": "string", "versions": "version"}
"""Kind of a list → the kind of its values. A server keeps lists with the gate DRAListTypeAttributes, which is alpha."""
READABLE = frozenset({*LISTS.values(), *LISTS, OWN})
_PART = r"(?:0|[1-9][0-9]*|[0-9]*[A-Za-z-][0-9A-Za-z-]*)"
SEMVER = re.compile(
    rf"(?:0|[1-9][0-9]*)(?:\.(?:0|[1-9][0-9]*)){{2}}(?:-{_PART}(?:\.{_PART})*)?"
    r"(?:\+[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?"
)
"""A version as the API server takes it for an attribute (semver.org 2.0.0)."""
Amounts = Mapping[str, Fraction]
DeviceID = tuple[str, str, str]
"""Driver, pool and device."""
EXACT_COUNT, ALL = "ExactCount", "All"
RESULTS_OF_A_CLAIM = 32
"""AllocationResultsMaxSize: the devices that one claim may have."""
USERS_OF_A_CLAIM = 256
"""ResourceClaimReservedForMaxSize: the pods that may use one claim at a time."""
ALTERNATIVES_OF_A_REQUEST = 8
"""FirstAvailableDeviceRequestMaxSize."""


def values_of(attribute: Attribute) -> frozenset[tuple[str, Scalar]]:
    """Return the values of an attribute with their kind, one or those of its list; none if it cannot be read."""
    kind, value = attribute
    if kind in LISTS and isinstance(value, tuple):
        return frozenset((LISTS[kind], each) for each in value)
    return frozenset() if kind == "unknown" or isinstance(value, tuple) else frozenset([(kind, value)])


class DeviceClass(PartlyCompared, frozen=True):
    """``extended_resource`` is the resource name by which pods may request its devices; empty if it has none."""

    name: str
    extended_resource: str = ""
    source: Source | None = None
    selectors: tuple[str, ...] = ()
    """CEL expressions; an empty one is a selector of another kind."""
    created: str = ""


class DeviceTaint(Struct, frozen=True):
    key: str
    value: str = ""
    effect: str = ""


class DeviceTaintRule(PartlyCompared, frozen=True):
    """An administrator's taint for the devices of a driver, of a pool, or of a name; None: of any."""

    name: str
    taint: DeviceTaint
    driver: str | None = None
    pool: str | None = None
    device: str | None = None
    source: Source | None = None


class DeviceToleration(Struct, frozen=True):
    key: str = ""
    operator: str = "Equal"
    value: str = ""
    effect: str = ""
    is_temporary: bool = False
    """It has ``tolerationSeconds``."""

    def tolerates(self, taint: DeviceTaint) -> bool:
        """Mirrors ``dynamic-resource-allocation/resourceclaim/devicetoleration.go`` (v1.36)."""
        if self.effect not in ("", taint.effect) or self.key not in ("", taint.key):
            return False
        return self.operator == "Exists" or (self.operator == "Equal" and self.value == taint.value)


class Capacity(Struct, frozen=True):
    """The amount that a device has, and the request policy of one that several claims may share."""

    value: Fraction
    default: Fraction | None = None
    minimum: Fraction | None = None
    maximum: Fraction | None = None
    step: Fraction | None = None
    valid_values: tuple[Fraction, ...] = ()
    has_range: bool = False

    @property
    def has_policy(self) -> bool:
        return self.has_range or self.default is not None or bool(self.valid_values)


class NodeAccess(Struct, frozen=True):
    """The nodes that can use a slice or a device: one, all, those of a selector, or none."""

    node_name: str = ""
    all_nodes: bool = False
    terms: tuple[NodeSelectorTerm, ...] | None = None

    @property
    def is_given(self) -> bool:
        return bool(self.node_name or self.all_nodes or self.terms is not None)


class Device(Struct, frozen=True, dict=True):
    name: str
    attributes: Mapping[str, Attribute] = field(default_factory=dict)
    capacity: Mapping[str, Capacity] = field(default_factory=dict)
    consumes: tuple[tuple[str, Amounts], ...] = ()
    """Counter set and the amounts that the device takes from its counters."""
    taints: tuple[DeviceTaint, ...] = ()
    is_shared: bool = False
    """Several claims may have it at a time (``allowMultipleAllocations``)."""
    access: NodeAccess = NodeAccess()
    binds_to_node: bool = False
    has_binding_conditions: bool = False

    @property
    def has_lists(self) -> bool:
        return any(kind in LISTS for kind, _ in self.attributes.values())

    @cached_property
    def is_readable(self) -> bool:
        """Whether selectors can be evaluated: upstream reads all attributes first."""
        return all(kind in READABLE for kind, _ in self.attributes.values())

    @cached_property
    def named(self) -> Mapping[str, tuple[object, ...]]:
        """Return name without its domain → the attributes and the amounts of that name."""
        by_short_name: dict[str, tuple[object, ...]] = {}
        every = (*self.attributes.items(), *((name, capacity.value) for name, capacity in self.capacity.items()))
        for name, value in every:
            short = name.rpartition("/")[2]
            by_short_name[short] = (*by_short_name.get(short, ()), name, value)
        return by_short_name


class ResourceSlice(Distinct, frozen=True):
    name: str
    driver: str
    pool: str
    generation: int = 0
    slice_count: int = 0
    access: NodeAccess = NodeAccess()
    is_per_device: bool = False
    """Each device has its own ``access``."""
    devices: tuple[Device, ...] = ()
    counter_sets: tuple[tuple[str, Amounts], ...] = ()
    source: Source | None = None


class DeviceOffer(Struct, frozen=True):
    """The devices of one driver that each node of an entry or of a pool has."""

    driver: str
    devices: tuple[Device, ...]

    def name_on(self, node: str) -> str:
        """Return the name of the slice of a node."""
        return f"{node}-{self.driver}"

    def on(self, node: str) -> ResourceSlice:
        """Return what the driver would announce for a node."""
        return ResourceSlice(
            self.name_on(node), self.driver, node, 1, 1, NodeAccess(node_name=node), devices=self.devices
        )


class DeviceRequest(Distinct, frozen=True):
    """One request of a claim, or one alternative of a request with ``alternatives``, which has no class of its own."""

    name: str
    device_class: str = ""
    mode: str = EXACT_COUNT
    count: int = 1
    admin_access: bool = False
    selectors: tuple[str, ...] = ()
    tolerations: tuple[DeviceToleration, ...] = ()
    capacity: Amounts = field(default_factory=dict)
    alternatives: tuple[DeviceRequest, ...] = ()
    resource: str = ""
    """The extended resource that the scheduler makes it for."""
    path: Path = ()


class DeviceConstraint(PartlyCompared, frozen=True):
    """All devices of ``requests`` (empty: all) have the same value of an attribute, or all different ones."""

    match_attribute: str = ""
    distinct_attribute: str = ""
    requests: tuple[str, ...] = ()
    path: Path = ()


class AllocatedDevice(Struct, frozen=True):
    request: str
    """Name of the request; of an alternative, ``request/alternative``."""
    driver: str
    pool: str
    device: str
    admin_access: bool = False
    is_share: bool = False
    consumed: Amounts = field(default_factory=dict)

    @property
    def id(self) -> DeviceID:
        return self.driver, self.pool, self.device


class Allocation(Struct, frozen=True):
    devices: tuple[AllocatedDevice, ...] = ()
    terms: tuple[NodeSelectorTerm, ...] | None = None
    """The nodes that can use the devices; None: every node."""


class DeviceClaim(PartlyCompared, frozen=True):
    """A ResourceClaim of resource.k8s.io."""

    namespace: str
    name: str
    requests: tuple[DeviceRequest, ...] = ()
    constraints: tuple[DeviceConstraint, ...] = ()
    allocation: Allocation | None = None
    reserved_for: tuple[str, ...] = ()
    """Names of the pods that use it."""
    deleting: bool = False
    annotations: Mapping[str, str] = field(default_factory=dict)
    owner: str = ""
    """Name of the pod that it was made for."""
    source: Source | None = None


class DeviceClaimTemplate(PartlyCompared, frozen=True):
    """A ResourceClaimTemplate."""

    namespace: str
    name: str
    requests: tuple[DeviceRequest, ...] = ()
    constraints: tuple[DeviceConstraint, ...] = ()
    source: Source | None = None
