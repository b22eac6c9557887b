"""Source lines as HTML: numbered, coloured, the finding underlined and related places labelled."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from msgspec import Struct

from kubesched_lint.engine.base.places import Span
from kubesched_lint.report.findings.frame import last_line
from kubesched_lint.report.limits import MOST_ROWS
from kubesched_lint.report.wording.words import esc

_AROUND = 2
_TALLEST = 9
"""Maximum number of lines shown of one mark; of a longer one the middle is left out."""
_WIDEST = 200
"""Columns; of a longer line only the part around its mark is shown."""

_TOKEN = re.compile(
    r"""(?P<c>(?:^|(?<=\s))\#.*)"""
    r"""|(?P<s>"(?:[^"\\]|\\.)*"|'(?:[^']|'')*')(?!\s*:)"""
    r"""|(?P<k>"(?:[^"\\]|\\.)*"|[A-Za-z0-9_.$/-]+)(?=\s*:(?:\s|$))"""
    r"""|(?P<n>(?<![\w.:/-])(?:true|false|null|~|-?\d+(?:\.\d+)?(?:[a-zA-Z]{1,2}|%)?)(?![\w./-]))"""
    r"""|(?P<a>(?<!\S)[&*!][\w./-]+)"""
)


class LineMark(Struct, frozen=True):
    span: Span
    label: str = ""
    primary: bool = False


def excerpt(marks: Sequence[LineMark], lines: Sequence[str]) -> Iterator[str]:
    """Yield rows of HTML; none if the file cannot be shown."""
    lines = _without_end(lines)
    there = [mark for mark in marks if 0 < mark.span.line <= len(lines)]
    wanted = sorted({n for mark in there for n in _lines_of(mark.span, lines)})
    if not wanted:
        return
    previous = wanted[0] - 1
    for number in wanted[:MOST_ROWS]:
        if number == previous + 2:
            yield _row(number - 1, lines[number - 2], [], lines)
        elif number > previous + 1:
            yield '<span class="gap">⋯</span>'
        yield _row(number, lines[number - 1], there, lines)
        previous = number


def _without_end(lines: Sequence[str]) -> Sequence[str]:
    """Return the lines without the empty one after the last line end."""
    return lines[:-1] if lines and not lines[-1] else lines


def plain_row(text: str) -> str:
    """Return a coloured line without number or mark."""
    return f'<span class="row"><span class="code">{_coloured(text, ())}</span></span>'


def _lines_of(span: Span, lines: Sequence[str]) -> Iterable[int]:
    last = last_line(span, lines)
    inside = list(range(span.line, last + 1))
    if len(inside) > _TALLEST:
        inside = [*inside[: _TALLEST - 2], last]
    before = range(max(1, span.line - _AROUND), span.line)
    after = range(last + 1, min(len(lines), last + _AROUND) + 1)
    return [*before, *inside, *after]


def _row(number: int, text: str, marks: Sequence[LineMark], lines: Sequence[str]) -> str:
    marked = [(mark, *reach) for mark in marks if (reach := _on_line(mark.span, number, text, lines)) is not None]
    labels = "".join(
        f'<span class="label">{esc(mark.label)}</span>'
        for mark, *_ in marked
        if mark.label and mark.span.line == number
    )
    primary = any(mark.primary for mark, *_ in marked)
    kind = " hit" if primary else " rel" if marked else ""
    return (
        f'<span class="row{kind}"><span class="no">{number}</span>'
        f'<span class="code">{_coloured(text, marked)}</span>{labels}</span>'
    )


def _on_line(span: Span, number: int, text: str, lines: Sequence[str]) -> tuple[int, int] | None:
    """Return (start, end) of a mark on a line as indexes; None if the line is outside it."""
    last = last_line(span, lines)
    if not span.line <= number <= last:
        return None
    indent = len(text) - len(text.lstrip())
    start = span.column - 1 if number == span.line else indent
    end = span.end_column - 1 if number == span.end_line else len(text.rstrip())
    return max(0, min(start, len(text))), max(start + 1, min(end, len(text.rstrip())))


def _coloured(text: str, marks: Sequence[tuple[LineMark, int, int]]) -> str:
    first, last = _window(text, marks)
    begin = max(0, first - _WIDEST)  # a file may be one line of megabytes
    tokens = [(m.start(), m.end(), m.lastgroup or "") for m in _TOKEN.finditer(text, begin, last)]
    edges = {first, last}
    for start, end, _ in tokens:
        edges |= {start, end}
    for _, start, end in marks:
        edges |= {start, end}
    cuts = sorted(edge for edge in edges if first <= edge <= last)
    shown = ["…"] if first else []
    for start, end in pairwise(cuts):
        piece = esc(text[start:end])
        token = next((kind for a, b, kind in tokens if a <= start and end <= b), "")
        if token:
            piece = f'<i class="{token}">{piece}</i>'
        over = [mark for mark, a, b in marks if a <= start and end <= b]
        if over:
            piece = f'<b class="{"u" if any(mark.primary for mark in over) else "v"}">{piece}</b>'
        shown.append(piece)
    if last < len(text):
        shown.append("…")
    return "".join(shown)


def _window(text: str, marks: Sequence[tuple[LineMark, int, int]]) -> tuple[int, int]:
    if len(text) <= _WIDEST:
        return 0, len(text)
    start = min((start for _, start, _ in marks), default=0)
    first = max(0, min(start - _WIDEST // 4, len(text) - _WIDEST))
    return first, min(len(text), first + _WIDEST)
