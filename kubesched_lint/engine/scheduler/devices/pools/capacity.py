"""Consumable capacity: what a request takes from a device that several claims share.

Mirrors ``structured/internal/incubating/consumable_capacity.go`` (v1.36).
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from math import ceil

from kubesched_lint.engine.model.devices.devices import Amounts, Capacity, Device

_NOTHING = Fraction(0)


def has_room(device: Device, wanted: Amounts, allocated: Amounts, allocating: Amounts) -> bool:
    """Return whether a device can give a request its capacity beside what others have and take."""
    if any(name not in device.capacity for name in wanted):
        return False
    for name, capacity in device.capacity.items():
        if not (name in wanted or capacity.has_policy or name in allocated or name in allocating):
            continue  # a whole device, as most are
        taken = _consumed(wanted.get(name), capacity)
        if _violates(taken, capacity):
            return False
        if taken + allocated.get(name, _NOTHING) + allocating.get(name, _NOTHING) > capacity.value:
            return False
    return True


def consumed(device: Device, wanted: Amounts) -> dict[str, Fraction]:
    """Return what a request takes of each capacity of a shared device."""
    return {name: _consumed(wanted.get(name), capacity) for name, capacity in device.capacity.items()}


def plus(left: Amounts, right: Amounts) -> Mapping[str, Fraction]:
    return {name: left.get(name, _NOTHING) + right.get(name, _NOTHING) for name in {**left, **right}}


def minus(left: Amounts, right: Amounts) -> Mapping[str, Fraction]:
    """Return ``left`` reduced; names that only ``right`` has are ignored."""
    return {name: amount - right.get(name, _NOTHING) for name, amount in left.items()}


def _consumed(wanted: Fraction | None, capacity: Capacity) -> Fraction:
    if wanted is None:
        return capacity.value if capacity.default is None else capacity.default
    if capacity.minimum is not None:
        return _rounded_up(wanted, capacity.minimum, capacity.step)
    return next((value for value in capacity.valid_values if wanted <= value), wanted)


def _rounded_up(wanted: Fraction, minimum: Fraction, step: Fraction | None) -> Fraction:
    if wanted < minimum or step is None or not step:
        return max(wanted, minimum)
    least, size = ceil(minimum), ceil(step)
    return Fraction(least - (least - ceil(wanted)) // size * size)


def _violates(taken: Fraction, capacity: Capacity) -> bool:
    if capacity.default is not None and taken == capacity.default:
        return False
    if capacity.has_range:
        if capacity.maximum is not None and taken > capacity.maximum:
            return True
        step = ceil(capacity.step or 0)
        return bool(step) and (ceil(taken) - ceil(capacity.minimum or 0)) % step != 0
    return bool(capacity.valid_values) and taken not in capacity.valid_values
