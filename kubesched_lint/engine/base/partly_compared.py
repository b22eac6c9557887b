"""Records that are equal although some fields differ, and records that differ although all fields are equal."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from operator import attrgetter
from typing import Any, ClassVar

from msgspec import Struct


class PartlyCompared(Struct, frozen=True, eq=False):
    """A record whose equality and hash leave out the fields ``uncompared``: by default, where it is written."""

    uncompared: ClassVar[tuple[str, ...]] = ("path", "source")

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        compared = _compared(type(self))
        return compared(self) == compared(other)

    def __ne__(self, other: object) -> bool:  # that of Struct does not ask __eq__
        return not self == other

    def __hash__(self) -> int:
        return hash(_compared(type(self))(self))


class Distinct(Struct, frozen=True, eq=False):
    """A record that equals only itself, and so may be a key: two definitions of one object are two."""

    uncompared: ClassVar[tuple[str, ...]] = ("path", "source")


def same_values(first: Any, other: Any) -> bool:
    """Whether two values, or collections of them, say the same, whichever records of ``Distinct`` they are."""
    if first is other or type(first) is not type(other):
        return first is other
    if isinstance(first, PartlyCompared | Distinct):
        compared = _compared(type(first))
        return same_values(compared(first), compared(other))
    if isinstance(first, tuple | list):
        return len(first) == len(other) and all(map(same_values, first, other))
    if isinstance(first, Mapping):
        return first.keys() == other.keys() and all(same_values(first[key], other[key]) for key in first)
    if isinstance(first, Struct):
        return all(same_values(getattr(first, name), getattr(other, name)) for name in first.__struct_fields__)
    return bool(first == other)


@cache
def _compared(kind: type[PartlyCompared | Distinct]) -> Callable[[PartlyCompared | Distinct], object]:
    """Return a reader of the fields that count; attrgetter is written in C."""
    names = [name for name in kind.__struct_fields__ if name not in kind.uncompared]
    return attrgetter(*names)
