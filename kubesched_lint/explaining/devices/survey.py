"""Which devices of some nodes meet a request if no other pod has them, and what excludes the others."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from kubesched_lint.engine.base.errors import UncheckedError
from kubesched_lint.engine.base.places import Path
from kubesched_lint.engine.base.text import joined
from kubesched_lint.engine.cluster.devices import Devices
from kubesched_lint.engine.cluster.nodes.index import NodeIndex
from kubesched_lint.engine.cluster.nodeset import NodeSet, positions
from kubesched_lint.engine.model.devices.devices import (
    ALL,
    LISTS,
    Device,
    DeviceID,
    DeviceRequest,
    DeviceTaint,
)
from kubesched_lint.engine.model.quantity import show
from kubesched_lint.engine.scenario.scenario import Scenario, once_per_scenario
from kubesched_lint.engine.scheduler.devices.allocator import prevents
from kubesched_lint.engine.scheduler.devices.answers import offers_of, selectors_of
from kubesched_lint.engine.scheduler.devices.constraints import attribute_of
from kubesched_lint.engine.scheduler.devices.failures import SelectorError, UndecidedError, one_line
from kubesched_lint.engine.scheduler.devices.pools.capacity import has_room
from kubesched_lint.engine.scheduler.devices.pools.pools import devices_of
from kubesched_lint.explaining.devices.requests import CONSTRAINTS, Asked, devices_in

Group = tuple[object, ...]
"""The values of the attributes that the devices of a request must share."""


class Condition(NamedTuple):
    """What a device must meet; conditions are checked in order. ``within``: its path inside the request, or from the
    constraints that concern the request.
    """

    order: int
    words: str
    within: Path = ()
    expression: str = ""


class Failure(NamedTuple):
    """A selector that fails on a device: its number and its text in a class, or (``device_class`` empty) a request."""

    message: str
    device_class: str
    number: int
    expression: str


_NOTHING = Condition(-1, "")


class Survey(Struct, frozen=True, eq=False, dict=True):
    """The devices of some nodes, and which of them one request can have if no other pod has them."""

    asked: Asked
    offered: frozenset[DeviceID]
    removed: Mapping[Condition, frozenset[DeviceID]]
    """Condition → the devices that fail it and meet those before it; in their order."""
    tainted: Mapping[DeviceTaint, frozenset[DeviceID]]
    """Taints that exclude devices which meet everything else."""
    errors: Mapping[DeviceID, Failure]
    """Devices on which a selector fails."""
    left: Mapping[int, frozenset[DeviceID]]
    """Position of a node → the devices that it has for the request; none if it takes all and cannot have one."""
    closed: Mapping[int, frozenset[DeviceID]]
    """Position of a node → the devices that only taints exclude."""
    groups: Mapping[DeviceID, Group]
    """Empty if the devices of the request need not be alike."""
    shared: frozenset[DeviceID]
    """Devices that several claims may have at a time."""
    broken_pools: Mapping[str, str]
    """Pool → ``being updated`` or ``invalid``; their devices do not count."""

    @cached_property
    def all_left(self) -> frozenset[DeviceID]:
        return frozenset().union(*self.left.values())

    @cached_property
    def closed_anywhere(self) -> frozenset[DeviceID]:
        return frozenset().union(*self.closed.values())

    @cached_property
    def is_local(self) -> bool:
        """Whether each device is one node's."""
        return sum(map(len, self.left.values())) == len(self.all_left)

    @property
    def nearest(self) -> Condition:
        """The condition that the closest of the excluded devices fails."""
        return max(self.removed, default=_NOTHING)

    @property
    def takes_all(self) -> bool:
        return self.asked.request.mode == ALL

    @property
    def most_on_a_node(self) -> tuple[int, int]:
        """The most devices for one claim on a node, of one group, and the position of the first node with so many."""
        sizes = {position: max(self.sizes(devices), default=0) for position, devices in self.left.items()}
        position = max(sizes, key=sizes.__getitem__)
        return sizes[position], position

    def share_of(self, count: int) -> str:
        """Return in words what a pod takes that needs ``count`` devices."""
        if self.takes_all:
            return "all devices of a node"
        return f"{count} of one node" if count > 1 and self.is_local else str(count)

    def sizes(self, devices: Collection[DeviceID]) -> Collection[int]:
        """Return the numbers of devices per group."""
        if not self.groups:
            return (len(devices),)
        sizes: dict[Group, int] = {}
        for device in devices:
            group = self.groups.get(device, ())
            sizes[group] = sizes.get(group, 0) + 1
        return sizes.values()


_LEFT, _TAINTED, _REMOVED, _FAILING, _BROKEN = "left", "tainted", "removed", "failing", "broken"


class _Surveyor:
    """Sorts devices for one request; a device is judged once, whichever nodes can use it."""

    def __init__(self, asked: Asked, devices: Devices, index: NodeIndex) -> None:
        self._asked, self._request, self._devices = asked, asked.request, devices
        self._index, self._offers, self._selectors = index, offers_of(devices, index), selectors_of(devices)
        self._class = devices.classes[asked.request.device_class]
        self._verdicts: dict[DeviceID, str] = {}
        self._removed: dict[Condition, set[DeviceID]] = {}
        self._tainted: dict[DeviceTaint, set[DeviceID]] = {}
        self._errors: dict[DeviceID, Failure] = {}
        self._groups: dict[DeviceID, Group] = {}
        self._shared: set[DeviceID] = set()
        self._broken: dict[str, str] = {}
        self._lists = {
            name
            for each, device, _ in devices_of(devices.slices)
            for name in (constraint.match_attribute for constraint in asked.constraints if device.has_lists)
            if (attribute_of(device, each[0], name) or ("",))[0] in LISTS
        }
        """Attributes of which some device has several values: devices that share one of them are no fixed group."""

    def survey(self, among: NodeSet) -> Survey:
        left: dict[int, frozenset[DeviceID]] = {}
        closed: dict[int, frozenset[DeviceID]] = {}
        for position in positions(among):
            left[position], closed[position] = self._on(position)
        return Survey(
            asked=self._asked,
            offered=frozenset(self._verdicts),
            removed={each: frozenset(self._removed[each]) for each in sorted(self._removed)},
            tainted={taint: frozenset(device_ids) for taint, device_ids in self._tainted.items()},
            errors=self._errors,
            left=left,
            closed=closed,
            groups=self._groups,
            shared=frozenset(self._shared),
            broken_pools=self._broken,
        )

    def _on(self, position: int) -> tuple[frozenset[DeviceID], frozenset[DeviceID]]:
        """Return the devices that a node has for the request, and those that only taints exclude."""
        resource = self._asked.wanted.resource
        if resource and not self._index.by_devices(resource) >> position & 1:
            return frozenset(_of_plugin(resource, position, self._index)), frozenset()
        by_verdict: dict[str, list[DeviceID]] = {}
        for pool in self._offers.pools(position):
            if pool.is_incomplete or pool.is_invalid:
                self._broken[str(pool)] = "being updated" if pool.is_incomplete else "invalid"
                by_verdict[_BROKEN] = []
            for device_id, device in self._offers.usable(pool, position):
                by_verdict.setdefault(self._verdict(device_id, device), []).append(device_id)
        left = by_verdict.get(_LEFT, ())
        if self._request.mode == ALL and not {_BROKEN, _FAILING, _TAINTED}.isdisjoint(by_verdict):
            left = ()  # it takes all or none
        return frozenset(left), frozenset(by_verdict.get(_TAINTED, ()))

    def _verdict(self, device_id: DeviceID, device: Device) -> str:
        if device_id not in self._verdicts:
            self._verdicts[device_id] = self._judged(device_id, device)
        return self._verdicts[device_id]

    def _judged(self, device_id: DeviceID, device: Device) -> str:
        try:
            failed = self._failed_by(device_id, device)
        except _FailsError as error:
            self._errors[device_id] = error.failure
            return _FAILING
        if failed is not None:
            self._removed.setdefault(failed, set()).add(device_id)
            return _REMOVED
        if device.is_shared:
            self._shared.add(device_id)
        taints = [taint for taint in device.taints if prevents(taint, self._request)]
        for taint in taints:
            self._tainted.setdefault(taint, set()).add(device_id)
        return _TAINTED if taints else _LEFT

    def _failed_by(self, device_id: DeviceID, device: Device) -> Condition | None:
        """Return the first condition that a device does not meet. Raises _FailsError and UndecidedError."""
        driver, request = device_id[0], self._request
        if not all(
            self._matches(self._class.name, i, each, driver, device) for i, each in enumerate(self._class.selectors)
        ):
            return Condition(0, f"the class {self._class.name}", ("deviceClassName",))
        for i, expression in enumerate(request.selectors):
            if not self._matches("", i, expression, driver, device):
                return Condition(
                    i + 1,
                    f"the selector {one_line(expression)}",
                    ("selectors", i, "cel", "expression"),
                    expression,
                )
        order = len(request.selectors) + 1
        if not has_room(device, request.capacity, {}, {}):
            return Condition(order, f"the capacity {_capacity(request)}", ("capacity",))
        group: list[object] = []
        for i, constraint in enumerate(self._asked.constraints):
            name = constraint.match_attribute or constraint.distinct_attribute
            value = attribute_of(device, driver, name)
            if value is None:
                what = "matchAttribute" if constraint.match_attribute else "distinctAttribute"
                return Condition(order + 1, f"{what} {name} (they lack it)", (CONSTRAINTS, i, what))
            if constraint.match_attribute and name not in self._lists:
                group.append(value)
        if group:
            self._groups[device_id] = tuple(group)
        return None

    def _matches(self, device_class: str, i: int, expression: str, driver: str, device: Device) -> bool:
        try:
            return self._selectors.matches(expression, driver, device)
        except SelectorError as error:
            raise _FailsError(Failure(str(error), device_class, i, expression)) from None


class _FailsError(Exception):
    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


def _of_plugin(resource: str, position: int, index: NodeIndex) -> Iterator[DeviceID]:
    """Yield the devices that the device plugin of a node offers: no slice names them."""
    for number in range(int(index.stated(resource)[position])):
        yield "", f"{resource} of {index.names[position]}", str(number)


def _capacity(request: DeviceRequest) -> str:
    return joined([f"{name} {_amount(amount)}" for name, amount in request.capacity.items()])


def _amount(amount: Fraction) -> str:
    return show("memory", int(amount)) if amount.denominator == 1 and not amount.numerator % 1024 else str(amount)


def surveyed(asked: Asked, among: NodeSet, scenario: Scenario) -> Survey | None:
    """Return the devices of some nodes for a request; None if its class is unknown. Raises UncheckedError."""
    devices = devices_in(scenario)
    if asked.request.device_class not in devices.classes:
        return None
    kept, key = _surveys(scenario), (_meaning(asked), among)
    if key not in kept:
        try:
            kept[key] = _Surveyor(asked, devices, scenario.index).survey(among)
        except UndecidedError as error:
            raise UncheckedError(f"cannot judge every selector of devices: {error}") from None
    survey = kept[key]
    return replace(survey, asked=asked)


def _meaning(asked: Asked) -> object:
    """Return what decides which devices meet a request: many claims ask for the same."""
    request = asked.request
    constraints = tuple((c.match_attribute, c.distinct_attribute) for c in asked.constraints)
    taken = tuple(sorted(request.capacity.items()))
    return (
        asked.wanted.resource,
        request.device_class,
        request.selectors,
        tuple((t.key, t.operator, t.value, t.effect) for t in request.tolerations),
        taken,
        request.mode,
        constraints,
    )


@once_per_scenario
def _surveys(scenario: Scenario) -> dict[tuple[object, NodeSet], Survey]:
    return {}
