"""Where a value stands in a JSON text, found only when an error has to point at it."""

from __future__ import annotations

import json
from json.decoder import scanstring  # type: ignore[attr-defined]

from kubesched_lint.findings import Path

_SPACE = " \t\n\r"
_DECODER = json.JSONDecoder()


def place_of(text: str, path: Path, start: int = 0, *, key: bool = False) -> tuple[int, int]:
    """Line and column (from 1) of the value at ``path`` in the document that begins at ``start``.

    Of its key with ``key``; of its nearest parent if it is absent.
    """
    at = named = _skip(text, start)
    for step in path:
        found = _member(text, at, step)
        if found is None:
            break
        named, at = found
    return line_and_column(text, named if key else at)


def line_and_column(text: str, at: int) -> tuple[int, int]:
    return text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)


def _member(text: str, at: int, step: str | int) -> tuple[int, int] | None:
    """Where a member of the object or list at ``at`` begins, and where its value does."""
    opening = text[at]
    if opening not in "{[" or (opening == "[") != isinstance(step, int):
        return None
    at, number = _skip(text, at + 1), 0
    while text[at] not in "}]":
        begin = at
        if opening == "{":
            key, at = scanstring(text, at + 1, False)
            at = _skip(text, _skip(text, at) + 1)
        else:
            key, number = number, number + 1
        if key == step:
            return begin, at
        _, at = _DECODER.raw_decode(text, at)
        at = _skip(text, at)
        if text[at] == ",":
            at = _skip(text, at + 1)
    return None


def _skip(text: str, at: int) -> int:
    while text[at] in _SPACE:
        at += 1
    return at
