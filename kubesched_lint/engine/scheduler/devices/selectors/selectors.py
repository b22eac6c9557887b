"""Selectors of classes and requests: CEL expressions over one device.

Mirrors ``dynamic-resource-allocation/cel/compile.go`` (v1.36). The API server has compiled every stored expression, so
one that does not compile here uses a function that we lack: it is undecided, not wrong.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from kubesched_lint.engine.base.extras import CEL_NEEDED, has_cel
from kubesched_lint.engine.base.identity import Itself
from kubesched_lint.engine.model.devices.devices import OWN, READABLE, Device
from kubesched_lint.engine.scheduler.devices.failures import SelectorError, UndecidedError, one_line

_OF_DRIVER = re.compile(r"""\s*device\.driver\s*==\s*(?:"([^"\\]*)"|'([^'\\]*)')\s*""")
_DEVICE = re.compile(r"\bdevice\b")
_TEXT = r"""(?:"[^"\\]*"|'[^'\\]*')"""
_READ = re.compile(
    rf"""device\.(?:driver\b|allowMultipleAllocations\b|(?:attributes|capacity)\[{_TEXT}\]"""
    rf"""(?:\.\??(?P<name>\w+)\b(?!\s*\()|\[\??(?P<key>{_TEXT})\]))"""
)
Outcome = bool | SelectorError | UndecidedError


class Selectors:
    """Evaluates each expression once for all devices that do not differ in what it reads."""

    def __init__(self) -> None:
        self._known: dict[str, _Expression] = {}

    def matches(self, expression: str, driver: str, device: Device) -> bool:
        """Return whether a device satisfies an expression. Raises SelectorError and UndecidedError."""
        outcome = self.outcome(expression, driver, device)
        if isinstance(outcome, bool):
            return outcome
        raise outcome.with_traceback(None)

    def outcome(self, expression: str, driver: str, device: Device) -> Outcome:
        """Return whether a device satisfies an expression, or what ``matches`` raises."""
        known = self._known.get(expression)
        if known is None:
            known = self._known[expression] = _Expression(expression)
        return known.outcome(driver, device)


class _Expression:
    def __init__(self, text: str) -> None:
        self._text = text
        own = _OF_DRIVER.fullmatch(text)
        self._driver = None if own is None else own[1] if own[1] is not None else own[2]
        self._names = _names_read(text)
        """What it reads, always in the same order."""
        self._known: dict[tuple[object, ...], Outcome] = {}

    def outcome(self, driver: str, device: Device) -> Outcome:
        key = driver, *self._read(device)
        outcome = self._known.get(key)
        if outcome is None:
            outcome = self._known[key] = self._evaluated(driver, device)
        return outcome

    def _read(self, device: Device) -> Iterator[object]:
        """Yield what an evaluation depends on: all of a device if the expression is not a plain one."""
        names = self._names
        if names is None or not device.is_readable:
            yield Itself(device)
            return
        yield device.is_shared
        for name in names:
            yield device.named.get(name, ())

    def _evaluated(self, driver: str, device: Device) -> Outcome:
        try:
            if not device.is_readable:
                _refuse(device)
            if self._driver is not None:
                return driver == self._driver
            self._check_is_stated(device)
            return _evaluated(self._text, driver, device)
        except (SelectorError, UndecidedError) as error:
            return error

    def _check_is_stated(self, device: Device) -> None:
        """Raise UndecidedError if the expression may read an attribute whose value a sketch does not state."""
        for name, (kind, _) in device.attributes.items():
            if kind == OWN and (self._names is None or name.rpartition("/")[2] in self._names):
                raise UndecidedError(
                    f"the selector {one_line(self._text)} reads {name}, whose value the sketch does not state"
                )


def _names_read(expression: str) -> frozenset[str] | None:
    """Return the names of the attributes and capacities that an expression can read; None if it may read others."""
    reads = list(_READ.finditer(expression))
    if len(reads) < len(_DEVICE.findall(expression)):
        return None
    return frozenset(read["name"] or (read["key"] or "")[1:-1] for read in reads)


def _refuse(device: Device) -> None:
    """Raise the error of an attribute that upstream cannot read, whatever the expression reads."""
    name = next(name for name, (kind, _) in device.attributes.items() if kind not in READABLE)
    raise SelectorError(f"attribute {name}: unsupported attribute value")


def _evaluated(expression: str, driver: str, device: Device) -> bool:
    if not has_cel():
        raise UndecidedError(f"the selector {one_line(expression)} needs the extra: {CEL_NEEDED}")
    from kubesched_lint.engine.scheduler.devices.selectors.cel import evaluate

    return evaluate(expression, driver, device)
