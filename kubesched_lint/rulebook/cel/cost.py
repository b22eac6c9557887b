"""Bound the cost of an expression on given values, from its syntax tree, before it runs.

cel-cpp ends an evaluation after 10,000 turns of all loops together, and parses at most 32 levels. Neither bounds the
text that each turn handles: ``[s].map(a, a + a)`` twenty times in a row makes a megabyte of every byte. So this module
bounds the bytes that an expression can touch: the items of a loop are divided among its turns, everything else is
touched in each turn, and a concatenation is as large as its parts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from msgspec import Struct

from kubesched_lint.engine.base.work import spend
from kubesched_lint.limits import LARGEST_WHOLE
from kubesched_lint.rulebook.cel.syntax import first, number, parts, tree_of, values_of
from kubesched_lint.rulebook.limits import MOST_TURNS

_PER_STEP = 1_000
"""Touched bytes per unit of ``work``."""
_FREE = 64
"""An expression needs no measuring if it touches at most this many times its values, taken as 1 KiB."""
_REGULAR = 8
"""Cost of a regular expression per byte, relative to a comparison."""

_ID = 2
_IDENT, _SELECT, _CALL, _LIST, _STRUCT, _LOOP, _CONST = 4, 5, 6, 7, 8, 9, 3
_PRIMITIVE = 3
_NUMBERS = frozenset({1, 2, 3, 4})
"""Primitive types without a length: bool, int, uint, double."""


Term = tuple[bool, int]
"""(whether it scales with the given values, else with the expression's own texts; the power of the turns)."""


class Size(dict[Term, float]):
    """The factor of each term: the size is at most ``sum(factor * bytes * turns ** power)``."""

    def plus(self, other: Size, weight: float = 1) -> Size:
        return Size({term: self.get(term, 0) + weight * other.get(term, 0) for term in {*self, *other}})

    def in_each_of(self, loops: int) -> Size:
        return Size({(shown, power + loops): factor for (shown, power), factor in self.items()})

    def at(self, shown: int, turns: int) -> float:
        times = [1.0, *(min(float(turns) ** power, MOST_TURNS) for power in range(1, 10))]
        return sum(
            factor * (shown if is_shown else 1) * times[min(max(power, 0), 9)]
            for (is_shown, power), factor in self.items()
        )


_SHOWN, _NOTHING = Size({(True, 0): 1.0}), Size()
_GATHERED = Size()
"""Size 0 too, for the result of a macro: each turn appends to it without a copy."""


class Cost(Struct, frozen=True):
    """Bytes that an expression can touch. ``written``: items in its own lists; ``additions``: joins of lists."""

    touched: Size
    additions: int
    written: int

    @property
    def is_free(self) -> bool:
        return all(power <= 0 for _, power in self.touched) and self.touched.at(1 << 10, 1) <= _FREE << 10

    def bytes_of(self, values: Mapping[str, Any]) -> int:
        """Return an upper bound of the bytes touched on these values."""
        shown, longest = _measured(values)
        turns = min(MOST_TURNS, (longest + self.written) * (self.additions + 1))
        return int(self.touched.at(shown, turns))

    def pay(self, values: Mapping[str, Any]) -> int:
        """Spend the cost on these values. Return the bytes above ``LARGEST_WHOLE``, else 0."""
        needed = self.bytes_of(values)
        spend(min(needed, LARGEST_WHOLE) // _PER_STEP)
        return max(0, needed - LARGEST_WHOLE)


def cost_of(serialized: bytes) -> Cost:
    """The cost of a checked expression, given as serialized ``CheckedExpr``."""
    tree, types = tree_of(serialized)
    walk = _Walk({id_: number(type_, _PRIMITIVE) for id_, type_ in types.items()})
    walk.visit(tree, {}, 0)
    return Cost(walk.touched, walk.additions, walk.written)


class _Walk:
    """Adds up the touched bytes; ``visit`` returns the size of a value."""

    def __init__(self, primitives: Mapping[int, int]) -> None:
        """``primitives``: id of an expression → its primitive type; 0 for lists, maps and others."""
        self.touched = _SHOWN  # all given values are converted to CEL's values once
        self.additions = 0
        self.written = 0
        self._primitives = primitives

    def visit(self, expr: bytes, around: Mapping[str, Size], loops: int) -> Size:
        size = _NOTHING
        for kind, value in parts(expr):
            if isinstance(value, bytes):
                size = self._sized(expr, kind, value, around, loops)
        return _NOTHING if self._primitive(expr) in _NUMBERS else size

    def _primitive(self, expr: bytes) -> int:
        return self._primitives.get(number(expr, _ID), 0)

    def _sized(self, expr: bytes, kind: int, value: bytes, around: Mapping[str, Size], loops: int) -> Size:
        if kind == _CONST:
            return Size({(False, 0): float(len(value))})
        if kind == _IDENT:
            return around.get(first(parts(value), 1).decode(), _SHOWN)
        if kind == _SELECT:
            return self.visit(first(parts(value), 1), around, loops)
        if kind == _CALL:
            return self._called(value, around, loops, self._primitive(expr) == 0)
        if kind == _LOOP:
            return self._looped(value, around, loops)
        inside = list(values_of(value, 1) if kind == _LIST else _entries(value) if kind == _STRUCT else ())
        self.written += len(inside)
        return self._sum(inside, around, loops)

    def _called(self, call: bytes, around: Mapping[str, Size], loops: int, is_list: bool) -> Size:
        name = first(parts(call), 2).decode()
        target = self._sum(values_of(call, 1), around, loops)
        sizes = [self.visit(argument, around, loops) for argument in values_of(call, 3)]
        # Two lists are joined; a macro that appends an item to its result does not count.
        self.additions += name == "_+_" and is_list and sizes[0] is not _GATHERED
        if name == "_[_]":
            return sizes[0]
        total = _all_of((target, *sizes))
        self.touched = self.touched.plus(total.in_each_of(loops), _REGULAR if name == "matches" else 1)
        return total

    def _looped(self, loop: bytes, around: Mapping[str, Size], loops: int) -> Size:
        """The size of a macro's result: each turn sees one item and adds to the result."""
        item, result = (first(parts(loop), name).decode() for name in (1, 3))
        over = self.visit(first(parts(loop), 2), around, loops)
        begun = self.visit(first(parts(loop), 4), around, loops)
        inside = {**around, item: over.in_each_of(-1), result: _GATHERED}
        if second := first(parts(loop), 8).decode():
            inside[second] = inside[item]
        self.visit(first(parts(loop), 5), inside, loops + 1)
        gathered = begun.plus(self.visit(first(parts(loop), 6), inside, loops + 1).in_each_of(1))
        return self.visit(first(parts(loop), 7), {**around, result: gathered}, loops)

    def _sum(self, several: Iterable[bytes], around: Mapping[str, Size], loops: int) -> Size:
        return _all_of([self.visit(operand, around, loops) for operand in several])


def _all_of(sizes: Iterable[Size]) -> Size:
    total = _NOTHING
    for size in sizes:
        total = total.plus(size)
    return total


def _entries(struct: bytes) -> Iterator[bytes]:
    for entry in values_of(struct, 2):
        yield from values_of(entry, 3)
        yield from values_of(entry, 4)


def _measured(values: Any) -> tuple[int, int]:
    """Bytes of all texts, and the length of the longest list or map."""
    size = longest = 0
    waiting = [values]
    while waiting:
        value = waiting.pop()
        if isinstance(value, str):
            size += len(value)
        elif isinstance(value, (dict, list, tuple)):
            size += 8
            longest = max(longest, len(value))
            waiting += value
            waiting += value.values() if isinstance(value, dict) else ()
        else:
            size += 8
    return size, longest
