"""matchAttribute and distinctAttribute over the devices of one claim.

Mirrors ``structured/internal/experimental/constraint.go`` and matchAttributeConstraint beside it (v1.36): a single
value is a list of one, and without lists that decides as ``incubating`` does. Devices match if one value is common to
all, and are distinct if no two have a common one.
"""

from __future__ import annotations

from kubesched_lint.engine.model.devices.devices import Attribute, Device, DeviceConstraint, Scalar, values_of

Names = tuple[str, str]
"""A request, and the chosen alternative of it; empty without one."""


def attribute_of(device: Device, driver: str, name: str) -> Attribute | None:
    """Return the attribute of a fully qualified name; one without a domain has that of the driver."""
    domain, slash, own = name.partition("/")
    attribute = device.attributes.get(name)
    if attribute is None and slash and domain == driver:
        attribute = device.attributes.get(own)
    return attribute


class Constraint:
    """A constraint, and the devices that it has seen."""

    def __init__(self, wanted: DeviceConstraint) -> None:
        self._requests = frozenset(wanted.requests)
        self._name = wanted.match_attribute or wanted.distinct_attribute
        self._is_match = bool(wanted.match_attribute)
        self._count = 0
        self._seen: dict[str, frozenset[tuple[str, Scalar]]] = {}
        """For a match the common values; else the values of the last device per request, as upstream keeps them."""

    def add(self, names: Names, driver: str, device: Device) -> bool:
        """Take a device; return False, and take nothing, if it violates the constraint."""
        if not self._concerns(names):
            return True
        attribute = attribute_of(device, driver, self._name)
        if attribute is None:
            return False
        values = values_of(attribute)
        if self._is_match and self._count:
            values &= self._seen[""]
        if self._count and not self._allows(values):
            return False
        self._seen["" if self._is_match else names[0]] = values
        self._count += 1
        return True

    def remove(self, names: Names) -> None:
        """Give back a device that was taken; upstream leaves the common values as narrow as they were with it."""
        if self._concerns(names):
            self._count -= 1
            if not self._is_match:
                self._seen.pop(names[0], None)

    def _concerns(self, names: Names) -> bool:
        return not self._requests or names[0] in self._requests or "/".join(names) in self._requests

    def _allows(self, values: frozenset[tuple[str, Scalar]]) -> bool:
        if self._is_match:
            return bool(values)
        return not self._seen or (bool(values) and all(values.isdisjoint(seen) for seen in self._seen.values()))
