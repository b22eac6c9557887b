"""JSON as kubectl reads it: consecutive objects, no duplicate key, bounded nesting."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NoReturn

from kubesched_lint.sources.manifests.limits import MOST_DEPTH
from kubesched_lint.sources.manifests.yaml.full_reader import BuildError, build, place_of
from kubesched_lint.sources.manifests.yaml.scalars import shown

_BLANK = " \t\r\n"
_TOO_DEEP = f"nested deeper than {MOST_DEPTH} levels"


def objects(text: str) -> Iterator[tuple[Any, str, int]]:
    """Yield each value with its text and the line in which the text begins. Raises BuildError."""
    decoder = json.JSONDecoder(object_pairs_hook=_once, parse_constant=_no_number)
    at = _skip(text, 0)
    line = 1 + text.count("\n", 0, at)
    while at < len(text):
        try:
            value, end = decoder.raw_decode(text, at)
            _check_depth(value, text[at:end])
            if "\\u" in text[at:end]:
                value = _without_surrogates(value)
        except json.JSONDecodeError as error:
            raise BuildError(f"not JSON: {error.msg}", error.lineno, error.colno) from None
        except _TwiceError as error:
            raise _placed(text, at, str(error)) from None
        except RecursionError:
            raise BuildError(f"not JSON: {_TOO_DEEP}", *place_of(text, at)) from None
        except _RefusedError as error:
            raise BuildError(f"not JSON: {error}", *place_of(text, at)) from None
        except ValueError:  # json raises a plain ValueError for nothing else
            raise BuildError("not JSON: a number of too many digits", *place_of(text, at)) from None
        # Leading blanks replace an object before it on the same line, so that columns stay right.
        yield value, " " * (at - text.rfind("\n", 0, at) - 1) + text[at:end], line
        behind = _skip(text, end)
        line += text.count("\n", at, behind)
        at = behind


class _RefusedError(ValueError):
    """Input that Python's json reads and kubectl refuses."""


def _without_surrogates(value: Any) -> Any:
    """Return the value with lone surrogates replaced by U+FFFD, as Go does: reports could not be written with them."""
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, list):
        return [_without_surrogates(item) for item in value]
    if isinstance(value, dict):
        return {_without_surrogates(key): _without_surrogates(item) for key, item in value.items()}
    return value


class _TwiceError(Exception):
    """A key is written twice in one object."""


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    object_once = dict(pairs)
    if len(object_once) < len(pairs):
        left = dict(pairs)
        twice = next(name for name, _ in pairs if left.pop(name, _once) is _once)
        raise _TwiceError(f"the key {shown(twice)} is written twice in one object")
    return object_once


def _no_number(word: str) -> NoReturn:
    raise _RefusedError(f"{word} is not a JSON number")


def _placed(text: str, at: int, words: str) -> BuildError:
    """Return the error of the YAML builder, which finds both places of a key; if it fails, use the object's place."""
    line, column = place_of(text, at)
    try:
        build(text[at:], line)
    except BuildError as error:
        if "twice" in error.message:
            return error
    return BuildError(words, line, column)


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at] in _BLANK:
        at += 1
    return at


def _check_depth(value: Any, text: str) -> None:
    """Check the nesting depth; only texts with many brackets are walked. Raises _RefusedError."""
    if text.count("{") + text.count("[") <= MOST_DEPTH:
        return
    level = [value]
    for _ in range(MOST_DEPTH + 1):
        level = [
            child
            for item in level
            for child in (item.values() if item.__class__ is dict else item)
            if child.__class__ in (dict, list)
        ]
        if not level:
            return
    raise _RefusedError(_TOO_DEEP)
