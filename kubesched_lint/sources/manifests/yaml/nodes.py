"""The tree of a YAML document as written, for editing: styles, anchors and aliases, nothing resolved."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import yaml
from msgspec import Struct, field

from kubesched_lint.engine.base.places import Path
from kubesched_lint.sources.manifests.changes import ChangeError
from kubesched_lint.sources.manifests.yaml.scalars import ScalarError, key_of

MERGE = "<<"
BLOCKS = ("|", ">")
"""Styles of block scalars: a header line, which may end with a comment, precedes the text."""


class YamlNode(Struct):
    """``start`` and ``end`` are offsets; ``end_of`` returns the real end of a block collection.

    ``pairs`` are those of a mapping, ``items`` those of a list. ``start`` is that of an anchor or tag, if any. The
    ``text`` of an alias is its name.
    """

    kind: str
    """scalar, mapping, list or alias."""
    start: int
    end: int = -1
    flow: bool = False
    style: str = ""
    """Quote or block style of a scalar: one of ``'``, ``"``, ``|``, ``>`` or empty."""
    text: str = ""
    anchor: str = ""
    tagged: bool = False
    pairs: list[tuple[YamlNode, YamlNode]] = field(default_factory=list)
    items: list[YamlNode] = field(default_factory=list)

    @property
    def children(self) -> list[YamlNode]:
        return self.items if self.kind == "list" else [value for _, value in self.pairs]

    @property
    def key(self) -> str:
        """The key as kubectl reads it, for a scalar that is a key."""
        if self.style or self.tagged or self.kind != "scalar":
            return self.text
        try:
            return key_of(self.text)
        except ScalarError:
            return self.text

    @property
    def is_null(self) -> bool:
        return self.kind == "scalar" and not self.style and self.text in ("", "~", "null", "Null", "NULL")


def parsed(text: str) -> YamlNode:
    """Return the tree of a document's text. Raises ChangeError if the text is empty or not YAML."""
    module: Any = yaml
    try:
        return _parsed(module, module.cyaml.CParser(text))
    except module.YAMLError:
        raise ChangeError("the document is JSON of a kind that YAML does not know") from None


def _parsed(yaml: Any, parser: Any) -> YamlNode:
    stack: list[YamlNode] = []
    waiting: list[YamlNode | None] = []
    """For each collection on the stack: the key whose value comes next."""
    while True:
        event = parser.get_event()
        match event.__class__.__name__:
            case "StreamStartEvent" | "DocumentStartEvent":
                continue
            case "StreamEndEvent" | "DocumentEndEvent":
                raise ChangeError("the document is empty")
            case "MappingEndEvent" | "SequenceEndEvent":
                done = stack.pop()
                waiting.pop()
                done.end = event.end_mark.index
            case _:
                done = _node(event)
                if done.kind in ("mapping", "list"):
                    stack.append(done)
                    waiting.append(None)
                    continue
        if not stack:
            return done
        above = stack[-1]
        if above.kind == "list":
            above.items.append(done)
        elif waiting[-1] is None:
            waiting[-1] = done
        else:
            above.pairs.append((waiting[-1], done))
            waiting[-1] = None


def _node(event: Any) -> YamlNode:
    name = event.__class__.__name__
    start, end = event.start_mark.index, event.end_mark.index
    if name == "AliasEvent":
        return YamlNode("alias", start, end, text=event.anchor)
    anchor, is_tagged = event.anchor or "", event.tag is not None
    if name == "ScalarEvent":
        return YamlNode(
            "scalar", start, end, style=event.style or "", text=event.value, anchor=anchor, tagged=is_tagged
        )
    kind = "mapping" if name == "MappingStartEvent" else "list"
    return YamlNode(kind, start, flow=bool(event.flow_style), anchor=anchor, tagged=is_tagged)


def every(root: YamlNode) -> Iterator[YamlNode]:
    """Yield all nodes of a tree, also keys, each before its contents."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        yield node
        for key, value in reversed(node.pairs):
            waiting += (value, key)
        waiting += reversed(node.items)


def shared(root: YamlNode) -> frozenset[str]:
    """Return the anchors that an alias names: their contents count in more than one place."""
    return frozenset(node.text for node in every(root) if node.kind == "alias")


def pair_of(mapping: YamlNode, key: str) -> tuple[YamlNode, YamlNode] | None:
    """Return the key and value that the mapping itself writes under ``key``, without merges."""
    return next((pair for pair in mapping.pairs if pair[0].key == key and pair[0].kind == "scalar"), None)


def child_of(node: YamlNode, step: str | int) -> YamlNode | None:
    """Return the child of a collection under a key or an index; None if there is none."""
    if isinstance(step, int):
        return node.items[step] if node.kind == "list" and 0 <= step < len(node.items) else None
    pair = pair_of(node, step) if node.kind == "mapping" else None
    return pair[1] if pair else None


def way_to(root: YamlNode, path: Path) -> list[YamlNode]:
    """Return the nodes from the root toward the value at ``path``, as far as they exist.

    Raises ChangeError if the path leads through an alias, a merge, or an anchor with aliases.
    """
    anchors = shared(root)
    way = [root]
    for step in path:
        node = child_of(way[-1], step)
        if node is None:
            if way[-1].kind == "mapping" and any(key.key == MERGE and not key.style for key, _ in way[-1].pairs):
                raise ChangeError("a merge (<<) may give what is changed")
            break
        way.append(node)
    for node in way:
        if node.kind == "alias" or node.anchor in anchors:
            raise ChangeError(f"it is used in several places (&{node.anchor or node.text})")
    return way


def end_of(node: YamlNode, text: str) -> int:
    """Return the offset at which a value's text ends; libyaml ends block values only where the next token begins."""
    while node.kind in ("mapping", "list") and not node.flow:
        if not node.children:
            return node.start
        node = node.children[-1]
    if node.style in BLOCKS:
        return _literal_end(text, node.start, node.end)
    return node.end


def _literal_end(text: str, start: int, end: int) -> int:
    """Return the offset after the last line of text; with ``+`` the trailing blank lines are text too."""
    lines = text[start:end].split("\n")
    if "+" in lines[0].partition("#")[0]:
        return end - 1 if text[end - 1 : end] == "\n" else end
    while len(lines) > 1 and not lines[-1].strip():
        end -= len(lines.pop()) + 1
    return end
