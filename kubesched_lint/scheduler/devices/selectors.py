"""Selectors of classes and requests: CEL expressions over one device.

Mirrors ``dynamic-resource-allocation/cel/compile.go`` (v1.36). The API server has compiled every stored expression, so
one that does not compile here uses a function that we lack: it is undecided, not wrong.
"""

from __future__ import annotations

import re

from kubesched_lint.extras import CEL_NEEDED, has_cel
from kubesched_lint.model.devices import READABLE, Device
from kubesched_lint.scheduler.devices.failures import SelectorError, UndecidedError

_OF_DRIVER = re.compile(r"""\s*device\.driver\s*==\s*(?:"([^"\\]*)"|'([^'\\]*)')\s*""")


class Selectors:
    """Evaluates expressions, each pair of an expression and a device once."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str, int], tuple[Device, bool]] = {}

    def matches(self, expression: str, driver: str, device: Device) -> bool:
        """Return whether a device satisfies an expression. Raises SelectorError and UndecidedError."""
        if not device.is_readable:
            _refuse(device)
        wanted = _OF_DRIVER.fullmatch(expression)
        if wanted:
            return driver == (wanted[1] if wanted[1] is not None else wanted[2])
        key = (expression, driver, id(device))
        found = self._known.get(key)
        if found is None:  # kept with the device, so that its id() is not reused
            found = self._known[key] = device, _evaluated(expression, driver, device)
        return found[1]


def _refuse(device: Device) -> None:
    """Raise the error of an attribute that upstream cannot read, whatever the expression reads."""
    name, (kind, _) = next(each for each in device.attributes.items() if each[1][0] not in READABLE)
    if kind == "list":
        raise UndecidedError(f"attribute {name} has a list of values: the gate DRAListTypeAttributes is not modelled")
    raise SelectorError(f"attribute {name}: unsupported attribute value")


def _evaluated(expression: str, driver: str, device: Device) -> bool:
    if not has_cel():
        raise UndecidedError(f"the selector {expression!r} needs the extra: {CEL_NEEDED}")
    from kubesched_lint.scheduler.devices.cel import evaluate

    return evaluate(expression, driver, device)
