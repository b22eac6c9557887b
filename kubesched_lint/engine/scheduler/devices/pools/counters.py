"""The shared counters of partitionable devices.

Mirrors checkAvailableCounters of ``structured/internal/incubating/allocator_incubating.go`` (v1.36), which knows a pool
by its name alone: pools of two drivers with the same name share one account.
"""

from __future__ import annotations

from fractions import Fraction

from kubesched_lint.engine.model.devices.devices import Device
from kubesched_lint.engine.scheduler.devices.pools.pools import Pool, devices_of
from kubesched_lint.engine.scheduler.devices.pools.taken import Taken

_Account = dict[tuple[str, str], Fraction]
"""(counter set, counter) → amount."""


class Counters:
    """What an attempt on one node has consumed."""

    def __init__(self, taken: Taken) -> None:
        self._taken = taken
        self._available: dict[str, _Account] = {}
        self._consumed: dict[str, _Account] = {}

    def consume(self, pool: Pool, device: Device) -> bool:
        """Book the counters of a device; return False, and book nothing, if they do not suffice."""
        available = self._available.get(pool.name)
        if available is None:
            available = self._available[pool.name] = self._left(pool)
        booked = self._book(pool, device, 1)
        if all(amount >= booked.get(key, 0) for key, amount in available.items()):
            return True
        self.release(pool, device)
        return False

    def release(self, pool: Pool, device: Device) -> None:
        self._book(pool, device, -1)

    def _book(self, pool: Pool, device: Device, sign: int) -> _Account:
        account = self._consumed.setdefault(pool.name, {})
        for name, used in device.consumes:
            for counter, amount in used.items():
                key = name, counter
                account[key] = account.get(key, Fraction(0)) + sign * amount
        return account

    def _left(self, pool: Pool) -> _Account:
        """Return what the allocated devices leave; it may be negative."""
        sets = pool.counter_sets or {}
        left = {(name, counter): amount for name, counters in sets.items() for counter, amount in counters.items()}
        for device_id, device, _ in devices_of([*pool.slices, *pool.elsewhere]):
            if device.consumes and self._taken.holds(device_id):
                for name, used in device.consumes:
                    for counter, amount in used.items():
                        if (name, counter) in left:
                            left[name, counter] -= amount
        return left
