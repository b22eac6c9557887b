"""Nodes that cannot differ in what they give to claims: one search answers for all of them.

Two nodes are alike if their pools, in order, have devices that differ in nothing that the claims can see: names,
and attributes that no selector and no constraint of the claims reads. Nothing here has a counterpart upstream.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from itertools import chain

from kubesched_lint.engine.base import work
from kubesched_lint.engine.cluster.nodeset import EMPTY, NodeSet, grouped, positions
from kubesched_lint.engine.model.devices.devices import (
    Amounts,
    Device,
    DeviceClaim,
    DeviceClass,
    DeviceRequest,
    ResourceSlice,
)
from kubesched_lint.engine.scheduler.devices.constraints import attribute_of
from kubesched_lint.engine.scheduler.devices.pools.pools import Offers, Pool, devices_of
from kubesched_lint.engine.scheduler.devices.pools.taken import Taken
from kubesched_lint.engine.scheduler.devices.selectors.selectors import Selectors

Look = Hashable
"""What claims see of a node and its free devices."""
Classes = Callable[[str], DeviceClass | None]


def claims_key(claims: Sequence[DeviceClaim], classes: Classes) -> Hashable:
    """Return what claims ask for; claims of equal shape are given the same."""
    return tuple(
        (
            tuple(_asked(request, classes) for request in claim.requests),
            tuple((c.match_attribute, c.distinct_attribute, c.requests) for c in claim.constraints),
        )
        for claim in claims
    )


def _asked(request: DeviceRequest, classes: Classes) -> Hashable:
    device_class = classes(request.device_class)
    return (
        request.name,
        None if device_class is None else device_class.selectors,
        (request.mode, request.count, request.admin_access),
        request.selectors,
        request.tolerations,
        _amounts(request.capacity),
        tuple(_asked(each, classes) for each in request.alternatives),
    )


def _amounts(amounts: Amounts) -> Hashable:
    return tuple(sorted(amounts.items()))


class Looks:
    """How the nodes look to claims of one shape."""

    def __init__(self, claims: Sequence[DeviceClaim], classes: Classes, offers: Offers, selectors: Selectors) -> None:
        asked = [each for claim in claims for request in claim.requests for each in request.alternatives or (request,)]
        served = [device_class.selectors for each in asked if (device_class := classes(each.device_class)) is not None]
        rules = [rule for claim in claims for rule in claim.constraints]
        self._expressions = dict.fromkeys(chain(*served, *(each.selectors for each in asked)))
        self._attributes = dict.fromkeys(rule.match_attribute or rule.distinct_attribute for rule in rules)
        self._offers, self._selectors = offers, selectors
        self._numbers: dict[Hashable, int] = {}
        self._of_slice: dict[ResourceSlice, int] = {}
        self._of_pool: dict[Pool, Hashable] = {}
        self._of_node: dict[int, int] = {}
        self._alike: dict[int, NodeSet] | None = None

    def groups(self, among: NodeSet, taken: Taken) -> Iterator[tuple[NodeSet, Look]]:
        """Yield the nodes in groups that look alike."""
        busy = EMPTY
        for pool in taken.pools:
            busy |= self._offers.users.get(pool, EMPTY)
        for number, nodes in self._all().items():
            quiet = nodes & among & ~busy
            if quiet:
                yield quiet, (number, ())
        looks = grouped((position, self.look(position, taken)) for position in positions(busy & among))
        yield from ((nodes, look) for look, nodes in looks.items())

    def look(self, position: int, taken: Taken) -> Look:
        """Return how one node looks."""
        pools = self._offers.pools(position)
        held = tuple((i, state) for i, pool in enumerate(pools) if (state := taken.in_pool(pool)))
        return self._static(position), held

    def _all(self) -> dict[int, NodeSet]:
        if self._alike is None:
            self._alike = grouped(enumerate(map(self._static, range(self._offers.size))))
        return self._alike

    def _number(self, seen: Hashable) -> int:
        return self._numbers.setdefault(seen, len(self._numbers))

    def _static(self, position: int) -> int:
        look_number = self._of_node.get(position)
        if look_number is None:
            pools = self._offers.pools(position)
            names = [pool.name for pool in pools]  # pools of one name share an account of counters
            seen = [(self._pool(pool), names.index(pool.name), self._usable(pool, position)) for pool in pools]
            look_number = self._of_node[position] = self._number(tuple(seen))
        return look_number

    def _usable(self, pool: Pool, position: int) -> Hashable:
        """Return which devices with nodes of their own the node can use."""
        own = [each for each in pool.slices if each.is_per_device]
        return tuple(self._offers.can_use(device.access, position) for _, device, _ in devices_of(own))

    def _pool(self, pool: Pool) -> Hashable:
        pool_number = self._of_pool.get(pool)
        if pool_number is None:
            sets = tuple(sorted((name, _amounts(counters)) for name, counters in (pool.counter_sets or {}).items()))
            slices = tuple(self._slice(each) for each in pool.slices)
            users = tuple(self._slice(each) for each in pool.elsewhere)
            seen = (pool.driver, pool.is_incomplete, pool.is_invalid, sets, slices, users)
            pool_number = self._of_pool[pool] = self._number(seen)
        return pool_number

    def _slice(self, each: ResourceSlice) -> int:
        slice_number = self._of_slice.get(each)
        if slice_number is None:
            work.spend(len(each.devices) * 5 * (1 + len(self._expressions)))
            seen = (each.is_per_device, *(self._device(each.driver, device) for device in each.devices))
            slice_number = self._of_slice[each] = self._number(seen)
        return slice_number

    def _device(self, driver: str, device: Device) -> Hashable:
        outcomes = [self._selectors.outcome(text, driver, device) for text in self._expressions]
        return (
            tuple(each if isinstance(each, bool) else repr(each) for each in outcomes),
            tuple(attribute_of(device, driver, name) for name in self._attributes),
            tuple(sorted(device.capacity.items())) if device.capacity else (),
            tuple((name, _amounts(used)) for name, used in device.consumes),
            device.taints,
            device.is_shared,
        )
