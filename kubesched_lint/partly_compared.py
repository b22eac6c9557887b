"""Records that are equal although some fields differ: where an object is written, for example."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from operator import attrgetter
from typing import ClassVar

from msgspec import Struct


class PartlyCompared(Struct, frozen=True, eq=False):
    """A record whose equality and hash leave out the fields ``uncompared``; by default, where it is written."""

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


@cache
def _compared(kind: type[PartlyCompared]) -> Callable[[PartlyCompared], object]:
    """Return a reader of the fields that count; attrgetter is written in C."""
    names = [name for name in kind.__struct_fields__ if name not in kind.uncompared]
    return attrgetter(*names)
