"""Comments of a YAML text; a ``#`` in quotes or in a block scalar starts none."""

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
    """``line`` and ``column`` count from 1; ``last_line`` is the last line of its block of comment lines."""

    text: str
    line: int
    column: int
    last_line: int
    is_alone: bool
    """Only blanks are before it on its line."""


def comments_with(marker: str, text: str) -> Iterator[Comment]:
    """Yield the comments that contain ``marker``; in a document with invalid YAML, only those before the error."""
    if marker not in text:
        return
    import re

    lines = re.split("\r\n|[\r\n\x85\u2028\u2029]", text)  # the line breaks of YAML 1.1, as libyaml counts them
    ends = _block_ends(lines)
    for first, last in _documents(lines):
        if any(marker in line for line in lines[first:last]):
            hidden = _hidden(lines[first:last])
            for number in range(first, last):
                if marker in lines[number]:
                    yield from _comment(marker, number, lines, hidden.get(number - first, ()), ends)


def _documents(lines: Sequence[str]) -> Iterator[tuple[int, int]]:
    """(first, end) line ranges from 0, end exclusive, split before each ``---`` at the start of a line."""
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
    """For each line, the last of the comment lines that directly follow it, else itself; from 0."""
    ends = list(range(len(lines)))
    for number in range(len(lines) - 2, -1, -1):
        if lines[number + 1].lstrip().startswith("#"):
            ends[number] = ends[number + 1]
    return ends


def _hidden(lines: Sequence[str]) -> dict[int, list[tuple[int, int]]]:
    """Line (from 0) → column ranges (from 0, end exclusive) of tokens, and of all text after a YAML error."""
    import yaml

    found: dict[int, list[tuple[int, int]]] = {}
    text = "\n".join(lines)
    if not text.isascii():  # bytes that are not UTF-8 were decoded to lone surrogates
        text = text.encode(errors="replace").decode()
    try:
        depth = 0
        for token in yaml.scan(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
            _hide(found, token)
            depth += _DEEPER.get(token.__class__.__name__, 0)
            if depth > _MOST_DEPTH:  # libyaml needs more time for each deeper bracket
                raise yaml.MarkedYAMLError(problem_mark=token.start_mark)
    except yaml.YAMLError as error:
        # An unclosed quote is an error at the end of the text; its context is the place of the quote.
        mark = getattr(error, "context_mark", None) or getattr(error, "problem_mark", None)
        first, column = (mark.line, mark.column) if mark else (0, 0)
        for number in range(first, len(lines)):
            found.setdefault(number, []).append((column if number == first else 0, _END_OF_LINE))
    return found


def _hide(found: dict[int, list[tuple[int, int]]], token: yaml.Token) -> None:
    start, end = token.start_mark, token.end_mark
    first = start.line
    if getattr(token, "style", None) in ("|", ">"):  # the line of the indicator may have a comment
        first += 1
    for number in range(first, end.line + 1):
        left = start.column if number == start.line else 0
        right = end.column if number == end.line else _END_OF_LINE
        found.setdefault(number, []).append((left, right))
