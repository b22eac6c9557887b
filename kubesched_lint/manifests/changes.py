"""What to change in an object, told by paths: the same change can be made to its values and to its text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

from kubesched_lint.findings import Path
from kubesched_lint.record import record


class ChangeError(Exception):
    """A change that cannot be made here; ``str()`` of it says why, to end the sentence "not changed: …"."""


@record
class Put:
    """The value at ``at`` becomes ``value``; mappings on the way that are absent or null are made.

    What is new in a mapping comes behind the last of its keys that ``after`` names, or at its end.
    """

    at: Path
    value: Any
    after: tuple[str, ...] = ()


@record
class Append:
    """``item`` becomes the last of the list at ``at``, which is made where it is absent or null."""

    at: Path
    item: Any
    after: tuple[str, ...] = ()


@record
class Rename:
    """The key at ``at`` is written ``key``; its value stays."""

    at: Path
    key: str


@record
class Remove:
    """What is at ``at`` goes, and with it every mapping or list around it that held nothing else."""

    at: Path


Change: TypeAlias = Put | Append | Rename | Remove


def applied(value: Any, change: Change) -> Any:
    """The value after a change; the one given stays as it is. Raises ChangeError."""
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
    """The outermost place that holds nothing but what is at ``at``. Raises ChangeError where nothing is."""
    holders = list(_along(value, at))
    if len(holders) < len(at) or not _has(holders[-1], at[-1]):
        raise ChangeError("nothing is there")
    length = len(at)
    while length > 1 and len(holders[length - 1]) == 1:
        length -= 1
    return at[:length]


def _along(value: Any, at: Path) -> Iterator[Any]:
    """The mapping or list in which each step of the path is taken, as far as there is one."""
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
    """The value at a path; None where there is none."""
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
        raise ChangeError("it stands in no mapping")
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
