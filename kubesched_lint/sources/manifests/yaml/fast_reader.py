"""The fast reader for plain block YAML, line by line.

It leaves all unusual text to ``full_reader``. Manifests repeat themselves: thousands of files hold the same ``
protocol: TCP``. So each line is split into its head (indentation, dash, key) and its tail (the value), and both are
cached. Flow collections are shared within and between documents, so callers must not change values. The accepted syntax
is a small, unambiguous part of YAML; tests compare values and positions with ``full_reader``.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from kubesched_lint.sources.manifests.limits import MOST_DEPTH
from kubesched_lint.sources.manifests.yaml.flow import FlowError, read_flow
from kubesched_lint.sources.manifests.yaml.scalars import ScalarError, key_of, resolved

_REMEMBERED = 1 << 14
_LONG = 400
"""Longer texts are not cached, and longer flow collections are not read here."""

# The patterns are used only for printable text: no tab, control character, exotic blank, line break or BOM.
IS_TRUSTED = sys.version_info >= (3, 11, 5)
"""Earlier interpreters mishandle possessive quantifiers (python/cpython#106052): the full reader reads all there."""

_COMMENT = r"(?:[ ]++(?:\#.*+)?)?+"
_KEY = r"(?:[A-Za-z0-9_./$][A-Za-z0-9_./$~+@-]*+|\"[A-Za-z0-9_./$~+@ -]++\"|'[A-Za-z0-9_./$~+@ -]++')"
_PLAIN = (
    r"(?:[^ \-?:,\[\]{}\#&*!|>'\"%@`]|-(?=[^ ]))"
    # A colon before a blank would end the scalar, and so would a "#" after a blank.
    r"(?:[^ :\#]++|:(?=[^ ])|(?<=[^ ])\#|[ ]++(?=[^ \#]))*+"
)
_HEAD = re.compile(rf"([ ]*+)(-[ ]++)?+({_KEY})")
_TAIL = re.compile(
    rf"[ ]*+(?:(?P<plain>{_PLAIN})|\"(?P<double>[^\"\\]*+)\"|'(?P<single>(?:[^']++|'')*+)'"
    rf"|(?P<block>\|-?)(?=[ ]*+$)|(?P<flow>[\[{{].*+))?+{_COMMENT}"
)
_ITEM = re.compile(r"([ ]*+)-([ ]++)(.++)")
_NOTHING = re.compile(r"[ ]*+(?:\#.*+)?")


class NotPlainError(Exception):
    """The text is not plain: it may be valid or broken."""


class Special:
    """A tail that is not a scalar: nothing, the header of a block scalar, or a flow collection."""

    __slots__ = ("header", "value")

    def __init__(self, header: str = "", value: Any = None) -> None:
        self.header = header
        """``|`` or ``|-``."""
        self.value = value
        """The flow collection; None for nothing."""


NOTHING = Special()
T = TypeVar("T")


class _Memory(dict[str, T], Generic[T]):
    """A cache:

    ``memory[text]`` is ``make(text)``; exceptions are not cached. A hit costs half of one in ``lru_cache``, which
    reorders its list on each hit; nine of ten lines are hits. A full cache is cleared.
    """

    __slots__ = ("_make",)

    def __init__(self, make: Callable[[str], T]) -> None:
        self._make = make

    def __missing__(self, text: str) -> T:
        value = self._make(text)
        if len(text) < _LONG:
            if len(self) >= _REMEMBERED:
                self.clear()
            self[text] = value
        return value


Head = tuple[int, int, str]
"""(block id, block id of the key after '- ' or -1, key or '' for a comment).

Block id = 2 * column for a mapping, + 1 for a list. A line with the id of the current block continues it, a smaller id
ends it, and a larger one begins a block under the key before it. The + 1 is needed because a list may stand in the same
column as its key.
"""


def _head(text: str) -> Head | None:
    """Return the head before ``:``; None if it is not a plain key."""
    match = _HEAD.fullmatch(text)
    if match is None:
        return (-1, -1, "") if text.lstrip(" ")[:1] == "#" and text.isprintable() else None
    indent, dash, key = match.groups()
    if key[0] in "\"'":
        key = key[1:-1]
    else:
        try:
            key = key_of(key)
        except ScalarError:
            return None
    if dash:
        return 2 * len(indent) + 1, 2 * len(indent + dash), key
    return 2 * len(indent), -1, key


def _tail(text: str) -> Any:
    """Return what follows ``: `` or ``- ``: a scalar, or a Special. Raises NotPlainError."""
    if text[:1] == '"' and text.find('"', 1) == len(text) - 1 and "\\" not in text and text.isprintable():
        return text[1:-1]  # the usual case of a cache miss: half the time of the pattern
    match = _TAIL.fullmatch(text)
    if match is None or not text.isprintable():
        raise NotPlainError
    kind = match.lastgroup
    if kind is None:
        return NOTHING
    scalar = match[kind]
    if kind == "plain":
        try:
            return resolved(scalar)
        except ScalarError:
            raise NotPlainError from None
    if kind == "block":
        return Special(scalar)
    if kind == "flow":
        if len(scalar) > _LONG:
            raise NotPlainError
        try:
            return Special("", read_flow(text)[0])
        except FlowError:
            raise NotPlainError from None
    return scalar.replace("''", "'") if kind == "single" else scalar


def tail_match(text: str) -> tuple[int, int]:
    """Return the start and end of the scalar in a tail, with its quotes."""
    match = _TAIL.fullmatch(text)
    assert match is not None
    kind = match.lastgroup or 0
    quotes = 1 if kind in ("double", "single") else 0
    return match.start(kind) - quotes, match.end(kind) + quotes


def _line(line: str) -> tuple[int, int, str | None, Any]:
    """Return the head (key None for an item) and value of a line without ``:

    ``; block id -1 for blanks and comments. Raises NotPlainError.
    """
    if not line.isprintable():
        raise NotPlainError
    if _NOTHING.fullmatch(line):
        return -1, -1, None, None
    if line[-1] == ":":
        head = HEADS[line[:-1]]
        if head is not None:
            return (*head, NOTHING)
    item = _ITEM.fullmatch(line)
    if item is None:
        raise NotPlainError
    value = TAILS[item[3]]
    if value is NOTHING:
        raise NotPlainError
    return 2 * len(item[1]) + 1, 2 * (len(item[1]) + 1 + len(item[2])), None, value


HEADS = _Memory(_head)
TAILS = _Memory(_tail)
LINES = _Memory(_line)


def read_plain(text: str) -> dict[str, Any]:
    """Return the mapping that a document of plain block YAML holds. Raises NotPlainError."""
    if not IS_TRUSTED:
        raise NotPlainError
    lines = _lines(text)
    rest = iter(lines)
    root: dict[str, Any] = {}
    collection: Any = root
    block = 0  # block id of ``collection``, see Head
    key: str | None
    waiting: str | None = None  # a key of ``collection`` whose value, if any, begins on a later line
    stack: list[tuple[Any, int]] = []
    for line in rest:
        before, colon, after = line.partition(": ")
        if colon and (head := HEADS[before]) is not None:
            at, inner, key = head
            if not key:
                if line.isprintable():
                    continue
                raise NotPlainError
            value = TAILS[after]
        else:
            at, inner, key, value = LINES[line]
            if at < 0:
                continue

        if at != block:
            if at > block:
                if waiting is None or len(stack) > MOST_DEPTH // 2:
                    raise NotPlainError
                new: Any = [] if at & 1 else {}
                collection[waiting] = new
                stack.append((collection, block))
                collection, block = new, at
            else:
                while at < block:
                    collection, block = stack.pop()
                if at != block:
                    raise NotPlainError  # a scalar of several lines, or indentation that matches no block
        waiting = None

        if inner >= 0:
            if key is None:
                if type(value) is Special:
                    value = _special(value, lines, rest, at)
                collection.append(value)
                continue
            new = {}
            collection.append(new)
            stack.append((collection, block))
            collection, block = new, inner
        elif key in collection:
            raise NotPlainError
        if type(value) is Special:
            if value is NOTHING:
                waiting = key
                value = None
            else:
                value = _special(value, lines, rest, block)
        collection[key] = value
    return root


def _lines(text: str) -> list[str]:
    """Return the lines; a ``---`` before them, with at most a comment behind it, is an empty one: the lines keep their
    numbers. Raises NotPlainError.
    """
    lines = text.split("\n")
    first = lines[0]
    if first[:3] == "---":
        if not first.isprintable() or _NOTHING.fullmatch(first, 4) is None or first[3:4].strip():
            raise NotPlainError
        lines[0] = ""
    return lines


def _special(special: Special, lines: list[str], rest: Any, block: int) -> Any:
    """Return the value of a special tail.

    For a literal that begins in this block, ``rest`` advances behind its lines.
    """
    if not special.header:
        return special.value
    number = len(lines) - rest.__length_hint__()
    end, margin = literal_lines(lines, number, block >> 1)
    text = "\n".join([line[margin:] for line in lines[number:end]]).rstrip("\n")
    if not text or not text.replace("\t", "").replace("\n", "").isprintable():
        raise NotPlainError
    rest.__setstate__(end)
    return text + "\n" if special.header == "|" else text


def literal_lines(lines: list[str], number: int, indent: int) -> tuple[int, int]:
    """Return (line after the literal, its indentation) of the literal at line ``number`` under a key in column
    ``indent``. Raises NotPlainError.
    """
    count = len(lines)
    start = number
    while start < count and not lines[start].strip(" "):
        start += 1
    if start == count:
        raise NotPlainError
    first = lines[start]
    inner = len(first) - len(first.lstrip(" "))
    if inner <= indent or first[inner] == "\t" or any(len(line) > inner for line in lines[number:start]):
        raise NotPlainError
    margin = " " * inner
    end = start
    while end < count and (lines[end].startswith(margin) or not lines[end].strip(" ")):
        end += 1
    if end == count and lines[-1]:
        raise NotPlainError  # without a newline at the end of the text, the value has none either
    if end < count and lines[end].startswith(" " * (indent + 1)):
        raise NotPlainError  # a line that belongs neither to the literal nor to the enclosing block
    return end, inner
