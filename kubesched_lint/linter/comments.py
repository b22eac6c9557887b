"""Which ``#`` of a YAML text begins a comment: not those in quotes, nor those in block scalars."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from kubesched_lint.record import record

if TYPE_CHECKING:
    import yaml

_END_OF_LINE = 1 << 62
_MOST_DEPTH = 200
_DEEPER = {
    "FlowSequenceStartToken": 1,
    "FlowMappingStartToken": 1,
    "FlowSequenceEndToken": -1,
    "FlowMappingEndToken": -1,
}


@record
class Comment:
    """``line`` and ``column`` count from 1 in the text; ``last_line`` ends the block of comment lines it stands in."""

    text: str
    line: int
    column: int
    last_line: int
    is_alone: bool
    """Nothing but blanks stands before it."""


def comments_with(marker: str, text: str) -> Iterator[Comment]:
    """The comments that hold ``marker``. In a document that is not YAML, those before the place where it breaks."""
    if marker not in text:
        return
    import re

    lines = re.split("\r\n|[\r\n\x85\u2028\u2029]", text)  # the breaks of YAML 1.1, as libyaml counts them
    ends = _block_ends(lines)
    for first, last in _documents(lines):
        if any(marker in line for line in lines[first:last]):
            hidden = _hidden(lines[first:last])
            for number in range(first, last):
                if marker in lines[number]:
                    yield from _comment(marker, number, lines, hidden.get(number - first, ()), ends)


def _documents(lines: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Ranges of lines, parted before each ``---`` at the start of a line."""
    first = 0
    for number, line in enumerate(lines):
        if number > first and (line == "---" or line[:4] in ("--- ", "---\t")):
            yield first, number
            first = number
    yield first, len(lines)


def _comment(
    marker: str, number: int, lines: Sequence[str], hidden: Sequence[tuple[int, int]], ends: Sequence[int]
) -> Iterator[Comment]:
    line = lines[number]
    start = line.find("#")
    for left, right in sorted(hidden):
        if left <= start < right:
            start = line.find("#", right)
    if start < 0 or marker not in line[start:]:
        return
    is_alone = not line[:start].strip(" \t\ufeff")
    yield Comment(line[start:], number + 1, start + 1, (ends[number] if is_alone else number) + 1, is_alone)


def _block_ends(lines: Sequence[str]) -> list[int]:
    """For each line the last of the comment lines that follow it without another between."""
    ends = list(range(len(lines)))
    for number in range(len(lines) - 2, -1, -1):
        if lines[number + 1].lstrip().startswith("#"):
            ends[number] = ends[number + 1]
    return ends


def _hidden(lines: Sequence[str]) -> dict[int, list[tuple[int, int]]]:
    """Line (from 0) → the column ranges (from 0, end exclusive) of its tokens; all that lies behind broken YAML."""
    import yaml

    found: dict[int, list[tuple[int, int]]] = {}
    text = "\n".join(lines)
    if not text.isascii():  # bytes that are no UTF-8 were read as something that cannot be written
        text = text.encode(errors="replace").decode()
    try:
        depth = 0
        for token in yaml.scan(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
            _hide(found, token)
            depth += _DEEPER.get(token.__class__.__name__, 0)
            if depth > _MOST_DEPTH:  # each further bracket costs libyaml more than the one before
                raise yaml.MarkedYAMLError(problem_mark=token.start_mark)
    except yaml.YAMLError as error:
        # An open quote breaks where the text ends; its context is where it was opened.
        mark = getattr(error, "context_mark", None) or getattr(error, "problem_mark", None)
        first, column = (mark.line, mark.column) if mark else (0, 0)
        for number in range(first, len(lines)):
            found.setdefault(number, []).append((column if number == first else 0, _END_OF_LINE))
    return found


def _hide(found: dict[int, list[tuple[int, int]]], token: yaml.Token) -> None:
    start, end = token.start_mark, token.end_mark
    first = start.line
    if getattr(token, "style", None) in ("|", ">"):  # a comment may stand on the line of the indicator
        first += 1
    for number in range(first, end.line + 1):
        left = start.column if number == start.line else 0
        right = end.column if number == end.line else _END_OF_LINE
        found.setdefault(number, []).append((left, right))
