"""Where values stand: the text of one document is parsed once more, with positions, when a finding asks."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from kubesched_lint.findings import Path, Span

_Marks = tuple[int, int, int, int]


@dataclass(slots=True)
class _Node:
    """Line, column, end line and end column from 0; ``items`` of a list, ``keys`` and ``values`` of a mapping."""

    at: _Marks
    items: list[_Node] | None = None
    values: dict[str, tuple[_Marks, _Node]] | None = None
    bases: list[_Node] = field(default_factory=list)


def span_of(text: str, line: int, path: Path, *, key: bool = False) -> Span:
    """The span of the value (of its key with ``key``) at ``path``; of the nearest parent that exists.

    ``line`` is where ``text`` begins in its file, from 1.
    """
    node = _tree(text)
    at = node.at
    for depth, step in enumerate(path):
        found = _child(node, step)
        if found is None:
            break
        key_at, node = found
        at = key_at if key and depth == len(path) - 1 and key_at is not None else node.at
    return Span(at[0] + line, at[1] + 1, at[2] + line, at[3] + 1)


def _child(node: _Node, step: str | int) -> tuple[_Marks | None, _Node] | None:
    if isinstance(step, int):
        return (None, node.items[step]) if node.items is not None and step < len(node.items) else None
    if node.values is None:
        return None
    if step in node.values:
        return node.values[step]
    for base in node.bases:
        found = _child(base, step)
        if found is not None:
            return found
    return None


@lru_cache(maxsize=32)
def _tree(text: str) -> _Node:
    import yaml

    whole = _Node((0, 0, text.count("\n"), 0))
    try:
        # Tabs between JSON tokens are no YAML; a blank in their stead moves nothing.
        return _positions(text.replace("\t", " "), yaml) or whole
    except yaml.YAMLError:  # JSON escapes that YAML does not know: the object as a whole is place enough
        return whole


def _positions(text: str, yaml: Any) -> _Node | None:
    from kubesched_lint.manifests.scalars import key_text, resolved

    lines = text.split("\n")
    parser = yaml.cyaml.CParser(text)
    anchors: dict[str, _Node] = {}
    stack: list[tuple[_Node, list[Any]]] = []
    root: _Node | None = None
    while not isinstance(event := parser.get_event(), yaml.StreamEndEvent):
        node: _Node | None = None
        if isinstance(event, yaml.ScalarEvent):
            node = _Node(_scalar_marks(event, lines))
            if stack and stack[-1][0].values is not None and not stack[-1][1]:
                plain = resolved(event.value) if event.implicit[0] and event.tag is None else event.value
                stack[-1][1].append((key_text(plain) or "", node.at))
                continue
        elif isinstance(event, (yaml.MappingStartEvent, yaml.SequenceStartEvent)):
            start = event.start_mark
            node = _Node((start.line, start.column, start.line, start.column))
            if isinstance(event, yaml.MappingStartEvent):
                node.values = {}
            else:
                node.items = []
            if event.anchor:
                anchors[event.anchor] = node
            stack.append((node, []))
            continue
        elif isinstance(event, (yaml.MappingEndEvent, yaml.SequenceEndEvent)):
            node, _ = stack.pop()
            node.at = (*node.at[:2], *_end_of(node, event.end_mark, lines))
        elif isinstance(event, yaml.AliasEvent):
            target = anchors.get(event.anchor)
            here = (event.start_mark.line, event.start_mark.column, event.end_mark.line, event.end_mark.column)
            node = _Node(here, target.items, target.values, target.bases) if target else _Node(here)
        if node is None:
            continue
        if isinstance(event, yaml.ScalarEvent) and event.anchor:
            anchors[event.anchor] = node
        if not stack:
            root = root or node
            continue
        _put(stack[-1], node)
    return root


def _put(top: tuple[_Node, list[Any]], node: _Node) -> None:
    parent, pending = top
    if parent.items is not None:
        parent.items.append(node)
    elif parent.values is not None and pending:
        name, at = pending.pop()
        if name == "<<":
            parent.bases = [*(node.items or [node]), *parent.bases]
        else:
            parent.values[name] = (at, node)


def _scalar_marks(event: Any, lines: list[str]) -> _Marks:
    """libyaml ends a block scalar at the start of what follows; its text ends with its last line."""
    start, end = event.start_mark, event.end_mark
    if event.style in ("|", ">"):
        return (start.line, start.column, *_last_text(lines, start.line, end.line))
    return (start.line, start.column, end.line, end.column)


def _end_of(node: _Node, mark: Any, lines: list[str]) -> tuple[int, int]:
    """A block collection ends where its last value does, not where the next token begins."""
    line = lines[mark.line] if mark.line < len(lines) else ""
    if mark.column and line[mark.column - 1 : mark.column] in ("}", "]"):
        return mark.line, mark.column
    last: _Node | None = None
    if node.items:
        last = node.items[-1]
    elif node.values:
        last = max((value for _, value in node.values.values()), key=lambda n: n.at[2:])
    if last is not None and last.at[2:] >= node.at[:2]:
        return last.at[2], last.at[3]
    return _last_text(lines, node.at[0], mark.line)


def _last_text(lines: list[str], first: int, end: int) -> tuple[int, int]:
    at = min(end, len(lines)) - 1
    while at > first and not lines[at].strip():
        at -= 1
    at = max(at, first)
    return at, len(lines[at].rstrip())
