"""What the allocated claims hold: devices, and shares of devices.

Mirrors foreachAllocatedDevice of ``plugins/dynamicresources/allocateddevices.go`` (v1.36).
"""

from __future__ import annotations

from collections.abc import Iterable

from kubesched_lint.model.devices import Amounts, DeviceClaim, DeviceID
from kubesched_lint.scheduler.devices.capacity import plus


class Taken:
    """``exclusively`` has whole devices, ``shared`` those of which claims hold shares, ``consumed`` their sums."""

    def __init__(self, claims: Iterable[DeviceClaim]) -> None:
        self.exclusively: set[DeviceID] = set()
        self.shared: set[DeviceID] = set()
        self.consumed: dict[DeviceID, Amounts] = {}
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

    def holds(self, device: DeviceID) -> bool:
        return device in self.exclusively or device in self.shared
