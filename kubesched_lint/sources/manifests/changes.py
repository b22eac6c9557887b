"""Changes to an object, given by paths. The same change applies to the object's values and to its text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

from msgspec import Struct

from kubesched_lint.engine.base.places import Path


class ChangeError(Exception):
    """The change is not possible here. ``str()`` gives the reason, as the end of the sentence "not changed: …"."""


class Put(Struct, frozen=True):
    """Set the value at ``at`` to ``value``.

    Missing or null mappings on the path are created. A new key is inserted after the last existing key that ``after``
    names, or at the end of the mapping.
    """

    at: Path
    value: Any
    after: tuple[str, ...] = ()


class Append(Struct, frozen=True):
    """Append ``item`` to the list at ``at``. A missing or null list is created."""

    at: Path
    item: Any
    after: tuple[str, ...] = ()


class Rename(Struct, frozen=True):
    """Rename the key at ``at`` to ``key``; its value stays."""

    at: Path
    key: str


class Remove(Struct, frozen=True):
    """Remove the value at ``at``, and each enclosing mapping or list that becomes empty."""

    at: Path


Change: TypeAlias = Put | Append | Rename | Remove


def applied(value: Any, change: Change) -> Any:
    """Return the value after the change; the input is not modified. Raises ChangeError."""
    match change:
        case Put(at, new):
            return _put(value, at, new)
        case Append(at, item):
            return _put(value, at, [*(_at(value, at) or ()), item])
        case Rename(at, key):
            return _renamed(value, at, key)
        case Remove(at):
            return _without(value, pruned(value, at))


def pruned(value: Any, at: Path) -> Path:
    """Return the path of the outermost value that contains only what is at ``at``.

    Raises ChangeError if ``at`` is absent.
    """
    holders = list(_along(value, at))
    if len(holders) < len(at) or not _has(holders[-1], at[-1]):
        raise ChangeError("nothing is there")
    length = len(at)
    while length > 1 and len(holders[length - 1]) == 1:
        length -= 1
    return at[:length]


def _along(value: Any, at: Path) -> Iterator[Any]:
    """Yield the mapping or list that each step of the path enters, as long as the step exists."""
    for step in at:
        yield value
        if not _has(value, step):
            return
        value = value[step]


def _has(holder: Any, step: str | int) -> bool:
    if isinstance(step, int):
        return isinstance(holder, list) and 0 <= step < len(holder)
    return isinstance(holder, dict) and step in holder


def _at(value: Any, at: Path) -> Any:
    """Return the value at a path; None if the path does not exist."""
    for step in at:
        if not _has(value, step):
            return None
        value = value[step]
    return value


def _put(value: Any, at: Path, new: Any) -> Any:
    if not at:
        return new
    step, rest = at[0], at[1:]
    if isinstance(step, int):
        if not _has(value, step):
            raise ChangeError("nothing is there")
        return [*value[:step], _put(value[step], rest, new), *value[step + 1 :]]
    if value is None:
        value = {}
    if not isinstance(value, dict):
        raise ChangeError("its parent is not a mapping")
    return {**value, step: _put(value.get(step), rest, new)}


def _renamed(value: Any, at: Path, key: str) -> Any:
    holder = _at(value, at[:-1])
    if not _has(holder, at[-1]) or not isinstance(holder, dict):
        raise ChangeError("nothing is there")
    if key in holder:
        raise ChangeError(f"{key} is there already")
    return _put(value, at[:-1], {key if name == at[-1] else name: held for name, held in holder.items()})


def _without(value: Any, at: Path) -> Any:
    holder = _at(value, at[:-1])
    if isinstance(holder, list):
        left: Any = [item for number, item in enumerate(holder) if number != at[-1]]
    else:
        left = {key: held for key, held in holder.items() if key != at[-1]}
    return _put(value, at[:-1], left)
