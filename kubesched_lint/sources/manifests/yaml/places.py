"""Positions of values, computed on demand from the text of the document."""

from __future__ import annotations

from bisect import bisect_right
from functools import lru_cache
from typing import TYPE_CHECKING

from kubesched_lint.engine.base.places import Path, Span
from kubesched_lint.sources.manifests.limits import MOST_PARTS
from kubesched_lint.sources.manifests.yaml.braces import NotJsonError, place_of
from kubesched_lint.sources.manifests.yaml.fast_places import Items, Range, find

if TYPE_CHECKING:
    from kubesched_lint.sources.manifests.yaml.full_reader import Node

_REMEMBERED = 256
"""Places in texts that took long to read."""
_REMEMBERED_PLAIN = 64
"""Places of which each keeps its text: more of them kept the texts of thousands of files in memory."""
_Ends = tuple[int, int]
"""Start and end offsets in the text."""


def span_of(text: str, line: int, path: Path, *, key: bool = False, plain: bool = False) -> Span:
    """Return the span of the value (of its key with ``key``) at ``path``; of the nearest existing parent if absent.

    ``line`` is the first line of ``text`` in its file, from 1; ``plain``: ``fast_reader.read_plain`` has read the text.
    A value inside an anchored one has the position of the anchor; the alias itself has its own position.
    """
    place = _in_plain(text, path, key) if plain else _in_tree(text, path, key)
    if place is None:
        return Span(line, 1, line, 1)
    first, column, last, end = place
    return Span(line + first, column + 1, line + last, end + 1)


def is_in_braces(text: str) -> bool:
    """Return whether a document may be JSON."""
    return text[:80].removeprefix("---").lstrip()[:1] == "{"


# Cached, because many findings point to few places: a DaemonSet's name, the next workload of a circle.
@lru_cache(maxsize=_REMEMBERED)
def _in_tree(text: str, path: Path, key: bool) -> Range | None:
    ends = _ends(text, path, key)
    if ends is None:
        return None
    start, stop = ends
    return (*_place(text, start), *_place(text, stop))


@lru_cache(maxsize=_REMEMBERED_PLAIN)
def _in_plain(text: str, path: Path, key: bool) -> Range:
    lines, known = _lines(text)
    place, named = find(lines, path, known)
    return named if key and named else place


def _ends(text: str, path: Path, key: bool) -> _Ends | None:
    if is_in_braces(text):
        try:
            return place_of(text, path, key=key)
        except NotJsonError:
            pass
    root = _root(text)
    return None if root is None else _find(root, path, text, key)


@lru_cache(maxsize=4)
def _lines(text: str) -> tuple[list[str], Items]:
    """Return the lines, and a cache of the lists in them."""
    return text.split("\n"), {}


def _place(text: str, at: int) -> tuple[int, int]:
    """Return line and column of an offset, both from 0."""
    starts = _starts(text)
    before = bisect_right(starts, at) - 1
    return before, at - starts[before]


@lru_cache(maxsize=4)
def _starts(text: str) -> list[int]:
    """Return the offsets of all line starts. Cached: counting them for each finding would take quadratic time."""
    starts = [0]
    while at := text.find("\n", starts[-1]) + 1:
        starts.append(at)
    return starts


def _find(root: Node, path: Path, text: str, key: bool) -> _Ends:
    node, named = root, None
    for step in path:
        child = _child(node, step)
        if child is None:
            named = None
            break
        named, node = child
    return named if key and named else (node[0], _end(node, text))


def _child(node: Node, step: str | int) -> tuple[_Ends | None, Node] | None:
    inside = node[2]
    if isinstance(step, int):
        return (None, inside[step]) if inside.__class__ is list and 0 <= step < len(inside) else None
    if inside.__class__ is not dict or step not in inside:
        return None
    child: tuple[_Ends, Node] = inside[step]
    return child


@lru_cache(maxsize=4)
def _root(text: str) -> Node | None:
    """Return the root node; None for an empty or broken text, and if the positions would need too much memory."""
    if text.count(",") + text.count("\n") > MOST_PARTS:
        return None
    from kubesched_lint.sources.manifests.yaml.full_reader import BuildError, tree

    try:
        return tree(text, places=True).root
    except BuildError:  # JSON with escapes or keys unknown to YAML: the position of the whole object must do
        return None


def _end(node: Node, text: str) -> int:
    """Return the end of a node's text; libyaml ends block values where the next token begins."""
    from kubesched_lint.sources.manifests.yaml.full_reader import EXACT, LITERAL

    while True:
        start, end, inside, kind = node
        if kind == EXACT:
            return end
        if kind == LITERAL:
            return _literal_end(text, start, end)
        children = inside if inside.__class__ is list else [child for _, child in inside.values()]
        # Merged keys stand elsewhere.
        own = [child for child in children if start <= child[0] <= end]
        if not own:
            return start
        node = max(own, key=lambda child: child[:2])


def _literal_end(text: str, start: int, end: int) -> int:
    """Return the end of a literal's text; the mark may be some lines further down."""
    lines = text[start:end].split("\n")
    if "+" in lines[0].partition("#")[0]:
        return end
    while len(lines) > 1 and not lines[-1].strip():
        end -= len(lines.pop()) + 1
    return end
