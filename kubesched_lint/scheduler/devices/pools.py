"""The pools of devices that a node can use.

Mirrors ``structured/internal/incubating/pools_incubating.go`` (v1.36).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from kubesched_lint.cluster.index import NodeIndex
from kubesched_lint.cluster.nodeset import EMPTY, NodeSet
from kubesched_lint.model.devices import Amounts, Device, DeviceID, NodeAccess, ResourceSlice
from kubesched_lint.record import record


@record
class Pool:
    """``slices`` have devices for the node; ``elsewhere`` are the pool's others, which may consume its counters."""

    driver: str
    name: str
    slices: tuple[ResourceSlice, ...] = ()
    elsewhere: tuple[ResourceSlice, ...] = ()
    counter_sets: Mapping[str, Amounts] | None = None
    is_incomplete: bool = False
    is_invalid: bool = False

    def __str__(self) -> str:
        return f"{self.driver}/{self.name}"


def devices_of(slices: Iterable[ResourceSlice]) -> Iterator[tuple[DeviceID, Device, ResourceSlice]]:
    for each in slices:
        for device in each.devices:
            yield (each.driver, each.pool, device.name), device, each


class Offers:
    """All slices, and which of them each node can use."""

    def __init__(self, slices: Sequence[ResourceSlice], index: NodeIndex) -> None:
        self._index = index
        self._of_node: dict[str, list[ResourceSlice]] = {}
        self._shared: list[tuple[ResourceSlice, NodeSet]] = []
        self._pools: dict[int, Sequence[Pool]] = {}
        self._of_pool: dict[tuple[str, str], list[ResourceSlice]] = {}
        for each in sorted(slices, key=lambda s: s.name):
            self._of_pool.setdefault((each.driver, each.pool), []).append(each)
            if each.access.node_name and not each.counter_sets:
                self._of_node.setdefault(each.access.node_name, []).append(each)
            else:
                self._shared.append((each, self._users(each)))

    def can_use(self, access: NodeAccess, position: int) -> bool:
        return bool(self._matching(access) >> position & 1)

    def pools(self, position: int) -> Sequence[Pool]:
        """Return the pools for a node, in the order in which the allocator tries them."""
        found = self._pools.get(position)
        if found is None:
            found = self._pools[position] = self._gathered(position)
        return found

    def _gathered(self, position: int) -> Sequence[Pool]:
        newest: dict[tuple[str, str], list[ResourceSlice]] = {}
        for each in self._relevant(position):
            held = newest.setdefault((each.driver, each.pool), [])
            if held and held[0].generation < each.generation:
                held.clear()
            if not held or held[0].generation == each.generation:
                held.append(each)
        pools = [pool for held in newest.values() if (pool := self._pool(held)) is not None]
        return sorted(pools, key=lambda pool: (_binds_late(pool), pool.driver, pool.name))

    def _relevant(self, position: int) -> Iterator[ResourceSlice]:
        yield from self._of_node.get(self._index.names[position], ())
        for each, users in self._shared:
            if users >> position & 1:
                yield each

    def _users(self, each: ResourceSlice) -> NodeSet:
        """Return the nodes that must know a slice: counters belong to a pool, whoever uses its devices."""
        if each.counter_sets:
            return self._index.all
        if each.access.is_given:
            return self._matching(each.access)
        users = EMPTY
        if each.is_per_device:
            for device in each.devices:
                users |= self._matching(device.access)
        return users

    def _matching(self, access: NodeAccess) -> NodeSet:
        if access.node_name:
            return self._index.named([access.node_name])
        if access.all_nodes:
            return self._index.all
        return EMPTY if access.terms is None else self._index.matching({}, access.terms)

    def _pool(self, held: Sequence[ResourceSlice]) -> Pool | None:
        """Return the pool of these slices; None if slices for other nodes show that they are outdated."""
        driver, name = held[0].driver, held[0].pool
        if len(held) == held[0].slice_count:
            return _checked(driver, name, held, ())
        everything = self._of_pool[driver, name]
        if any(each.generation > held[0].generation for each in everything):
            return None
        current = [each for each in everything if each.generation == held[0].generation]
        if len(current) != held[0].slice_count:
            return Pool(driver, name, is_incomplete=True)
        mine = {each.name for each in held}
        return _checked(driver, name, held, [each for each in current if each.name not in mine])


def _checked(driver: str, name: str, held: Sequence[ResourceSlice], elsewhere: Sequence[ResourceSlice]) -> Pool:
    offering = tuple(each for each in held if not each.counter_sets)
    sets = [pair for each in held for pair in each.counter_sets]
    counter_sets = dict(sets)
    names = [device.name for each in offering for device in each.devices]
    is_invalid = (
        len(set(names)) < len(names)
        or len(counter_sets) < len(sets)
        or not all(_counts_right(device, counter_sets) for _, device, _ in devices_of([*held, *elsewhere]))
    )
    if is_invalid:
        return Pool(driver, name, is_invalid=True)
    return Pool(driver, name, offering, tuple(elsewhere), counter_sets)


def _counts_right(device: Device, counter_sets: Mapping[str, Amounts]) -> bool:
    """Return whether the counters that a device consumes exist."""
    return all(name in counter_sets and used.keys() <= counter_sets[name].keys() for name, used in device.consumes)


def _binds_late(pool: Pool) -> bool:
    return any(device.has_binding_conditions for _, device, _ in devices_of(pool.slices))
