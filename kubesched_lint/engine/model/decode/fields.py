"""Typed access to plain values: an absent or null value is None, a wrong type is one error with its path."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from kubesched_lint.engine.base.places import Path
from kubesched_lint.engine.base.text import one_line
from kubesched_lint.engine.model.labels import Requirement, Selector
from kubesched_lint.engine.model.limits import MOST_SHARED
from kubesched_lint.engine.model.quantity import QuantityError, resource_value

Value = dict[str, Any]
T = TypeVar("T")

_PATHS: dict[Path, Path] = {}
_AMOUNTS: dict[tuple[tuple[str, int], ...], dict[str, int]] = {}
_NO_LABELS: dict[str, str] = {}


def path_to(*steps: str | int) -> Path:
    """Return the path with these steps; equal paths are one tuple, because thousands of objects hold them."""
    if len(_PATHS) >= MOST_SHARED:
        _PATHS.clear()
    return _PATHS.setdefault(steps, steps)


def shared(amounts: dict[str, int]) -> dict[str, int]:
    """Return an equal map that other objects may hold as well: nobody may change it."""
    if len(_AMOUNTS) >= MOST_SHARED:
        _AMOUNTS.clear()
    return _AMOUNTS.setdefault(tuple(amounts.items()), amounts)


class DecodeError(ValueError):
    """A value that the API server could not decode either; ``path`` is its position."""

    def __init__(self, path: Path, message: str) -> None:
        super().__init__(message)
        self.path = path
        self.message = one_line(message)


def words(path: Path) -> str:
    """Return a path as the API server writes it: ``spec.template.spec.containers[0].name``."""
    text = ""
    for step in path:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else step
    return text


def wrong(path: Path, expected: str, value: object) -> DecodeError:
    return DecodeError(path, f"{words(path) or 'the document'}: expected {expected}, found {describe(value)}")


def describe(value: object) -> str:
    match value:
        case bool():
            return f"the boolean {str(value).lower()}"
        case str():
            return f"the string {value[:40]!r}"
        case int() | float():
            return f"the number {shortened(value)}"
        case list():
            return "a list"
        case dict():
            return "a mapping"
    return "null" if value is None else f"a {type(value).__name__}"


def shortened(number: float) -> str:
    """Return a number for a message; Python refuses to print integers of more than some thousand digits."""
    if isinstance(number, int) and abs(number) >= 10**40:
        return f"about {'-' if number < 0 else ''}2^{abs(number).bit_length() - 1}"
    return str(number)


def mapping(value: Value, key: str, path: Path) -> Value:
    written = value.get(key)
    if written is None:
        return {}
    if not isinstance(written, dict):
        raise wrong((*path, key), "a mapping", written)
    return written


def optional_mapping(value: Value, key: str, path: Path) -> Value | None:
    return None if value.get(key) is None else mapping(value, key, path)


def text(value: Value, key: str, path: Path, default: str = "") -> str:
    written = value.get(key)
    if written is None:
        return default
    if not isinstance(written, str):
        raise wrong((*path, key), "a string", written)
    return written


_INT32 = (1 << 31) - 1


def count(value: Value, key: str, path: Path) -> int | None:
    """Return a number of things; the nearest that there can be for one that every API server refuses."""
    written = integer(value, key, path)
    return None if written is None else min(max(written, 0), _INT32)


def integer(value: Value, key: str, path: Path) -> int | None:
    written = value.get(key)
    if written is None or type(written) is int:
        return written
    if isinstance(written, bool) or not isinstance(written, (int, float)) or written != written // 1:
        raise wrong((*path, key), "an integer", written)
    return int(written)


def boolean(value: Value, key: str, path: Path, default: bool = False) -> bool:
    written = value.get(key)
    if written is None:
        return default
    if not isinstance(written, bool):
        raise wrong((*path, key), "true or false", written)
    return written


def int_or_percent(value: Value, key: str, path: Path) -> int | str | None:
    """Return an IntOrString as written."""
    written = value.get(key)
    if isinstance(written, str):
        return written
    return integer(value, key, path)


def items(value: Value, key: str, path: Path) -> Iterator[tuple[Value, Path]]:
    """Yield the mappings of a list with their paths; null elements count as empty, as for the API server."""
    written = value.get(key)
    if written is None:
        return
    list_path = (*path, key)
    if not isinstance(written, list):
        raise wrong(list_path, "a list", written)
    for i, item in enumerate(written):
        if item is None:
            item = {}
        elif not isinstance(item, dict):
            raise wrong((*list_path, i), "a mapping", item)
        yield item, path_to(*list_path, i)


def each(make: Callable[[Value, Path], T], value: Value, key: str, path: Path) -> tuple[T, ...]:
    """Return ``make`` of each mapping in a list; a shortcut for absent lists, as most lists of a pod are."""
    if value.get(key) is None:
        return ()
    return tuple([make(item, item_path) for item, item_path in items(value, key, path)])


def texts(value: Value, key: str, path: Path) -> tuple[str, ...]:
    written = value.get(key)
    if written is None:
        return ()
    if not isinstance(written, list):
        raise wrong((*path, key), "a list of strings", written)
    for item in written:
        if not isinstance(item, str):
            raise wrong((*path, key, written.index(item)), "a string", item)
    return tuple(written)


def labels(value: Value, key: str, path: Path) -> dict[str, str]:
    """Return a map of strings to strings; null values count as empty strings, as for the API server."""
    written = mapping(value, key, path)
    if not written:
        return _NO_LABELS
    for name, item in written.items():
        if type(name) is not str or type(item) is not str:
            return _odd_labels(written, (*path, key))
    return written


def _odd_labels(value: Value, path: Path) -> dict[str, str]:
    for name, item in value.items():
        if not isinstance(name, str):
            raise wrong((*path, name), "a string as the key", name)
        if not isinstance(item, str) and item is not None:
            raise wrong((*path, name), "a string", item)
    return {name: item or "" for name, item in value.items()}


def resources(value: Value, key: str, path: Path) -> dict[str, int]:
    """Return a ResourceList as integers: millicores for cpu, whole units for all else.

    A negative amount, which every API server refuses, is none, so that nobody has to count with it.
    """
    amounts: dict[str, int] = {}
    if value.get(key) is None:
        return amounts
    for name, amount in mapping(value, key, path).items():
        if not isinstance(amount, (str, int, float)) or isinstance(amount, bool):
            raise wrong((*path, key, name), "a quantity", amount)
        try:
            amounts[name] = max(resource_value(name, amount), 0)
        except QuantityError as error:
            amount_path = (*path, key, name)
            raise DecodeError(amount_path, f"{words(amount_path)}: {str(amount)[:40]!r}: {error}") from None
    return amounts


def requirement(item: Value, path: Path) -> Requirement:
    return Requirement(text(item, "key", path), text(item, "operator", path), texts(item, "values", path), path)


def selector(value: Value, key: str, path: Path) -> Selector | None:
    """Return a LabelSelector; None for null, which selects nothing."""
    written = optional_mapping(value, key, path)
    if written is None:
        return None
    selector_path = path_to(*path, key)
    equal = labels(written, "matchLabels", selector_path)
    # metav1.LabelSelectorAsSelector sorts requirements; the order does not affect the result.
    wanted = [Requirement(k, "In", (v,), path_to(*selector_path, "matchLabels", k)) for k, v in equal.items()]
    wanted += [requirement(item, at) for item, at in items(written, "matchExpressions", selector_path)]
    return Selector(tuple(wanted), selector_path)
