"""Kubernetes' CEL functions for quantities and semantic versions, on maps of strings.

Mirrors ``apiserver/pkg/cel/library/quantity.go`` and ``semverlib.go`` (v1.36). A function that raises makes the
expression fail. Equal values are equal maps, so ``==`` needs no function.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from kubesched_lint.engine.model.quantity import QuantityError, nanos

Opaque = Mapping[str, str]
_QUANTITY, _SEMVER = "quantity", "semver"
_NUMBER = r"(0|[1-9][0-9]*)"
_IDENTIFIER = r"(?:0|[1-9][0-9]*|[0-9]*[A-Za-z-][0-9A-Za-z-]*)"
_FORM = re.compile(
    rf"{_NUMBER}\.{_NUMBER}\.{_NUMBER}(?:-({_IDENTIFIER}(?:\.{_IDENTIFIER})*))?(?:\+[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?"
)


def quantity_of(amount: Fraction) -> Opaque:
    return {_QUANTITY: str(amount)}


def semver_of(text: str) -> Opaque:
    """Return a version without its build metadata, which no comparison reads. Raises ValueError."""
    if not _FORM.fullmatch(text):
        raise ValueError(f"{text[:40]!r} is no semantic version")
    return {_SEMVER: text.partition("+")[0]}


def _quantity(text: str) -> Opaque:
    return quantity_of(Fraction(*nanos(text)))


def _is_quantity(text: str) -> bool:
    try:
        nanos(text)
    except QuantityError:
        return False
    return True


def _amount(value: Opaque | int) -> Fraction:
    return Fraction(value) if isinstance(value, int) else Fraction(value[_QUANTITY])


def _semver(text: str, normalize: bool = False) -> Opaque:
    return semver_of(_normalized(text) if normalize else text)


def _is_semver(text: str, normalize: bool = False) -> bool:
    return bool(_FORM.fullmatch(_normalized(text) if normalize else text))


def _normalized(text: str) -> str:
    """Return a version with all three numbers, without a leading ``v`` and without leading zeros."""
    core, mark, rest = re.fullmatch(r"v?([^-+]*)([-+]?)(.*)", text, re.DOTALL).groups()  # type: ignore[union-attr]
    numbers = [number.lstrip("0") or "0" for number in core.split(".")]
    return ".".join(numbers + ["0"] * (3 - len(numbers))) + mark + rest


def _numbers(version: Opaque) -> list[int]:
    return [int(number) for number in version[_SEMVER].partition("-")[0].split(".")]


def _rank(value: Opaque) -> Any:
    """Return what orders quantities among each other, and versions by semver 2.0.0."""
    if _QUANTITY in value:
        return _amount(value)
    _, _, suffix = value[_SEMVER].partition("-")
    identifiers = [(0, int(p), "") if p.isdigit() else (1, 0, p) for p in suffix.split(".")] if suffix else []
    return _numbers(value), not suffix, identifiers


def _compare(left: Opaque, right: Opaque) -> int:
    if left.keys() != right.keys():
        raise ValueError("no such overload")
    ours, theirs = _rank(left), _rank(right)
    return int(ours > theirs) - int(ours < theirs)


def _integer(value: Opaque) -> int:
    amount = _amount(value)
    if not _is_integer(value):
        raise ValueError("cannot convert value to integer")
    return int(amount)


def _is_integer(value: Opaque) -> bool:
    amount = _amount(value)
    return amount.denominator == 1 and -(1 << 63) <= amount < 1 << 63


def _includes(target: Any, value: Any) -> bool:
    """Return whether a list has a value, or a single value is that one; true is not 1 (includesFunc)."""
    members = target if isinstance(target, list) else [target]
    return any(each == value and isinstance(each, bool) is isinstance(value, bool) for each in members)


FUNCTIONS: Mapping[str, tuple[Callable[..., Any], tuple[str, ...]]] = {
    "quantity": (_quantity, ("s>Q",)),
    "isQuantity": (_is_quantity, ("s>b",)),
    "sign": (lambda q: (_amount(q) > 0) - (_amount(q) < 0), (".Q>i",)),
    "isInteger": (_is_integer, (".Q>b",)),
    "asInteger": (_integer, (".Q>i",)),
    "asApproximateFloat": (lambda q: float(_amount(q)), (".Q>d",)),
    "add": (lambda q, other: quantity_of(_amount(q) + _amount(other)), (".QQ>Q", ".Qi>Q")),
    "sub": (lambda q, other: quantity_of(_amount(q) - _amount(other)), (".QQ>Q", ".Qi>Q")),
    "isGreaterThan": (lambda a, b: _compare(a, b) > 0, (".QQ>b", ".VV>b")),
    "isLessThan": (lambda a, b: _compare(a, b) < 0, (".QQ>b", ".VV>b")),
    "compareTo": (_compare, (".QQ>i", ".VV>i")),
    "semver": (_semver, ("s>V", "sb>V")),
    "isSemver": (_is_semver, ("s>b", "sb>b")),
    "major": (lambda v: _numbers(v)[0], (".V>i",)),
    "minor": (lambda v: _numbers(v)[1], (".V>i",)),
    "patch": (lambda v: _numbers(v)[2], (".V>i",)),
    "includes": (_includes, tuple(f".{target}{value}>b" for target in "lsibV" for value in "sibV")),
}
"""Name → its implementation, and its signatures: a dot for a method, the parameters, ``>`` and the result.

``Q`` is a quantity, ``V`` a version, ``s``, ``i``, ``b`` and ``d`` are string, int, bool and double, ``l`` is a list:
the runner finds no method of ``dyn``.
"""
