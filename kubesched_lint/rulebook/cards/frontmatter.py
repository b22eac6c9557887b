"""The YAML of a card as plain values with their lines, with YAML 1.2's scalars: ``on`` is text, not true.

Cards may be untrusted, so no tags are resolved, and size and depth are bounded.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping

import yaml
from msgspec import Struct, field

from kubesched_lint.engine.base.places import Path
from kubesched_lint.rulebook.limits import LARGEST_FRONT_MATTER, MOST_DEPTH

_WORDS: Mapping[str, bool | None] = {"true": True, "false": False, "null": None, "~": None, "": None}
_DIGITS = frozenset("0123456789")


class CardError(Exception):
    """An invalid card, at one line of its file (from 1; 0: a whole folder)."""

    def __init__(self, path: str, line: int, message: str) -> None:
        super().__init__(path, line, message)
        self.path = path
        self.line = line
        self.message = message

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.message}" if self.line else f"{self.path}: {self.message}"


class FrontMatter(Struct, frozen=True):
    """``lines`` holds the line in the file of every key and list item, by path."""

    value: Mapping[str, object]
    lines: Mapping[Path, int] = field(default_factory=dict)

    def line(self, path: Path) -> int:
        """The line of a value, or of the nearest parent that exists."""
        while path not in self.lines:
            path = path[:-1]
        return self.lines[path]


def front_matter(text: str, path: str, first_line: int) -> FrontMatter:
    """Read a YAML mapping that starts at ``first_line`` of its file. Raises CardError."""
    if len(text) > LARGEST_FRONT_MATTER:
        raise CardError(path, first_line, f"the front matter is longer than {LARGEST_FRONT_MATTER // 1024} KiB")
    try:
        # The pure Python loader: the C one crashes on deep nesting.
        node = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = first_line + (text.count("\n", 0, mark.index) if mark else 0)
        raise CardError(path, where, f"not YAML: {error.problem or error.context}") from None
    except yaml.YAMLError as error:
        raise CardError(path, first_line, f"not YAML: {str(error).splitlines()[0]}") from None
    except RecursionError:
        raise CardError(path, first_line, "not YAML that a card may hold: it is nested too deeply") from None
    if not isinstance(node, yaml.MappingNode):
        raise CardError(path, first_line, "the front matter is not a mapping")
    builder = _Builder(path, first_line, text)
    value = builder.build(node, ())
    assert isinstance(value, dict)
    return FrontMatter(value, builder.lines)


class _Builder:
    def __init__(self, path: str, first_line: int, text: str) -> None:
        self.path = path
        self._starts = [0, *(at + 1 for at, character in enumerate(text) if character == "\n")]
        self.first_line = first_line
        self.lines: dict[Path, int] = {(): first_line}

    def build(self, node: yaml.Node, at: Path) -> object:
        if len(at) > MOST_DEPTH or len(self.lines) > LARGEST_FRONT_MATTER:  # aliases expand
            raise self._error(node, "nested too deeply or too large for a card")
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, at)
        if isinstance(node, yaml.SequenceNode):
            items: list[object] = []
            for index, item in enumerate(node.value):
                self.lines[(*at, index)] = self._line(item)
                items.append(self.build(item, (*at, index)))
            return items
        assert isinstance(node, yaml.ScalarNode)
        return scalar(node.value) if node.style is None else node.value

    def _mapping(self, node: yaml.MappingNode, at: Path) -> dict[str, object]:
        mapping: dict[str, object] = {}
        for key, value in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise self._error(key, "a key must be text")
            if key.value in mapping:
                raise self._error(key, f"`{key.value}` is given twice")
            self.lines[(*at, key.value)] = self._line(key)
            mapping[key.value] = self.build(value, (*at, key.value))
        return mapping

    def _line(self, node: yaml.Node) -> int:
        # Not the mark's own line: in YAML 1.1 U+0085 and U+2028 also end a line.
        return self.first_line + bisect_right(self._starts, node.start_mark.index) - 1

    def _error(self, node: yaml.Node, message: str) -> CardError:
        return CardError(self.path, self._line(node), message)


def scalar(text: str) -> object:
    """An unquoted YAML 1.2 scalar as a bool, None, int, float or text."""
    if text in _WORDS:
        return _WORDS[text]
    digits = text[1:] if text[0] in "+-" else text
    if digits and set(digits) <= _DIGITS and len(digits) <= 18:
        return int(text)
    whole, dot, fraction = digits.partition(".")
    if dot and whole and fraction and set(whole + fraction) <= _DIGITS:
        return float(text)
    return text
