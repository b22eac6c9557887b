"""The pools of devices that a node can use.

Mirrors ``structured/internal/incubating/pools_incubating.go`` (v1.36).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property

from msgspec import Struct

from kubesched_lint.engine.cluster.nodes.index import NodeIndex
from kubesched_lint.engine.cluster.nodeset import EMPTY, NodeSet, of, positions
from kubesched_lint.engine.model.devices.devices import Amounts, Device, DeviceID, NodeAccess, ResourceSlice


class Pool(Struct, frozen=True, eq=False):
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


PoolID = tuple[str, str]
"""Driver and name."""


class Offers:
    """All slices, and which of them each node can use."""

    def __init__(self, slices: Sequence[ResourceSlice], index: NodeIndex) -> None:
        self.slices, self._index = slices, index
        self.size = len(index)
        self._everywhere: list[ResourceSlice] = []
        self._at: dict[int, list[ResourceSlice]] = {}
        self._counters: dict[PoolID, list[ResourceSlice]] = {}
        self._of_pool: dict[PoolID, list[ResourceSlice]] = {}
        self._pools: dict[int, Sequence[Pool]] = {}
        self._built: dict[tuple[ResourceSlice, ...], Pool | None] = {}
        for each in sorted(slices, key=lambda s: s.name):
            self._of_pool.setdefault((each.driver, each.pool), []).append(each)
            if each.counter_sets:  # counters belong to a pool, whoever uses its devices
                self._counters.setdefault((each.driver, each.pool), []).append(each)
            else:
                self._place(each)

    def _place(self, each: ResourceSlice) -> None:
        users = self._users(each)
        if users == self._index.all:
            self._everywhere.append(each)
            return
        for position in positions(users):
            self._at.setdefault(position, []).append(each)

    def can_use(self, access: NodeAccess, position: int) -> bool:
        return bool(self._matching(access) >> position & 1)

    def pools(self, position: int) -> Sequence[Pool]:
        """Return the pools for a node, in the order in which the allocator tries them.

        Valid pools without devices for the node are left out.
        """
        where = position if position in self._at else -1  # nodes without slices of their own use the same
        pools = self._pools.get(where)
        if pools is None:
            pools = self._pools[where] = self._gathered(self._at.get(where, ()))
        return pools

    def usable(self, pool: Pool, position: int) -> Iterator[tuple[DeviceID, Device]]:
        """Yield the devices of a pool that a node can use; none if the pool is incomplete or invalid."""
        for device_id, device, each in devices_of(pool.slices):
            if not each.is_per_device or self.can_use(device.access, position):
                yield device_id, device

    @cached_property
    def users(self) -> Mapping[PoolID, NodeSet]:
        """Pool → the nodes that know it."""
        positions_of_pools: dict[PoolID, list[int]] = {}
        for position in range(len(self._index)):
            for pool in self.pools(position):
                positions_of_pools.setdefault((pool.driver, pool.name), []).append(position)
        return {pool: of(known) for pool, known in positions_of_pools.items()}

    def _gathered(self, own: Sequence[ResourceSlice]) -> Sequence[Pool]:
        known: dict[PoolID, list[ResourceSlice]] = {}
        for each in (*self._everywhere, *own):
            known.setdefault((each.driver, each.pool), []).append(each)
        made = (self._pool([*held, *self._counters.get(key, ())]) for key, held in known.items())
        pools = [pool for pool in made if pool is not None]
        pools += [pool for key, pool in self._troubled.items() if key not in known]
        return sorted(pools, key=lambda pool: (_binds_late(pool), pool.driver, pool.name))

    @cached_property
    def _troubled(self) -> Mapping[PoolID, Pool]:
        """The incomplete and invalid pools that nodes know by their counters alone."""
        known = {key: self._pool(held) for key, held in self._counters.items()}
        return {
            key: pool for key, pool in known.items() if pool is not None and (pool.is_incomplete or pool.is_invalid)
        }

    def _users(self, each: ResourceSlice) -> NodeSet:
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

    def _pool(self, known: Sequence[ResourceSlice]) -> Pool | None:
        """Return the pool of the newest of these slices; None if slices for other nodes show that they are outdated."""
        newest = max(each.generation for each in known)
        held = sorted((each for each in known if each.generation == newest), key=lambda each: each.name)
        key = tuple(held)
        if key not in self._built:
            self._built[key] = self._made(held)
        return self._built[key]

    def _made(self, held: Sequence[ResourceSlice]) -> Pool | None:
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
