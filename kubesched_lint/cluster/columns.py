"""The values under one key in mappings that many items have: few keys are looked up, more are read in one pass."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property

from kubesched_lint.hints import Any, Generic, TypeVar

T = TypeVar("T")
_FEW = 16
"""So many keys are worth a look at each mapping: most runs ask for fewer, and to read all costs as much as a dozen."""


class Columns(Generic[T]):
    """``read`` returns the mapping of an item."""

    def __init__(self, items: Sequence[Any], read: Callable[[Any], Mapping[str, T] | None]) -> None:
        self._items = items
        self._read = read
        self._few: set[str] = set()

    def carriers(self, key: str) -> Sequence[tuple[int, T]] | None:
        """Return (place, value) of each item that has the key; None for one of the first keys: look at each item."""
        if len(self._few) < _FEW:
            self._few.add(key)
        return None if key in self._few else self._all.get(key, ())

    @cached_property
    def _all(self) -> Mapping[str, Sequence[tuple[int, T]]]:
        found: dict[str, list[tuple[int, T]]] = {}
        for place, row in enumerate(map(self._read, self._items)):
            for key, value in row.items() if row else ():
                found.setdefault(key, []).append((place, value))
        return found
