"""The width of text on a terminal, and the part of a line that fits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import accumulate

from msgspec import Struct

from kubesched_lint.printing import cells_of, is_plain, visible

_TAB = "    "
_ELLIPSIS = "…"
_REACH = 2_000
"""Code points of a line that are examined around its mark: a JSON file may be one line of many megabytes."""

_REMEMBERED = 64
"""Windows: findings of neighbours often show the same lines, as those of a circle of workloads do."""


def width(text: str) -> int:
    """Return the number of cells that ``text`` covers."""
    return len(text) if text.isascii() else sum(_cells(character) for character in text)


def _cells(character: str) -> int:
    if character < "\u0300":
        return 1
    from unicodedata import combining, east_asian_width

    if combining(character) or "\ufe00" <= character <= "\ufe0f" or character == "\u200d":
        return 0
    return 2 if east_asian_width(character) in "WF" else 1


class Window(Struct, frozen=True):
    """The printed part of a source line, and the cell of each column."""

    text: str
    starts: Sequence[int]
    """The first cell of each code point of the examined part, and the end of the last one."""
    offset: int
    """Code points before the examined part."""
    first: int
    last: int
    """``text`` has the cells ``first`` to ``last`` of the examined part."""
    shift: int
    """Cells before the text: 1 for an ellipsis if the left was cut."""

    def underline(self, column: int, end_column: int) -> tuple[int, int]:
        """Return (first cell, length in cells) of the code points ``column`` (from 1) to ``end_column`` (exclusive)."""
        start = max(self.first, min(self._cell(column), self.last))
        end = max(self.first, min(self._cell(end_column), self.last))
        return start - self.first + self.shift, max(1, end - start)

    def _cell(self, column: int) -> int:
        return self.starts[max(0, min(column - 1 - self.offset, len(self.starts) - 1))]


@lru_cache(maxsize=_REMEMBERED)
def window(line: str, column: int, end_column: int, room: int) -> Window:
    """Return the part of ``line``, at most ``room`` cells wide, that shows most of ``column`` to ``end_column``."""
    offset = 0
    if len(line) > _REACH:
        offset = max(0, min(column - 1, len(line)) - _REACH // 4)
    part = line[offset : offset + _REACH]
    pieces, starts = _pieces(part)
    total = starts[-1]
    beyond = offset + len(pieces) < len(line)
    whole = Window("".join(pieces), starts, offset, 0, total, 0)
    if total <= room and not offset and not beyond:
        return whole
    start, length = whole.underline(column, end_column)
    if not offset and start + length < room:
        first = 0
    else:  # keeps some text before the mark, because the key of a value is there
        first = max(0, min(start - room // 4, total - room + 1))
    cut_left = first > 0 or offset > 0
    shift = 1 if cut_left else 0
    last = first + room - shift
    cut_right = total > last or beyond
    if cut_right:
        last -= 1
    last = min(last, total)
    text = _between(pieces, starts, first, last)
    return Window(
        f"{_ELLIPSIS if cut_left else ''}{text}{_ELLIPSIS if cut_right else ''}",
        starts, offset, first, last, shift,
    )  # fmt: skip


def _pieces(part: str) -> tuple[Sequence[str], Sequence[int]]:
    """Return what is printed for each character, and the first cell of each and the end of the last one."""
    if is_plain(part):
        return part, range(len(part) + 1)
    pieces = [_TAB if sign == "\t" else cell for sign, cell in zip(part, cells_of(part), strict=True)]
    return pieces, (0, *accumulate(map(width, pieces)))


def _between(pieces: Sequence[str], starts: Sequence[int], first: int, last: int) -> str:
    """Return the pieces in the cells ``first`` to ``last``; blanks replace a piece that is only partly inside."""
    if isinstance(pieces, str):
        return pieces[first:last]
    shown = []
    for piece, start, end in zip(pieces, starts, starts[1:], strict=False):
        if start >= first and end <= last:
            shown.append(piece)
        elif end > first and start < last:
            shown.append(" " * (min(end, last) - max(start, first)))
    return "".join(shown)


def wrapped(text: str, room: int, hang: int = 0) -> Iterator[str]:
    """Yield ``text`` in lines of at most ``room`` cells unless a word is longer; 0 means one line.

    Lines after the first begin with ``hang`` blanks.
    """
    text = visible(text)
    if not room or width(text) <= room:
        yield text
        return
    words = text.lstrip(" ")
    line = text[: len(text) - len(words)]
    taken, is_empty = len(line), True
    for word in words.split(" "):
        wide = width(word)
        if is_empty:
            line, taken, is_empty = line + word, taken + wide, False
        elif taken + 1 + wide <= room:
            line, taken = f"{line} {word}", taken + 1 + wide
        else:
            yield line.rstrip()
            line, taken = " " * hang + word, hang + wide
    yield line
