"""The source of a finding as compilers show it: numbered lines with underlined and labelled spans."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from kubesched_lint.engine.base.places import Location, Span
from kubesched_lint.findings import Severity
from kubesched_lint.printing import visible
from kubesched_lint.report.terminal.cells import Window, width, window, wrapped
from kubesched_lint.report.terminal.palette import Palette

_TALLEST = 6
"""Of a span with more lines, the first three and the last are shown."""
_WIDEST = 200
"""Maximum width of a source line without a terminal, in cells."""
_NARROWEST = 24
"""Minimum width of a label beside its underline, in cells; in less space it starts further left."""


class Underline(Struct, frozen=True):
    """A place in a file to underline; the primary one is the finding's location."""

    location: Location
    label: str = ""
    primary: bool = False


class Canvas(Struct, frozen=True):
    """The style of frames: ``digits`` of line numbers, ``width`` of the terminal in cells (0: none), and colours."""

    digits: int
    width: int
    paint: Palette
    severity: Severity

    @property
    def room(self) -> int:
        """Return the number of cells for source text, right of the gutter."""
        return max(_NARROWEST, (self.width or _WIDEST) - self.digits - 3)

    def gutter(self, number: str = "", bar: str = "|") -> str:
        return self.paint.gutter(f"{number:>{self.digits}} {bar}".rstrip())


def frame(marks: Sequence[Underline], lines: Sequence[str], canvas: Canvas) -> Iterator[str]:
    """Yield the marks of one file, in the order of their lines; without source ``lines`` only places and labels."""
    shown = [m for m in marks if 0 < m.location.span.line <= len(lines)]
    first = next((m for m in marks if m.primary), None) or next(iter(shown), None)
    if first:
        yield f"{' ' * canvas.digits}{canvas.paint.gutter('-->' if first.primary else ':::')} {place(first.location)}"
    if shown:
        yield canvas.gutter()
        yield from _rows(shown, lines, canvas)
    for mark in marks:
        if mark not in shown and not mark.primary:
            yield from _aside(":::", f"{place(mark.location)}{f': {mark.label}' if mark.label else ''}", canvas)


def place(location: Location) -> str:
    span, path = location.span, location.path.removeprefix("./")
    return visible(f"{path}:{span.line}:{span.column}" if span.line else path)


def _aside(sign: str, text: str, canvas: Canvas) -> Iterator[str]:
    room = max(_NARROWEST, canvas.width - canvas.digits - 4) if canvas.width else 0
    for number, line in enumerate(wrapped(text, room, 2)):
        yield f"{' ' * canvas.digits}{'   ' if number else canvas.paint.gutter(sign)} {line}"


def _rows(marks: Sequence[Underline], lines: Sequence[str], canvas: Canvas) -> Iterator[str]:
    """Yield every marked line, and the bracket at the left of a primary span of several lines."""
    tall = next((m for m in marks if m.primary and last_line(m.location.span, lines) > m.location.span.line), None)
    bracket = range(0)
    if tall:
        bracket = range(tall.location.span.line, last_line(tall.location.span, lines) + 1)
    by_line: dict[int, list[Underline]] = {number: [] for number in _in_sight(bracket)}
    for mark in marks:
        if mark is not tall:
            by_line.setdefault(mark.location.span.line, []).append(mark)
    previous = 0
    for number in sorted(by_line):
        if previous and number == previous + 2:  # the dots for one left-out line would save no space
            yield _source_row(number - 1, lines[number - 2], None, bracket, canvas)
        elif previous and number > previous + 1:
            yield canvas.paint.gutter("..." if not bracket or number not in bracket[1:] else f"... {_edge(canvas)}")
        yield from _line(number, by_line[number], lines[number - 1], bracket, canvas)
        previous = number


def _in_sight(bracket: range) -> list[int]:
    if len(bracket) <= _TALLEST:
        return list(bracket)
    return [*bracket[:3], bracket[-1]]


def _edge(canvas: Canvas, sign: str = "|") -> str:
    return canvas.paint.severity(canvas.severity, sign)


def _line(number: int, marks: Sequence[Underline], text: str, bracket: range, canvas: Canvas) -> Iterator[str]:
    """Yield a source line and a row of underlining for each of its marks, the primary first."""
    marks = sorted(marks, key=lambda m: (not m.primary, m.location.span))
    view = _view(text, marks[0].location.span if marks else None, bracket, canvas)
    yield _source_row(number, text, view, bracket, canvas)
    side = ""
    if bracket:
        side = f"{_edge(canvas)} " if number in bracket else "  "
    for mark in marks:
        span = mark.location.span
        end_column = span.end_column if span.end_line == span.line else len(text.rstrip()) + 1
        start, length = view.underline(span.column, max(span.column, end_column))
        yield from _underline(mark, start, length, side, canvas)
    if bracket and number == bracket[-1]:
        closing = "|" + "_" * max(1, width(view.text.rstrip())) + "^"
        yield f"{canvas.gutter()} {_edge(canvas, closing)}"


def _view(text: str, span: Span | None, bracket: range, canvas: Canvas) -> Window:
    room = canvas.room - (2 if bracket else 0)
    if span is None:
        return window(text, 1, 1, room)
    return window(text, span.column, span.end_column if span.end_line == span.line else len(text) + 1, room)


def _source_row(number: int, text: str, view: Window | None, bracket: range, canvas: Canvas) -> str:
    view = view or _view(text, None, bracket, canvas)
    side = ""
    if bracket:
        side = "  "
        if number in bracket:
            side = _edge(canvas, "/" if number == bracket[0] else "|") + " "
    return f"{canvas.gutter(str(number))} {side}{view.text}".rstrip()


def _underline(mark: Underline, start: int, length: int, side: str, canvas: Canvas) -> Iterator[str]:
    paint = canvas.paint
    sign = "^" if mark.primary else "-"
    drawn = sign * length
    drawn = paint.severity(canvas.severity, drawn) if mark.primary else paint.gutter(drawn)
    row = f"{canvas.gutter()} {side}{' ' * start}{drawn}"
    if not mark.label:
        yield row
        return
    room = canvas.room - (2 if side else 0)
    after = start + length + 1
    if not canvas.width or after + width(mark.label) <= room:
        yield f"{row} {_label(mark, ''.join(wrapped(mark.label, 0)), canvas)}"
        return
    yield row
    indent = min(start, max(0, room - max(_NARROWEST, width(mark.label))))
    for line in wrapped(mark.label, room - indent):
        yield f"{canvas.gutter()} {side}{' ' * indent}{_label(mark, line, canvas)}"


def _label(mark: Underline, text: str, canvas: Canvas) -> str:
    return canvas.paint.severity(canvas.severity, text) if mark.primary else canvas.paint.gutter(text)


def last_line(span: Span, lines: Sequence[str]) -> int:
    """Return the number of the last line with content: a block ends where the next token begins, maybe lines below."""
    last = min(span.end_line, len(lines))
    if last == span.end_line > span.line and not lines[last - 1][: span.end_column - 1].strip():
        last -= 1
    while last > span.line and (not (text := lines[last - 1].strip()) or text.startswith("#")):
        last -= 1
    return max(last, span.line)
