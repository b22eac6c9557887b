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


def same_values(one: Any, other: Any) -> bool:
    """Whether two values, or collections of them, say the same, whichever records of ``Distinct`` they are."""
    if one is other or type(one) is not type(other):
        return one is other
    if isinstance(one, PartlyCompared | Distinct):
        compared = _compared(type(one))
        return same_values(compared(one), compared(other))
    if isinstance(one, tuple | list):
        return len(one) == len(other) and all(map(same_values, one, other))
    if isinstance(one, Mapping):
        return one.keys() == other.keys() and all(same_values(one[key], other[key]) for key in one)
    if isinstance(one, Struct):
        return all(same_values(getattr(one, name), getattr(other, name)) for name in one.__struct_fields__)
    return bool(one == other)


@cache
def _compared(kind: type[PartlyCompared | Distinct]) -> Callable[[PartlyCompared | Distinct], object]:
    """Return a reader of the fields that count; attrgetter is written in C."""
    names = [name for name in kind.__struct_fields__ if name not in kind.uncompared]
    return attrgetter(*names)
