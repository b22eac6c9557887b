"""Where values stand: looked for when a finding asks, in the text of its one document."""

from __future__ import annotations

from bisect import bisect_right
from functools import lru_cache
from typing import TYPE_CHECKING

from kubesched_lint.findings import Path, Span

if TYPE_CHECKING:
    from kubesched_lint.manifests.fast_places import Items, Range
    from kubesched_lint.manifests.full_reader import Node

_MOST_VALUES = 2_000_000
_REMEMBERED = 1 << 14
_Ends = tuple[int, int]
"""Offsets into the text."""


def span_of(text: str, line: int, path: Path, *, key: bool = False, plain: bool = False) -> Span:
    """The span of the value (of its key with ``key``) at ``path``; of the nearest parent that exists.

    ``line`` is where ``text`` begins in its file, from 1; ``plain`` says that ``plain.read_plain`` has read it.
    A value inside an anchored one stands where the anchor is, the alias itself where it is written.
    """
    if plain:
        first, column, last, end = _in_plain(text, path, key)
        return Span(line + first, column + 1, line + last, end + 1)
    found = _in_tree(text, path, key)
    if found is None:
        return Span(line, 1, line, 1)
    start, stop = found
    return Span(*_place(text, start, line), *_place(text, stop, line))


@lru_cache(maxsize=_REMEMBERED)
def _in_tree(text: str, path: Path, key: bool) -> _Ends | None:
    root = _root(text)
    return None if root is None else _find(root, path, text, key)


@lru_cache(maxsize=_REMEMBERED)
def _in_plain(text: str, path: Path, key: bool) -> Range:
    """Many findings point to few places: a DaemonSet's name is told of with all that comes before it."""
    from kubesched_lint.manifests.fast_places import find

    lines, known = _lines(text)
    place, named = find(lines, path, known)
    return named if key and named else place


@lru_cache(maxsize=4)
def _lines(text: str) -> tuple[list[str], Items]:
    """And the lists that were met in them."""
    return text.split("\n"), {}


def _place(text: str, at: int, line: int) -> tuple[int, int]:
    starts = _starts(text)
    before = bisect_right(starts, at) - 1
    return line + before, at - starts[before] + 1


@lru_cache(maxsize=4)
def _starts(text: str) -> list[int]:
    """Where lines begin: to count them anew for each of many findings takes time that grows with the square."""
    starts = [0]
    while at := text.find("\n", starts[-1]) + 1:
        starts.append(at)
    return starts


def _find(root: Node, path: Path, text: str, key: bool) -> _Ends:
    node, named = root, None
    for step in path:
        found = _child(node, step)
        if found is None:
            named = None
            break
        named, node = found
    return named if key and named else (node[0], _end(node, text))


def _child(node: Node, step: str | int) -> tuple[_Ends | None, Node] | None:
    inside = node[2]
    if isinstance(step, int):
        return (None, inside[step]) if inside.__class__ is list and 0 <= step < len(inside) else None
    if inside.__class__ is not dict or step not in inside:
        return None
    found: tuple[_Ends, Node] = inside[step]
    return found


@lru_cache(maxsize=4)
def _root(text: str) -> Node | None:
    """None where there is none, and for a text of so many values that to place them all would fill the memory."""
    if text.count(",") + text.count("\n") > _MOST_VALUES:
        return None
    from kubesched_lint.manifests.full_reader import BuildError, tree

    try:
        return tree(text, places=True).root
    except BuildError:  # JSON with escapes or keys that YAML does not know: the object as a whole is place enough
        return None


def _end(node: Node, text: str) -> int:
    """libyaml ends block values where the next token begins: theirs is with the last of their text."""
    from kubesched_lint.manifests.full_reader import EXACT, LITERAL

    while True:
        start, end, inside, kind = node
        if kind == EXACT:
            return end
        if kind == LITERAL:
            return _literal_end(text, start, end)
        children = inside if inside.__class__ is list else [child for _, child in inside.values()]
        # What a merge brought in stands elsewhere.
        own = [child for child in children if start <= child[0] <= end]
        if not own:
            return start
        node = max(own, key=lambda child: child[:2])


def _literal_end(text: str, start: int, end: int) -> int:
    """The mark may stand some lines further down, before what follows."""
    lines = text[start:end].split("\n")
    if "+" in lines[0].partition("#")[0]:
        return end
    while len(lines) > 1 and not lines[-1].strip():
        end -= len(lines.pop()) + 1
    return end
