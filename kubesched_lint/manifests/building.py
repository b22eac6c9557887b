"""Values from parser events: iterative, bounded in depth and size, so that no input can exhaust stack or memory."""

from __future__ import annotations

from typing import Any

from kubesched_lint.manifests.scalars import key_text, resolved, tagged

MOST_DEPTH = 200
MOST_NODES = 2_000_000
"""Values of one document, those behind aliases counted each time they are used."""


class BuildError(ValueError):
    """A document that cannot be taken; ``line`` and ``column`` count from 1 inside it."""

    def __init__(self, message: str, line: int, column: int) -> None:
        super().__init__(message)
        self.message = message
        self.line = line
        self.column = column


class ComplexKeyError(BuildError):
    """A mapping or list as a key: nearly always an unrendered ``{{ template }}``."""


class _Open:
    """A mapping or list under construction."""

    __slots__ = ("anchor", "key", "key_mark", "lines", "nodes", "value")

    def __init__(self, value: Any, anchor: str | None) -> None:
        self.value = value
        self.anchor = anchor
        self.key: str | None = None
        self.key_mark: Any = None
        self.lines: dict[str, int] = {}
        """Of a mapping: the line of each key written so far."""
        self.nodes = 1


_MERGE = object()
"""Stands for the key ``<<`` while its value is read."""


def build(text: str) -> Any:
    """The one value of a YAML document as kubectl would see it; None for an empty one.

    Raises BuildError, also for what the parser itself refuses.
    """
    import yaml

    yaml_module: Any = yaml
    parser = yaml_module.cyaml.CParser(text)
    try:
        return _Builder(parser, yaml_module).run()
    except yaml.MarkedYAMLError as error:
        mark: Any = error.problem_mark or error.context_mark
        raise BuildError(_words(error), mark.line + 1, mark.column + 1) from None
    except yaml.reader.ReaderError as error:
        before = text[: error.position] if isinstance(error.position, int) else ""
        line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
        raise BuildError(f"the character #x{_code(error):02x} is not allowed in YAML", line, column) from None


def _code(error: Any) -> int:
    return ord(error.character) if isinstance(error.character, str) else int(error.character)


def _words(error: Any) -> str:
    problem = str(error.problem or error.context)
    return f"not YAML: {problem}" + (f" ({error.context})" if error.problem and error.context else "")


class _Builder:
    """Keeps a stack of open collections; every finished value is handed to the one on top."""

    def __init__(self, parser: Any, yaml: Any) -> None:
        self._parser = parser
        self._yaml = yaml
        self._anchors: dict[str, tuple[Any, int]] = {}
        self._open: list[_Open] = []
        self._nodes = 0
        self._result: Any = None

    def run(self) -> Any:
        y, get = self._yaml, self._parser.get_event
        while True:
            event = get()
            kind = type(event)
            if kind is y.ScalarEvent:
                self._scalar(event)
            elif kind is y.MappingStartEvent:
                self._start({}, event)
            elif kind is y.SequenceStartEvent:
                self._start([], event)
            elif kind is y.MappingEndEvent or kind is y.SequenceEndEvent:
                self._end(event)
            elif kind is y.AliasEvent:
                self._alias(event)
            elif kind is y.StreamEndEvent:
                return self._result

    def _scalar(self, event: Any) -> None:
        tag = event.tag
        if tag is None or tag == "!":
            value = resolved(event.value) if event.implicit[0] and tag is None else event.value
        else:
            value = tagged(tag, event.value)
        top = self._open[-1] if self._open else None
        if top is not None and type(top.value) is dict and top.key is None and top.key_mark is None:
            self._key(top, value, event)
            return
        if event.anchor:
            self._anchors[event.anchor] = (value, 1)
        self._give(value, 1, event)

    def _key(self, top: _Open, value: Any, event: Any) -> None:
        mark = event.start_mark
        if event.anchor:
            self._anchors[event.anchor] = (value, 1)
        if value == "<<" and event.implicit[0]:
            top.key_mark = _MERGE
            return
        key = key_text(value)
        if key is None:
            raise BuildError("null is no key for kubectl", mark.line + 1, mark.column + 1)
        if key in top.lines:
            raise BuildError(
                f"the key {key!r} is written twice, here and in line {top.lines[key]}: kubectl refuses it",
                mark.line + 1,
                mark.column + 1,
            )
        top.lines[key] = mark.line + 1
        top.key, top.key_mark = key, mark

    def _start(self, value: Any, event: Any) -> None:
        mark = event.start_mark
        if len(self._open) >= MOST_DEPTH:
            raise BuildError(f"nested deeper than {MOST_DEPTH} levels", mark.line + 1, mark.column + 1)
        top = self._open[-1] if self._open else None
        if top is not None and type(top.value) is dict and top.key is None and top.key_mark is None:
            raise ComplexKeyError("a mapping or list cannot be a key", mark.line + 1, mark.column + 1)
        self._open.append(_Open(value, event.anchor))

    def _end(self, event: Any) -> None:
        done = self._open.pop()
        if done.anchor:
            self._anchors[done.anchor] = (done.value, done.nodes)
        self._give(done.value, done.nodes, event)

    def _alias(self, event: Any) -> None:
        mark = event.start_mark
        found = self._anchors.get(event.anchor)
        if found is None:
            raise BuildError(f"the alias *{event.anchor} has no anchor before it", mark.line + 1, mark.column + 1)
        top = self._open[-1] if self._open else None
        if top is not None and type(top.value) is dict and top.key is None and top.key_mark is None:
            raise ComplexKeyError("an alias cannot be a key", mark.line + 1, mark.column + 1)
        self._give(*found, event)

    def _give(self, value: Any, nodes: int, event: Any) -> None:
        if not self._open:
            self._result = value
            return
        top = self._open[-1]
        top.nodes += nodes
        if top.nodes > MOST_NODES:
            mark = event.start_mark
            raise BuildError(f"expands to more than {MOST_NODES:,} values", mark.line + 1, mark.column + 1)
        if type(top.value) is list:
            top.value.append(value)
        elif top.key_mark is _MERGE:
            self._merge(top, value, event)
            top.key_mark = None
        else:
            top.value[top.key] = value
            top.key = top.key_mark = None

    @staticmethod
    def _merge(top: _Open, value: Any, event: Any) -> None:
        """``<<``: what is merged overrides keys before it and is overridden by keys after it; earlier bases win."""
        bases = value if isinstance(value, list) else [value]
        for base in reversed(bases):
            if not isinstance(base, dict):
                mark = event.start_mark
                raise BuildError("<< needs a mapping, or a list of mappings", mark.line + 1, mark.column + 1)
            top.value.update(base)
