"""Find positions in a text that ``fast_reader`` has read. Only the lines on the path to the value are visited."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import repeat

from msgspec import Struct

from kubesched_lint.engine.base.places import Path
from kubesched_lint.sources.manifests.yaml.fast_reader import (
    HEADS,
    LINES,
    NOTHING,
    TAILS,
    NotPlainError,
    Special,
    literal_lines,
    tail_match,
)
from kubesched_lint.sources.manifests.yaml.flow import Part, read_flow

_NUMERIC = frozenset("+-.0123456789")
Range = tuple[int, int, int, int]
"""Line, column, end line, end column, all from 0."""


class _Entry(Struct, frozen=True):
    """A member of a mapping or list: the position of its key, and where the text of its value begins.

    ``number`` is its line, ``column`` that of its key or dash, ``inner`` that of a key behind the dash (or -1), ``key``
    is None for an item, ``at`` the column behind the colon or dash.
    """

    number: int
    column: int
    key: str | None
    named: Range
    at: int
    inner: int = -1


_Start = tuple[int, int]
"""Line and column in which a block begins."""
Items = dict[tuple[int, int], list[int]]
"""Line and column in which a list begins → the line of each of its items."""


def find(lines: list[str], path: Path, known: Items | None = None) -> tuple[Range, Range | None]:
    """Return the ranges of the value at ``path`` and of its key (None in a list); of the nearest parent if it is
    absent. ``known`` caches the items of lists between calls for the same lines: a ``kind: List`` may hold
    thousands.
    """
    known = {} if known is None else known
    number, column = _next(lines, 1 if lines[0].startswith("---") else 0)
    begun, current, start = _hurried(lines, path, (number, column))
    for depth, step in enumerate(path[begun:], begun):
        entry = None if start is None else _member(lines, *start, step, known)
        if entry is None:
            return _place(lines, current, number, column), None
        special = _special(lines, entry)
        if special is not None and special.value is not None:
            return _in_flow(lines, entry, path[depth + 1 :], None if isinstance(step, int) else entry.named)
        current = entry
        start = _inside(lines, entry) if special is NOTHING or entry.inner >= 0 else None
    named = current.named if current is not None and current.key is not None else None
    return _place(lines, current, number, column), named


def _place(lines: list[str], entry: _Entry | None, number: int, column: int) -> Range:
    """Return the range of an entry's value, or of the whole document's block. Finding its end is the expensive part."""
    return _block(lines, number, column) if entry is None else _range(lines, entry)


def _member(lines: list[str], number: int, column: int, step: str | int, known: Items) -> _Entry | None:
    if isinstance(step, str):
        # "on" and "0x1" are written differently from the keys that they mean: "true" and "1".
        written = "" if step in ("true", "false") or step[:1] in _NUMERIC else step
        for below in _members(lines, number, column, written):
            entry = _entry(lines, below, column)
            if entry.key == step:
                return entry
        return None
    begin = number, column
    if begin not in known:
        is_list = lines[number].startswith("- ", column)
        known[begin] = list(_members(lines, number, column)) if is_list else []
    return _entry(lines, known[begin][step], column) if 0 <= step < len(known[begin]) else None


def _hurried(lines: list[str], path: Path, start: _Start | None) -> tuple[int, _Entry | None, _Start | None]:
    """Follow the first steps of a path while a line is ``key:`` alone, without a visit to each line before it.

    Return how many steps were followed, the entry of the last one, and where its block begins.
    """
    current = None
    for depth, step in enumerate(path[:-1]):
        entry = None if start is None or isinstance(step, int) else _alone(lines, *start, step)
        if entry is None:
            return depth, current, start
        current, start = entry, _inside(lines, entry)
    return len(path[:-1]), current, start


def _alone(lines: list[str], number: int, column: int, key: str) -> _Entry | None:
    """Return the member whose line is ``key:`` in the mapping that begins here; None if that is not certain at once."""
    margin = " " * column
    if HEADS[margin + key] != (2 * column, -1, key) or lines[number].startswith("- ", column):
        # A key written differently from its meaning, or a list, which does not contain later keys in its column.
        return None
    try:
        below = lines.index(f"{margin}{key}:", number)
    except ValueError:
        return None
    if column and not all(map(str.startswith, lines[number + 1 : below], repeat(margin))):
        return None  # the block may have ended before
    end = column + len(key)
    return _Entry(below, column, key, (below, column, below, end), end + 1)


def _next(lines: list[str], number: int) -> tuple[int, int]:
    """Return the next line that is neither blank nor a comment, and its column; (number of lines, -1) at the end."""
    while number < len(lines):
        bare = lines[number].lstrip(" ")
        if bare and bare[0] != "#":
            return number, len(lines[number]) - len(bare)
        number += 1
    return number, -1


def _members(lines: list[str], number: int, column: int, key: str = "") -> Iterator[int]:
    """Yield the lines of the members of the block that begins here; with ``key`` only lines that may hold it."""
    is_list = lines[number].startswith("- ", column)
    sought = (key, '"', "'") if key else ""
    if lines[number].startswith(sought, column):
        yield number
    deeper = " " * (column + 1)
    for below in range(number + 1, len(lines)):
        line = lines[below]
        if line.startswith(deeper):
            continue
        bare = line.lstrip(" ")
        if not bare or bare[0] == "#":
            continue
        at = len(line) - len(bare)
        is_item = bare.startswith("- ")
        if at < column or (is_list and not is_item):
            return
        # A dash in the column of a mapping's keys begins an item of the list under the key.
        if (is_list or not is_item) and bare.startswith(sought):
            yield below


def _entry(lines: list[str], number: int, column: int) -> _Entry:
    line = lines[number]
    before, colon, _ = line.partition(": ")
    head = HEADS[before] if colon else None
    _, inside, key = LINES[line][:3] if head is None else head
    inner = inside >> 1
    if head is None:
        before = line[: line.index(":", max(column, inner))] if key is not None else ""
    if line.startswith("- ", column) and (key is None or inner > column):
        if key is None:
            return _Entry(number, column, None, (0, 0, 0, 0), column + 2)
        return _Entry(number, column, None, (0, 0, 0, 0), inner, inner)
    return _Entry(number, column, key, (number, column, number, len(before)), len(before) + 1)


def _inside(lines: list[str], entry: _Entry) -> tuple[int, int] | None:
    """Return the line and column in which the block under an entry begins; None if there is no block."""
    if entry.inner >= 0:
        return entry.number, entry.inner
    number, column = _next(lines, entry.number + 1)
    return (number, column) if _is_beneath(lines, entry, number, column) else None


def _is_beneath(lines: list[str], entry: _Entry, number: int, column: int) -> bool:
    """Return whether the block on this line is the value of the key ``entry``."""
    return column > entry.column or (column == entry.column and lines[number].startswith("- ", column))


def _special(lines: list[str], entry: _Entry) -> Special | None:
    if entry.inner >= 0:
        return None
    tail = TAILS[lines[entry.number][entry.at :]]
    return tail if isinstance(tail, Special) else None


def _range(lines: list[str], entry: _Entry) -> Range:
    """Return the range of the entry's value."""
    number = entry.number
    if entry.inner >= 0:
        return _block(lines, number, entry.inner)
    special = _special(lines, entry)
    line = lines[number]
    if special is NOTHING:
        below, column = _next(lines, number + 1)
        if _is_beneath(lines, entry, below, column):
            return _block(lines, below, column)
        return number, entry.at, number, entry.at
    if special is not None and special.header:
        end, _ = literal_lines(lines, number + 1, entry.column)
        while not lines[end - 1].strip():
            end -= 1
        return number, line.index("|", entry.at), end - 1, len(lines[end - 1])
    if special is not None:
        start, end, _ = read_flow(line[entry.at :])[1]
    else:
        start, end = tail_match(line[entry.at :])
    return number, entry.at + start, number, entry.at + end


def _block(lines: list[str], number: int, column: int) -> Range:
    """Return the range from the first member to the end of the last."""
    if column < 0:
        return 0, 0, 0, 0
    last = number
    for last in _members(lines, number, column):  # noqa: B007 - the last one is wanted
        pass
    return (number, column, *_range(lines, _entry(lines, last, column))[2:])


def _in_flow(lines: list[str], entry: _Entry, path: Path, named: Range | None) -> tuple[Range, Range | None]:
    number, at = entry.number, entry.at
    part: Part = read_flow(lines[number][at:])[1]
    for step in path:
        inside = part[2]
        if isinstance(step, int):
            if not isinstance(inside, list) or step >= len(inside):
                named = None
                break
            named, part = None, inside[step]
        else:
            if not isinstance(inside, dict) or step not in inside:
                named = None
                break
            (start, end), part = inside[step]
            named = (number, at + start, number, at + end)
    return (number, at + part[0], number, at + part[1]), named


__all__ = ["NotPlainError", "Range", "find"]
