"""Flow collections on one line, ``[a, b]`` and ``{a: 1}``, in their plainest form; ``full_reader`` reads all others."""

from __future__ import annotations

import re
from typing import Any, TypeAlias

from kubesched_lint.sources.manifests.yaml.scalars import ScalarError, key_of, resolved

_DEEPEST = 20
_IN = r"[A-Za-z0-9_./$=+~@%-]"
_WORD = rf"(?![@%]|-(?!{_IN})){_IN}++(?:[: ]{_IN}++)*+"
_SCALAR = re.compile(rf"(?P<plain>{_WORD})|\"(?P<double>[^\"\\]*+)\"|'(?P<single>(?:[^']++|'')*+)'")
_BLANKS = re.compile(r"[ ]*+")
_END = re.compile(r"(?:[ ]++(?:#.*+)?)?+")

Part: TypeAlias = "tuple[int, int, Any]"
"""Start, end, and the content: parts of a list; key → (start and end of the key, part) of a mapping; None of a scalar.
"""


class FlowError(Exception):
    """Not one of the plain flow collections that this module reads."""


def read_flow(text: str) -> tuple[Any, Part]:
    """Return the collection at the start of the text, after blanks, and its parts. Raises FlowError."""
    value, part, at = _value(text, _blanks(text, 0), 0)
    if _END.fullmatch(text, at) is None:
        raise FlowError
    return value, part


def _blanks(text: str, at: int) -> int:
    match = _BLANKS.match(text, at)
    assert match is not None
    return match.end()


def _value(text: str, at: int, depth: int) -> tuple[Any, Part, int]:
    """Return the value, its part, and the offset behind it."""
    opening = text[at : at + 1]
    if opening in ("[", "{") and opening:
        if depth == _DEEPEST:
            raise FlowError
        return _list(text, at, depth + 1) if opening == "[" else _mapping(text, at, depth + 1)
    match = _SCALAR.match(text, at)
    if match is None:
        raise FlowError
    scalar = match[match.lastgroup or 0]
    value: Any = scalar.replace("''", "'") if match.lastgroup == "single" else scalar
    if match.lastgroup == "plain":
        try:
            value = resolved(scalar)
        except ScalarError:
            raise FlowError from None
    return value, (at, match.end(), None), match.end()


def _list(text: str, start: int, depth: int) -> tuple[Any, Part, int]:
    values: list[Any] = []
    parts: list[Part] = []
    at = _blanks(text, start + 1)
    while text[at : at + 1] != "]":
        value, part, at = _value(text, at, depth)
        values.append(value)
        parts.append(part)
        at = _next(text, at, "]")
    return values, (start, at + 1, parts), at + 1


def _mapping(text: str, start: int, depth: int) -> tuple[Any, Part, int]:
    values: dict[str, Any] = {}
    parts: dict[str, tuple[tuple[int, int], Part]] = {}
    at = _blanks(text, start + 1)
    while text[at : at + 1] != "}":
        match = _SCALAR.match(text, at)
        if match is None or text[match.end() : match.end() + 2] != ": ":
            raise FlowError
        key = _key(match)
        if key in values:
            raise FlowError
        values[key], part, end = _value(text, _blanks(text, match.end() + 1), depth)
        parts[key] = ((at, match.end()), part)
        at = _next(text, end, "}")
    return values, (start, at + 1, parts), at + 1


def _key(match: re.Match[str]) -> str:
    scalar = match[match.lastgroup or 0]
    if match.lastgroup != "plain":
        return scalar.replace("''", "'") if match.lastgroup == "single" else scalar
    try:
        return key_of(scalar)
    except ScalarError:
        raise FlowError from None


def _next(text: str, at: int, closing: str) -> int:
    """Return the offset of the next member or of the closing bracket."""
    at = _blanks(text, at)
    if text[at : at + 1] == ",":
        return _blanks(text, at + 1)
    if text[at : at + 1] != closing:
        raise FlowError
    return at
