"""YAML documents in braces that are JSON, read and searched by the standard library in a fraction of the time.

Only where JSON and YAML mean the same: ASCII, without escapes, tabs and DEL, with short keys before their colons, and
numbers that are plain integers.
"""

from __future__ import annotations

import re
from json import JSONDecoder
from json.decoder import scanstring  # type: ignore[attr-defined]
from typing import Any, NoReturn

from kubesched_lint.engine.base.places import Path
from kubesched_lint.sources.manifests.limits import LONGEST_SEARCHED, MOST_DEPTH

_LONG = 1_000
"""Characters of a key: YAML takes up to 1,024."""
_BLANK = " \t\r\n"
_HEAD = re.compile(r"(?:---(?=[ \r\n]))?[ \r\n]*(?=\{)")
_REFUSED = re.compile(r'[^\x20-\x7e\r\n]|\\|"[ \r\n]*[\r\n][ \r\n]*:')
_FAR_FROM_64_BITS = 18
"""Digits."""


class NotJsonError(ValueError):
    """The text is not JSON, or YAML may read it otherwise."""


def value_of(text: str) -> tuple[dict[str, Any], int]:
    """Return the object of a document, and the offset where it begins. Raises NotJsonError."""
    start = _start(text)
    if text.count("{") + text.count("[") > MOST_DEPTH:
        raise NotJsonError
    try:
        value, end = _STRICT.raw_decode(text, start)
    except ValueError:
        raise NotJsonError from None
    if end < len(text) and skip(text, end) < len(text):
        raise NotJsonError
    return value, start


def place_of(text: str, path: Path, *, key: bool = False) -> tuple[int, int]:
    """Return start and end of the value at ``path``, or of its nearest parent; with ``key``, of its key.

    Raises NotJsonError.
    """
    if len(text) > LONGEST_SEARCHED:
        raise NotJsonError
    at, named = _start(text), None
    try:
        for step in path:
            pair = member(text, at, step)
            if pair is None:
                named = None
                break
            named, at = pair
        if key and named:
            return named
        end = _DECODER.raw_decode(text, at)[1]
    except (ValueError, IndexError, RecursionError):
        raise NotJsonError from None
    behind = skip(text, end)
    if behind < len(text) and text[behind] not in ",}]":
        raise NotJsonError
    return at, end


def _start(text: str) -> int:
    head = _HEAD.match(text)
    if head is None or _REFUSED.search(text):
        raise NotJsonError
    return head.end()


def member(text: str, at: int, step: str | int) -> tuple[tuple[int, int] | None, int] | None:
    """Return start and end of the key of a member of the object or list at ``at``, and the start of its value.

    The key of a list's item is None. Raises ValueError or IndexError where the text is not JSON.
    """
    opening = text[at]
    if opening not in "{[" or (opening == "[") != isinstance(step, int):
        return None
    closing = "}" if opening == "{" else "]"
    at, number = skip(text, at + 1), 0
    named = None
    while text[at] != closing:
        key: str | int
        if opening == "{":
            if text[at] != '"':
                raise NotJsonError
            begin = at
            key, at = scanstring(text, at + 1, False)
            named, at = (begin, at), skip(text, at)
            if text[at] != ":":
                raise NotJsonError
            at = skip(text, at + 1)
        else:
            key, number = number, number + 1
        if key == step:
            return named, at
        at = skip(text, _DECODER.raw_decode(text, at)[1])
        if text[at] == ",":
            at = skip(text, at + 1)
        elif text[at] != closing:
            raise NotJsonError
    return None


def skip(text: str, at: int) -> int:
    """Return the offset of the first character from ``at`` on that is not blank."""
    while at < len(text) and text[at] in _BLANK:
        at += 1
    return at


def _refused(_: object) -> NoReturn:
    raise NotJsonError


def _integer(digits: str) -> int:
    if len(digits) > _FAR_FROM_64_BITS or digits == "-0":
        raise NotJsonError
    return int(digits)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    object_once = dict(pairs)
    if len(object_once) < len(pairs) or any(len(name) > _LONG for name in object_once):
        raise NotJsonError
    return object_once


_DECODER = JSONDecoder()
_STRICT = JSONDecoder(object_pairs_hook=_once, parse_float=_refused, parse_int=_integer, parse_constant=_refused)
