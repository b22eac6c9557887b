"""What the allocated claims hold: devices, and shares of devices.

Mirrors foreachAllocatedDevice of ``plugins/dynamicresources/allocateddevices.go`` (v1.36).
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from kubesched_lint.engine.model.devices.devices import Allocation, Amounts, DeviceID
from kubesched_lint.engine.scheduler.devices.pools.capacity import plus
from kubesched_lint.engine.scheduler.devices.pools.pools import Pool, PoolID, devices_of


class Taken:
    """``exclusively`` has whole devices, ``shared`` those of which claims hold shares, ``consumed`` their sums.

    ``since`` is what a part of the allocations holds: only the others are read.
    """

    def __init__(self, allocations: Sequence[Allocation], since: Taken | None = None) -> None:
        self._allocations = allocations
        self.exclusively: set[DeviceID] = set() if since is None else set(since.exclusively)
        self.shared: set[DeviceID] = set() if since is None else set(since.shared)
        self.consumed: dict[DeviceID, Amounts] = {} if since is None else dict(since.consumed)
        self.pools: dict[PoolID, dict[Pool, Hashable]] = {} if since is None else dict(since.pools)
        """The pools of which something is taken, and what ``in_pool`` returned for them."""
        more = allocations[0 if since is None else len(since._allocations) :]
        for allocation in more:
            self._add(allocation)

    def _add(self, allocation: Allocation) -> None:
        for held in allocation.devices:
            if held.admin_access:
                continue  # it watches a device that others use
            self.pools[held.driver, held.pool] = {}
            if not held.is_share:
                self.exclusively.add(held.id)
                continue
            self.shared.add(held.id)
            if held.consumed:
                self.consumed[held.id] = plus(self.consumed.get(held.id, {}), held.consumed)

    def with_all(self, allocations: Sequence[Allocation]) -> Taken:
        """Return what these allocations hold; fast if they are those of this one, or these and some more."""
        count = len(self._allocations)
        if any(ours is not theirs for ours, theirs in zip(self._allocations, allocations, strict=False)):
            return Taken(allocations)
        return self if len(allocations) == count else Taken(allocations, self if len(allocations) > count else None)

    def in_pool(self, pool: Pool) -> Hashable:
        """Return what is taken of a pool by position, whatever its devices are called; false if nothing is."""
        known = self.pools.get((pool.driver, pool.name))
        if known is None:
            return ()
        state_of_pool = known.get(pool)
        if state_of_pool is None:
            ids = [device for device, _, _ in devices_of((*pool.slices, *pool.elsewhere))]
            held = ((i, device) for i, device in enumerate(ids) if self.holds(device))
            state_of_pool = known[pool] = tuple((i, *self._state(device)) for i, device in held)
        return state_of_pool

    def _state(self, device: DeviceID) -> tuple[Hashable, ...]:
        amounts = tuple(sorted(self.consumed.get(device, {}).items()))
        return device in self.exclusively, device in self.shared, amounts

    def holds(self, device: DeviceID) -> bool:
        return device in self.exclusively or device in self.shared
