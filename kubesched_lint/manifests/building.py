"""Values and their places from parser events: iterative, bounded in depth and size, whatever the input.

The slow but complete reader: ``block`` reads plain documents several times faster and leaves all others to this one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, TypeAlias

from kubesched_lint.manifests.scalars import ScalarError, key_of, key_text, resolved, tagged

MOST_DEPTH = 200
MOST_ALIASED = 400_000
"""Values that aliases of one document may add; go-yaml v2 begins to refuse at about as many."""
EXACT, BLOCK, LITERAL = 0, 1, 2
"""Whether a node ends at its mark, with its last child, or with its last line of text."""

Node: TypeAlias = "tuple[Any, Any, Any, int]"
"""Start mark, end mark, what is inside, and one of EXACT, BLOCK, LITERAL.

Inside a mapping: key → (start and end mark of the key, node of the value); inside a list: nodes; inside a scalar: None.
"""

_TWICE = "kubectl keeps the last, Kustomize refuses the file"
_COMPLEX = "a mapping or list cannot be a key"
_NOT_YAML = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_PLAIN_WORDS = {
    "found character '\\t' that cannot start any token": "a tab where YAML wants spaces",
    "found a tab character that violates indentation": "a tab where YAML wants spaces",
    "found a tab character where an indentation space is expected": "a tab where YAML wants spaces",
    "could not find expected ':'": "expected ':' after a key",
}


class BuildError(ValueError):
    """A document that cannot be taken; ``line`` and ``column`` count from 1, in its file."""

    def __init__(self, message: str, line: int, column: int) -> None:
        super().__init__(message)
        self.message = message
        self.line = line
        self.column = column


class ComplexKeyError(BuildError):
    """A mapping or list as a key: nearly always an unrendered ``{{ template }}``."""


@dataclass(frozen=True, slots=True)
class Tree:
    """``root`` is None for an empty document. ``rest`` is the line of text behind ``...`` (0: none)."""

    value: Any
    root: Node | None
    rest: int = 0


def build(text: str, line: int = 1) -> Any:
    """The value of a YAML document as kubectl would see it; None for an empty one. It begins in ``line`` of its file.

    Raises BuildError, also for what the parser itself refuses.
    """
    return tree(text, line).value


def tree(text: str, line: int = 1) -> Tree:
    """As ``build``, with the place of every value. Marks count from 0, inside ``text``."""
    import yaml

    module: Any = yaml
    try:
        return _Builder(module, module.cyaml.CParser(text), line).run()
    except yaml.reader.ReaderError:
        raise _bad_character(text, line) from None
    except yaml.MarkedYAMLError as error:
        mark: Any = error.problem_mark or error.context_mark
        raise BuildError(_words(error, text, mark), mark.line + line, mark.column + 1) from None


def _bad_character(text: str, line: int) -> BuildError:
    found = _NOT_YAML.search(text)
    at = found.start() if found else 0
    words = f"not YAML: the character U+{ord(text[at]):04X} is not allowed"
    return BuildError(words, line + text.count("\n", 0, at), at - text.rfind("\n", 0, at))


def _words(error: Any, text: str, mark: Any) -> str:
    problem = str(error.problem or error.context)
    if "cannot start any token" in problem:
        line = text.split("\n", mark.line + 1)[mark.line]
        if line[mark.column : mark.column + 1] == "\t":
            return "not YAML: a tab where YAML wants spaces"
    context = f" ({error.context})" if error.problem and error.context else ""
    return f"not YAML: {_PLAIN_WORDS.get(problem, problem)}{context}"


class _Open:
    """A mapping or list under construction; ``inside`` holds the nodes of ``value``."""

    __slots__ = ("added", "anchor", "height", "inside", "key", "key_start", "merged", "merging", "start", "value")

    def __init__(self, value: Any, inside: Any, event: Any) -> None:
        self.value = value
        self.inside = inside
        self.start = event.start_mark
        self.anchor: str | None = event.anchor
        self.key: str | None = None
        self.key_start: tuple[Any, Any] | None = None
        """The marks of the key whose value comes next; None where a key comes next."""
        self.merging = False
        self.merged: set[str] = set()
        """Keys that only a ``<<`` gave: they may be written once more."""
        self.added = 1
        """Values in here, those behind aliases counted each time."""
        self.height = 1


class _Builder:
    """Keeps a stack of open collections; every finished value is handed to the one on top."""

    def __init__(self, yaml: Any, parser: Any, line: int) -> None:
        self._parser = parser
        self._line = line
        self._on = {
            yaml.ScalarEvent: self._scalar,
            yaml.MappingStartEvent: self._mapping,
            yaml.SequenceStartEvent: self._list,
            yaml.MappingEndEvent: self._end,
            yaml.SequenceEndEvent: self._end,
            yaml.AliasEvent: self._alias,
        }
        self._last = yaml.StreamEndEvent, yaml.DocumentEndEvent
        # Anchor → its value, its node, how many values it adds, how deep it is.
        self._anchors: dict[str, tuple[Any, Node, int, int]] = {}
        self._stack: list[_Open] = []
        self._aliased = 0
        self._value: Any = None
        self._root: Node | None = None

    def run(self) -> Tree:
        get, on, last = self._parser.get_event, self._on, self._last
        while (kind := (event := get()).__class__) not in last:
            act = on.get(kind)
            if act is not None:
                act(event)
        # kubectl parts documents at "---" alone: what stands behind "..." it never reads.
        rest = 0
        while kind is not last[0]:
            event = get()
            kind = event.__class__
            if kind in self._on:
                rest = event.start_mark.line + 1
                break
        return Tree(self._value, self._root, rest)

    def _error(self, mark: Any, message: str, kind: type[BuildError] = BuildError) -> BuildError:
        return kind(message, mark.line + self._line, mark.column + 1)

    def _scalar(self, event: Any) -> None:
        start, end = event.start_mark, event.end_mark
        top = self._stack[-1] if self._stack else None
        if top is not None and top.key_start is None and top.value.__class__ is dict:
            self._key(top, event)
            return
        try:
            value = _scalar_of(event)
        except ScalarError as error:
            raise self._error(start, str(error)) from None
        node = (start, end, None, LITERAL if event.style in ("|", ">") else EXACT)
        if event.anchor:
            self._anchors[event.anchor] = (value, node, 1, 0)
        self._give(value, node)

    def _key(self, top: _Open, event: Any) -> None:
        start = event.start_mark
        plain = event.implicit[0] and event.tag is None
        if plain and event.value == "<<":
            top.key_start = (start, event.end_mark)
            top.merging = True
            return
        try:
            key = key_of(event.value) if plain else key_text(_scalar_of(event))
        except ScalarError as error:
            raise self._error(start, str(error)) from None
        if event.anchor:
            node = (start, event.end_mark, None, EXACT)
            self._anchors[event.anchor] = (resolved(event.value) if plain else key, node, 1, 0)
        self._named(top, key, start, event.end_mark)

    def _named(self, top: _Open, key: str, start: Any, end: Any) -> None:
        if key in top.value and key not in top.merged:
            first = top.inside[key][0][0].line + self._line
            raise self._error(start, f"the key {key!r} is written twice, here and in line {first}: {_TWICE}")
        top.merged.discard(key)
        top.key, top.key_start = key, (start, end)

    def _mapping(self, event: Any) -> None:
        self._push({}, {}, event)

    def _list(self, event: Any) -> None:
        self._push([], [], event)

    def _push(self, value: Any, inside: Any, event: Any) -> None:
        if len(self._stack) >= MOST_DEPTH:
            raise self._error(event.start_mark, f"nested deeper than {MOST_DEPTH} levels")
        top = self._stack[-1] if self._stack else None
        if top is not None and top.key_start is None and top.value.__class__ is dict:
            raise self._error(event.start_mark, _COMPLEX, ComplexKeyError)
        self._stack.append(_Open(value, inside, event))

    def _end(self, event: Any) -> None:
        done = self._stack.pop()
        flow = event.end_mark.index > event.start_mark.index  # the closing bracket; a block ends with nothing
        node = (done.start, event.end_mark, done.inside, EXACT if flow else BLOCK)
        if done.anchor:
            self._anchors[done.anchor] = (done.value, node, done.added, done.height)
        if self._stack:
            above = self._stack[-1]
            above.added += done.added
            above.height = max(above.height, done.height + 1)
        self._give(done.value, node)

    def _alias(self, event: Any) -> None:
        name, start = event.anchor, event.start_mark
        if name not in self._anchors:
            within = any(frame.anchor == name for frame in self._stack)
            raise self._error(
                start, f"the anchor &{name} contains itself" if within else f"the alias *{name} has no anchor"
            )
        value, target, added, height = self._anchors[name]
        top = self._stack[-1] if self._stack else None
        self._aliased += added
        if self._aliased > MOST_ALIASED:
            raise self._error(start, f"aliases expand to more than {MOST_ALIASED:,} values")
        if top is None:
            return
        if top.key_start is None and top.value.__class__ is dict:
            if height:
                raise self._error(start, _COMPLEX, ComplexKeyError)
            try:
                key = key_text(value)
            except ScalarError as error:
                raise self._error(start, str(error)) from None
            self._named(top, key, start, event.end_mark)
            return
        if len(self._stack) + height > MOST_DEPTH:
            raise self._error(start, f"nested deeper than {MOST_DEPTH} levels")
        top.added += added
        top.height = max(top.height, height + 1)
        self._give(value, (start, event.end_mark, target[2], EXACT))

    def _give(self, value: Any, node: Node) -> None:
        if not self._stack:
            self._value, self._root = value, node
            return
        top = self._stack[-1]
        if top.value.__class__ is list:
            top.value.append(value)
            top.inside.append(node)
            return
        marks = top.key_start
        if top.merging:
            top.merging = False
            self._merge(top, value, node)
        else:
            top.value[top.key] = value
            top.inside[top.key] = (marks, node)
        top.key_start = None

    def _merge(self, top: _Open, value: Any, node: Node) -> None:
        """``<<``: what is merged overrides keys before it and is overridden by keys after it; earlier bases win."""
        bases = [(value, node)] if value.__class__ is dict else []
        if value.__class__ is list:
            bases = list(zip(value, node[2], strict=True))[::-1]
        if (not bases and value != []) or not all(base.__class__ is dict for base, _ in bases):
            raise self._error(node[0], "<< needs a mapping or a list of mappings")
        for base, (_, _, inside, _) in bases:
            top.merged |= base.keys() - (top.value.keys() - top.merged)
            top.value.update(base)
            top.inside.update(inside)


def _scalar_of(event: Any) -> Any:
    if event.tag is None:
        return resolved(event.value) if event.implicit[0] else event.value
    return event.value if event.tag == "!" else tagged(event.tag, event.value)
