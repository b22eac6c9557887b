"""Build values and positions from parser events: iterative, with bounded depth and size for any input.

This is the complete but slow reader; ``fast_reader`` reads plain documents several times faster and leaves all others
to this one.
"""

from __future__ import annotations

import re
from collections.abc import Container
from typing import Any, TypeAlias

import yaml
from msgspec import Struct

from kubesched_lint.sources.manifests.limits import MOST_ALIASED, MOST_DEPTH, MOST_DIRECTIVES, MOST_PARTS
from kubesched_lint.sources.manifests.yaml.scalars import ScalarError, key_of, key_text, resolved, shown, tagged

EXACT, BLOCK, LITERAL = 0, 1, 2
"""Whether a node ends at its mark, with its last child, or with its last line of text."""

Node: TypeAlias = "tuple[int, int, Any, int]"
"""Start and end offsets in the text, the content, and one of EXACT, BLOCK, LITERAL.

The content of a mapping: key → (start and end of the key, node of the value); of a list: nodes; of a scalar: None.
"""

_TWICE = "kubectl keeps the last, Kustomize refuses the file"
_COMPLEX = "a mapping or list cannot be a key"
_NOT_YAML = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_TABS = "a tab where YAML wants spaces"
_PLAIN_WORDS = {
    "found a tab character that violates indentation": _TABS,
    "found a tab character where an indentation space is expected": _TABS,
    "could not find expected ':'": "a key without its ':'",
    "mapping values are not allowed in this context": "': ' cannot stand here: check quotes and indentation",
    "block sequence entries are not allowed in this context": "'- ' cannot stand here: it begins a line of its own",
    "did not find expected key": "expected a key here: check indentation and quotes",
    "did not find expected '-' indicator": "expected '- ' here: check the indentation",
    "did not find expected <document start>": "text behind the end of the value",
}
_NEVER_CLOSED = {
    "while scanning a quoted scalar": "a quote that is never closed",
    "while parsing a flow sequence": "a '[' that is never closed",
    "while parsing a flow mapping": "a '{' that is never closed",
}


_OPENING, _CLOSING = "[{", "]}"
_LIBYAML_TOO_DEEP = "exceeded maximum nesting depth"
"""libyaml 0.2.6 refuses 1,000 levels, and scans that far ahead of the events that we count."""


class BuildError(ValueError):
    """The document is refused; ``line`` and ``column`` count from 1, in its file."""

    def __init__(self, message: str, line: int, column: int) -> None:
        super().__init__(message)
        self.message = message
        self.line = line
        self.column = column


class ComplexKeyError(BuildError):
    """A mapping or list as a key: nearly always an unrendered ``{{ template }}``."""


_TOO_DEEP = f"nested deeper than {MOST_DEPTH} levels"


class ComposedValue(Struct, frozen=True):
    """``start`` is the offset of the value, -1 for an empty document; ``rest`` the line of text behind ``...`` or 0."""

    value: Any
    start: int = -1
    rest: int = 0
    root: Node | None = None


def build(text: str, line: int = 1) -> Any:
    """Return the value of a YAML document as kubectl reads it; None for an empty one.

    ``line``: its first line in the file.

    Raises BuildError, also for what the parser itself refuses.
    """
    return tree(text, line).value


def tree(text: str, line: int = 1, *, places: bool = False) -> ComposedValue:
    """Return the value like ``build``, with the position of every value if ``places`` is true."""
    try:
        return _tree(text, line, places)
    except _TwiceError:
        _tree(text, line, True)  # raises, with both places
        raise


def _tree(text: str, line: int, places: bool) -> ComposedValue:
    if text.startswith("%") and text.count("\n%") > MOST_DIRECTIVES:
        raise BuildError(f"more than {MOST_DIRECTIVES} directives", line, 1)
    module: Any = yaml
    try:
        return _Builder(module, text, line, places).run()
    except yaml.reader.ReaderError:
        raise _bad_character(text, line) from None
    except yaml.MarkedYAMLError as error:
        words, mark = _problem_of(error, text)
        raise BuildError(f"not YAML: {words}", *place_of(text, mark.index, line)) from None


def place_of(text: str, at: int, line: int = 1) -> tuple[int, int]:
    """Return line and column as editors count them; libyaml also ends lines at U+0085 and U+2028."""
    at = min(at, len(text))
    return line + text.count("\n", 0, at), at - text.rfind("\n", 0, at)


def _bad_character(text: str, line: int) -> BuildError:
    match = _NOT_YAML.search(text)
    at = match.start() if match else 0
    return BuildError(f"not YAML: the character U+{ord(text[at]):04X} is not allowed", *place_of(text, at, line))


def _problem_of(error: Any, text: str) -> tuple[str, Any]:
    """Return the parser's refusal in plain words, and the mark of its position."""
    mark, opened = error.problem_mark, error.context_mark
    if mark is None:
        return str(error.context), opened
    if opened is not None and error.context in _NEVER_CLOSED and not text[mark.index :].strip():
        return _NEVER_CLOSED[error.context], opened
    problem = str(error.problem)
    if "cannot start any token" in problem:
        character = text[mark.index : mark.index + 1]
        return _TABS if character == "\t" else f"{character!r} cannot begin a value: quote it", mark
    return _PLAIN_WORDS.get(problem) or f"{problem} ({error.context})".removesuffix(" (None)"), mark


class _TwiceError(Exception):
    """A key is written twice; only a second reading, with positions, finds its first place."""


class _Open:
    """A mapping or list under construction; ``inside`` holds the nodes of ``value`` if positions are wanted."""

    __slots__ = ("added", "anchor", "height", "inside", "key", "merged", "merging", "named", "start", "value")

    def __init__(self, value: Any, inside: Any, event: Any) -> None:
        self.value = value
        self.inside = inside
        self.start: int = event.start_mark.index
        self.anchor: str | None = event.anchor
        self.key: str | None = None
        self.named: tuple[int, int] | None = None
        """Start and end of the key whose value comes next; None if a key comes next."""
        self.merging = False
        self.merged: set[str] = set()
        """Keys that only a ``<<`` set: they may be written once more."""
        self.added = 1
        """Number of values inside; those behind aliases count each time."""
        self.height = 1


class _Builder:
    """Keep a stack of open collections and add each finished value to the top one."""

    def __init__(self, yaml: Any, text: str, line: int, places: bool) -> None:
        self._parser = yaml.cyaml.CParser(text)
        self._text = text
        self._line = line
        self._places = places
        self._yaml = yaml
        self._refusal = yaml.MarkedYAMLError
        self._last = yaml.StreamEndEvent, yaml.DocumentEndEvent
        # Anchor → its value, its node, the number of values it adds, its depth.
        self._anchors: dict[str, tuple[Any, Node | None, int, int]] = {}
        self._stack: list[_Open] = []
        self._aliased = 0
        self._value: Any = None
        self._start = -1
        self._root: Node | None = None

    def run(self) -> ComposedValue:
        yaml, get, last = self._yaml, self._parser.get_event, self._last
        on = {  # not an attribute: a builder that holds its own methods is freed by the garbage collector alone
            yaml.ScalarEvent: self._scalar,
            yaml.MappingStartEvent: self._mapping,
            yaml.SequenceStartEvent: self._list,
            yaml.MappingEndEvent: self._end,
            yaml.SequenceEndEvent: self._end,
            yaml.AliasEvent: self._alias,
        }
        event: Any = None
        try:
            for _ in range(MOST_PARTS):
                if (kind := (event := get()).__class__) in last:
                    break
                act = on.get(kind)
                if act is not None:
                    act(event)
            else:
                parts = f"more than {MOST_PARTS:,} keys, values and collections"
                raise self._error(event.start_mark, f"{parts}: no API server takes so large an object")
        except self._refusal as error:
            if error.problem == _LIBYAML_TOO_DEEP:
                read = 0 if event is None else event.end_mark.index
                raise self._too_deep(read, error.problem_mark) from None
            raise
        rest = self._behind_end(event.explicit, on) if kind is last[1] else 0
        return ComposedValue(self._value, self._start, rest, self._root)

    def _behind_end(self, explicit: bool, on: Container[type]) -> int:
        """Return the line of text behind ``...``, or 0: kubectl splits only at ``---`` and ignores such text."""
        try:
            while (kind := (event := self._parser.get_event()).__class__) is not self._last[0]:
                if kind in on:
                    return place_of(self._text, event.start_mark.index, 1)[0]
        except self._refusal as error:
            if not explicit:
                raise
            mark = error.problem_mark or error.context_mark
            return place_of(self._text, mark.index, 1)[0]
        return 0

    def _too_deep(self, read: int, mark: Any) -> BuildError:
        """Return our refusal of what libyaml refuses at ``mark``, at the bracket that is one too many.

        ``read``: where the last event ends. Between them stands what libyaml scanned ahead: hardly more than brackets.
        """
        depth = len(self._stack)
        for at in range(read, mark.index):
            depth += (self._text[at] in _OPENING) - (self._text[at] in _CLOSING)
            if depth > MOST_DEPTH:
                return BuildError(_TOO_DEEP, *place_of(self._text, at, self._line))
        return self._error(mark, _TOO_DEEP)

    def _error(self, mark: Any, message: str, kind: type[BuildError] = BuildError) -> BuildError:
        return kind(message, *place_of(self._text, mark.index, self._line))

    def _scalar(self, event: Any) -> None:
        top = self._stack[-1] if self._stack else None
        if top is not None and top.named is None and top.value.__class__ is dict:
            self._key(top, event)
            return
        try:
            value = _scalar_of(event)
        except ScalarError as error:
            raise self._error(event.start_mark, str(error)) from None
        node = None
        if self._places:
            kind = LITERAL if event.style in ("|", ">") else EXACT
            node = (event.start_mark.index, event.end_mark.index, None, kind)
        if event.anchor:
            self._anchors[event.anchor] = (value, node, 1, 0)
        if top is None:
            self._start = event.start_mark.index
        self._give(value, node)

    def _key(self, top: _Open, event: Any) -> None:
        plain = event.implicit[0] and event.tag is None
        if plain and event.value == "<<":
            top.named = (event.start_mark.index, event.end_mark.index)
            top.merging = True
            return
        try:
            key = key_of(event.value) if plain else key_text(_scalar_of(event))
        except ScalarError as error:
            raise self._error(event.start_mark, str(error)) from None
        if event.anchor:
            node = (event.start_mark.index, event.end_mark.index, None, EXACT)
            self._anchors[event.anchor] = (resolved(event.value) if plain else key, node, 1, 0)
        self._named(top, key, event)

    def _named(self, top: _Open, key: str, event: Any) -> None:
        start = event.start_mark
        if key in top.value:
            if key not in top.merged:
                if not self._places:
                    raise _TwiceError
                first = self._line + self._text.count("\n", 0, top.inside[key][0][0])
                raise self._error(start, f"the key {shown(key)} is written twice, here and in line {first}: {_TWICE}")
            top.merged.discard(key)
        top.key, top.named = key, (start.index, event.end_mark.index)

    def _mapping(self, event: Any) -> None:
        self._push({}, {}, event)

    def _list(self, event: Any) -> None:
        self._push([], [], event)

    def _push(self, value: Any, inside: Any, event: Any) -> None:
        if len(self._stack) >= MOST_DEPTH:
            raise self._error(event.start_mark, _TOO_DEEP)
        top = self._stack[-1] if self._stack else None
        if top is None:
            self._start = event.start_mark.index
        elif top.named is None and top.value.__class__ is dict:
            raise self._error(event.start_mark, _COMPLEX, ComplexKeyError)
        self._stack.append(_Open(value, inside, event))

    def _end(self, event: Any) -> None:
        done = self._stack.pop()
        done.added += len(done.value)
        node = None
        if self._places:
            # end mark of a closing bracket; a block ends with an empty token
            flow = event.end_mark.index > event.start_mark.index
            node = (done.start, event.end_mark.index, done.inside, EXACT if flow else BLOCK)
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
            words = f"the anchor &{name[:60]} contains itself" if within else f"the alias *{name[:60]} has no anchor"
            raise self._error(start, words)
        value, target, added, height = self._anchors[name]
        self._aliased += added
        if self._aliased > MOST_ALIASED:
            raise self._error(start, f"aliases expand to more than {MOST_ALIASED:,} values")
        top = self._stack[-1]  # an alias cannot be a root: its anchor would be outside the document
        if top.named is None and top.value.__class__ is dict:
            if height:
                raise self._error(start, _COMPLEX, ComplexKeyError)
            try:
                key = key_text(value)
            except ScalarError as error:
                raise self._error(start, str(error)) from None
            self._named(top, key, event)
            return
        if len(self._stack) + height > MOST_DEPTH:
            raise self._error(start, _TOO_DEEP)
        top.added += added
        top.height = max(top.height, height + 1)
        self._give(value, (start.index, event.end_mark.index, target[2], EXACT) if target else None)

    def _give(self, value: Any, node: Node | None) -> None:
        """Add a finished value to the open collection, or set it as the root."""
        if not self._stack:
            self._value, self._root = value, node
            return
        top = self._stack[-1]
        if top.value.__class__ is list:
            top.value.append(value)
            if node:
                top.inside.append(node)
            return
        named, top.named = top.named, None
        if top.merging:
            top.merging = False
            self._merge(top, value, node, named)
        else:
            top.value[top.key] = value
            if node:
                top.inside[top.key] = (named, node)

    def _merge(self, top: _Open, value: Any, node: Node | None, named: tuple[int, int] | None) -> None:
        """Apply ``<<``: it overrides keys before it, keys after it override it, and earlier bases win."""
        bases = value[::-1] if value.__class__ is list else [value]
        if not all(base.__class__ is dict for base in bases):
            assert named is not None
            where = place_of(self._text, named[0], self._line)
            raise BuildError("<< needs a mapping or a list of mappings", *where)
        for base in bases:
            top.merged.update(key for key in base if key not in top.value or key in top.merged)
            top.value.update(base)
        if node:
            for _, _, inside, _ in node[2][::-1] if value.__class__ is list else [node]:
                top.inside.update(inside)


def _scalar_of(event: Any) -> Any:
    if event.tag is None:
        return resolved(event.value) if event.implicit[0] else event.value
    return event.value if event.tag == "!" else tagged(event.tag, event.value)
