"""What the allocated claims hold: devices, and shares of devices.

Mirrors foreachAllocatedDevice of ``plugins/dynamicresources/allocateddevices.go`` (v1.36).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from functools import cached_property

from kubesched_lint.model.devices import Amounts, DeviceClaim, DeviceID
from kubesched_lint.scheduler.devices.capacity import plus
from kubesched_lint.scheduler.devices.pools import Pool, PoolID, devices_of


class Taken:
    """``exclusively`` has whole devices, ``shared`` those of which claims hold shares, ``consumed`` their sums."""

    def __init__(self, claims: Iterable[DeviceClaim]) -> None:
        self.exclusively: set[DeviceID] = set()
        self.shared: set[DeviceID] = set()
        self.consumed: dict[DeviceID, Amounts] = {}
        self._in_pool: dict[int, Hashable] = {}
        for claim in claims:
            for held in claim.allocation.devices if claim.allocation is not None else ():
                if held.admin_access:
                    continue  # it watches a device that others use
                if not held.is_share:
                    self.exclusively.add(held.id)
                    continue
                self.shared.add(held.id)
                if held.consumed:
                    self.consumed[held.id] = plus(self.consumed.get(held.id, {}), held.consumed)

    @cached_property
    def pools(self) -> frozenset[PoolID]:
        """The pools of which something is taken."""
        return frozenset(device[:2] for device in (*self.exclusively, *self.shared))

    def in_pool(self, pool: Pool) -> Hashable:
        """Return what is taken of a pool by position, whatever its devices are called; false if nothing is."""
        if (pool.driver, pool.name) not in self.pools:
            return ()
        found = self._in_pool.get(id(pool))
        if found is None:
            ids = [device for device, _, _ in devices_of((*pool.slices, *pool.elsewhere))]
            held = ((i, device) for i, device in enumerate(ids) if self.holds(device))
            found = self._in_pool[id(pool)] = tuple((i, *self._state(device)) for i, device in held)
        return found

    def _state(self, device: DeviceID) -> tuple[Hashable, ...]:
        amounts = tuple(sorted(self.consumed.get(device, {}).items()))
        return device in self.exclusively, device in self.shared, amounts

    def holds(self, device: DeviceID) -> bool:
        return device in self.exclusively or device in self.shared
