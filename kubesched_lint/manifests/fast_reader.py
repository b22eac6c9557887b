"""The fast reader: plain block YAML is read line by line, and whatever is out of the ordinary is left to ``building``.

Manifests repeat themselves: the same ``    protocol: TCP`` stands in thousands of files. So a line is taken apart into
its head (indentation, dash, key) and its tail (the value), and both are remembered: flow collections are shared, within
a document and between documents, so nobody may change values. What is accepted here is a small part of YAML whose
meaning is beyond doubt; tests hold values and places against ``building``.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from kubesched_lint.manifests.flow import FlowError, read_flow
from kubesched_lint.manifests.scalars import ScalarError, key_of, resolved

MOST_DEPTH = 100
_REMEMBERED = 1 << 14
_LONG = 400
"""Longer texts are not remembered, and longer flow collections not read here."""

# All are asked of printable text only: no tab, no control, no exotic blank, line break or byte order mark.
IS_TRUSTED = sys.version_info >= (3, 11, 5)
"""Earlier interpreters mistake possessive quantifiers (python/cpython#106052): the complete reader reads all there."""

_COMMENT = r"(?:[ ]++(?:\#.*+)?)?+"
_KEY = r"(?:[A-Za-z0-9_./$][A-Za-z0-9_./$~+@-]*+|\"[A-Za-z0-9_./$~+@ -]++\"|'[A-Za-z0-9_./$~+@ -]++')"
_PLAIN = (
    r"(?:[^ \-?:,\[\]{}\#&*!|>'\"%@`]|-(?=[^ ]))"
    # A colon before a blank would end it, and a "#" behind one.
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
    """The text is not plain: it may be valid, broken, or something in between."""


class Special:
    """A tail that is no scalar: nothing, the header of a block scalar, or a flow collection."""

    __slots__ = ("header", "value")

    def __init__(self, header: str = "", value: Any = None) -> None:
        self.header = header
        """``|`` or ``|-``."""
        self.value = value
        """A flow collection; None for nothing."""


NOTHING = Special()
T = TypeVar("T")


class _Memory(dict[str, T], Generic[T]):
    """``memory[text]`` is what ``make`` says of a text, remembered; what it raises is not.

    A hit costs half of one in ``lru_cache``, which moves what was found to the front of its list: of ten lines nine are
    hits. When it is full it begins anew.
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
"""What a line belongs to, what the key behind its dash belongs to (-1 without one), key (empty for a comment).

A line belongs to the block in its column, and that is one number: twice the column for a mapping, one more for a list.
So a line goes on with the block that we are in when the numbers are equal, ends it when its own is less, and begins one
beneath the key before it when it is more: a list may stand in the very column of its key.
"""


def _head(text: str) -> Head | None:
    """What stands before ``:``; None when it is no plain key."""
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
    """What stands behind ``:`` or ``-`` and a blank: a scalar, or a Special. Raises NotPlainError."""
    if text[:1] == '"' and text.find('"', 1) == len(text) - 1 and "\\" not in text and text.isprintable():
        return text[1:-1]  # most of what is met for the first time: half of the time of the pattern
    match = _TAIL.fullmatch(text)
    if match is None or not text.isprintable():
        raise NotPlainError
    kind = match.lastgroup
    if kind is None:
        return NOTHING
    found = match[kind]
    if kind == "plain":
        try:
            return resolved(found)
        except ScalarError:
            raise NotPlainError from None
    if kind == "block":
        return Special(found)
    if kind == "flow":
        if len(text) > _LONG:
            raise NotPlainError
        try:
            return Special("", read_flow(text)[0])
        except FlowError:
            raise NotPlainError from None
    return found.replace("''", "'") if kind == "single" else found


def tail_match(text: str) -> tuple[int, int]:
    """Where the scalar of a tail begins and ends, its quotes included."""
    match = _TAIL.fullmatch(text)
    assert match is not None
    kind = match.lastgroup or 0
    quotes = 1 if kind in ("double", "single") else 0
    return match.start(kind) - quotes, match.end(kind) + quotes


def _line(line: str) -> tuple[int, int, str | None, Any]:
    """A line without ``: ``: what a Head has (key None for an item), and the value; -1 for blanks and comments.

    Raises NotPlainError.
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
    """The mapping that a document of plain block YAML is. Raises NotPlainError."""
    if not IS_TRUSTED:
        raise NotPlainError
    lines = text.split("\n")
    rest = iter(lines)
    if _has_marker(lines[0]):
        next(rest)
    root: dict[str, Any] = {}
    here: Any = root
    block = 0  # the number of ``here``, see Head
    key: str | None
    waiting: str | None = None  # a key of ``here`` whose value, if any, begins in a later line
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
                if waiting is None or len(stack) > MOST_DEPTH:
                    raise NotPlainError
                new: Any = [] if at & 1 else {}
                here[waiting] = new
                stack.append((here, block))
                here, block = new, at
            else:
                while at < block:
                    here, block = stack.pop()
                if at != block:
                    raise NotPlainError  # a scalar that goes on, or indentation that fits nothing
        waiting = None

        if inner >= 0:
            if key is None:
                if type(value) is Special:
                    value = _special(value, lines, rest, at)
                here.append(value)
                continue
            new = {}
            here.append(new)
            stack.append((here, block))
            here, block = new, inner
        elif key in here:
            raise NotPlainError
        if type(value) is Special:
            if value is NOTHING:
                waiting = key
                value = None
            else:
                value = _special(value, lines, rest, block)
        here[key] = value
    return root


def _has_marker(line: str) -> bool:
    """Whether the document begins with ``---`` and nothing but a comment behind it. Raises NotPlainError."""
    if line[:3] != "---":
        return False
    if not line.isprintable() or _NOTHING.fullmatch(line, 4) is None or line[3:4].strip():
        raise NotPlainError
    return True


def _special(found: Special, lines: list[str], rest: Any, block: int) -> Any:
    """The value; of a literal that begins in a line of this block, whose lines ``rest`` then passes over."""
    if not found.header:
        return found.value
    number = len(lines) - rest.__length_hint__()
    end, margin = literal_lines(lines, number, block >> 1)
    text = "\n".join([line[margin:] for line in lines[number:end]]).rstrip("\n")
    if not text or not text.replace("\t", "").replace("\n", "").isprintable():
        raise NotPlainError
    rest.__setstate__(end)
    return text + "\n" if found.header == "|" else text


def literal_lines(lines: list[str], number: int, indent: int) -> tuple[int, int]:
    """Of the literal that begins in line ``number`` beneath ``indent``: the line behind it, and its own indentation.

    Raises NotPlainError.
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
        raise NotPlainError  # without a line end at the end of the text, the value has none either
    if end < count and lines[end].startswith(" " * (indent + 1)):
        raise NotPlainError  # a line that belongs neither to the literal nor to what is around it
    return end, inner
