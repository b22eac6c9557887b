"""Evaluate a selector with cel-cpp (``cel-expr-python``); import it only when an expression needs it.

Mirrors DeviceMatches of ``dynamic-resource-allocation/cel/compile.go`` (v1.36).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Any

from cel_expr_python import cel

from kubesched_lint.engine.model.devices.cel.environment import environments
from kubesched_lint.engine.model.devices.cel.functions import quantity_of, semver_of
from kubesched_lint.engine.model.devices.devices import LISTS, Attribute, Device
from kubesched_lint.engine.scheduler.devices.failures import SelectorError, UndecidedError, one_line

_MISSING = "NOT_FOUND: Key not found in map : "
_ASKS_FOR_DOMAIN = re.compile(r"\bin\s+device\.(?:attributes|capacity)\b(?!\s*\[)")
_TYPE = cel.Type


def evaluate(expression: str, driver: str, device: Device) -> bool:
    """Return the value of an expression for a device. Raises SelectorError and UndecidedError."""
    program = _compiled(expression)
    values = _values(driver, device)
    while True:
        try:
            evaluated = program.eval(environments()[1].Activation(values))
        except RuntimeError as error:  # too many steps of a loop
            raise UndecidedError(f"the selector {one_line(expression)} cannot be evaluated here: {error}") from None
        value = evaluated.plain_value()
        if isinstance(value, bool):
            return value
        if evaluated.type() != _TYPE.ERROR:
            raise UndecidedError(f"the selector {one_line(expression)} yields no boolean")
        _explain(str(value), expression, values)


def _explain(error: str, expression: str, values: Mapping[str, Any]) -> None:
    """Raise the error of an evaluation, unless it names a domain without attributes: upstream has an empty map there.

    Such a domain is added to ``values`` for the next try. But it stays absent for ``in``, so an expression that also
    asks whether a domain is there is undecided.
    """
    if error.startswith(_MISSING):
        key = error.removeprefix(_MISSING).strip('"')
        domains: tuple[dict[str, Any], ...] = values["device.attributes"], values["device.capacity"]
        is_written = f'"{key}"' in expression or f"'{key}'" in expression
        if not is_written or all(key in each for each in domains):
            raise SelectorError(f"no such key: {key}")
        if _ASKS_FOR_DOMAIN.search(expression):
            raise UndecidedError(f"the selector {one_line(expression)} indexes a domain and asks for one")
        for each in domains:
            each.setdefault(key, {})
        return
    if "divide by zero" in error:
        raise SelectorError("division by zero")
    raise UndecidedError(f"the selector {one_line(expression)} fails: {error.partition(': ')[2] or error}")


def _values(driver: str, device: Device) -> dict[str, Any]:
    attributes: dict[str, dict[str, Any]] = {}
    for name, attribute in device.attributes.items():
        domain, own = _qualified(name, driver)
        attributes.setdefault(domain, {})[own] = _plain(attribute)
    capacity: dict[str, dict[str, Any]] = {}
    for name, amount in device.capacity.items():
        domain, own = _qualified(name, driver)
        capacity.setdefault(domain, {})[own] = quantity_of(amount.value)
    return {
        "device.driver": driver,
        "device.allowMultipleAllocations": device.is_shared,
        "device.attributes": attributes,
        "device.capacity": capacity,
    }


def _qualified(name: str, driver: str) -> tuple[str, str]:
    domain, slash, own = name.partition("/")
    return (domain, own) if slash else (driver, name)


def _plain(attribute: Attribute) -> Any:
    kind, value = attribute
    if isinstance(value, tuple):
        return [_plain((LISTS[kind], each)) for each in value]
    return semver_of(str(value)) if kind == "version" else value


@cache
def _compiled(expression: str) -> Any:
    checker, runner = environments()
    try:
        return runner.deserialize(checker.compile(expression).serialize())
    except RuntimeError as error:
        why = _first(str(error)).partition(" expecting {")[0]
        raise UndecidedError(f"the selector {one_line(expression)} cannot be evaluated here: {why}") from None


def _first(error: str) -> str:
    return error.partition("\n")[0].partition("ERROR: <input>:")[2] or error.partition("\n")[0]
