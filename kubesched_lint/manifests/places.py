"""Where values stand: the text of one document is parsed once more, with positions, when a finding asks."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from kubesched_lint.findings import Path, Span
from kubesched_lint.manifests.building import BLOCK, EXACT, LITERAL, BuildError, Node, tree

_End = tuple[int, int]


def span_of(text: str, line: int, path: Path, *, key: bool = False) -> Span:
    """The span of the value (of its key with ``key``) at ``path``; of the nearest parent that exists.

    ``line`` is where ``text`` begins in its file, from 1. A value behind an alias stands where its anchor is.
    """
    root = _root(text)
    if root is None:
        return Span(line, 1, line, 1)
    node, marks = root, None
    for step in path:
        found = _child(node, step)
        if found is None:
            marks = None
            break
        marks, node = found
    if key and marks is not None:
        start, end = marks
        return Span(start.line + line, start.column + 1, end.line + line, end.column + 1)
    start = node[0]
    end_line, end_column = _end(node, text)
    return Span(start.line + line, start.column + 1, end_line + line, end_column + 1)


def _child(node: Node, step: str | int) -> tuple[tuple[Any, Any] | None, Node] | None:
    inside = node[2]
    if isinstance(step, int):
        return (None, inside[step]) if inside.__class__ is list and 0 <= step < len(inside) else None
    return inside.get(step) if inside.__class__ is dict else None


@lru_cache(maxsize=8)
def _root(text: str) -> Node | None:
    try:
        return tree(text).root
    except BuildError:
        return None


def _end(node: Node, text: str) -> _End:
    """Line and column from 0. libyaml ends block values where the next token begins: theirs is with their last text."""
    start, end, inside, kind = node
    if kind == EXACT:
        return end.line, end.column
    if kind == BLOCK:
        children = inside if inside.__class__ is list else [child for _, child in inside.values()]
        # What a merge brought in stands elsewhere.
        own = [c for c in children if start.index <= c[0].index <= end.index]
        return _end(max(own, key=lambda c: (c[0].index, c[1].index)), text) if own else (start.line, start.column)
    assert kind == LITERAL
    lines = text[start.index : end.index].split("\n")
    if "+" in lines[0].partition("#")[0]:
        return end.line, end.column
    while len(lines) > 1 and not lines[-1].strip():
        lines.pop()
    last = lines[-1].rstrip("\r")
    return start.line + len(lines) - 1, len(last) + (start.column if len(lines) == 1 else 0)
