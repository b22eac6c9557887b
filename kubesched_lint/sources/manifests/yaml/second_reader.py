"""Check an edit with a second reader: ruamel.yaml, or json for JSON, must read the changed values and all comments.

The edits are made and checked with libyaml and our own builder; this reader finds errors that those share. It reads
only the changed documents: the text of all others must be identical.
"""

from __future__ import annotations

import json
import re
import warnings
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise
from typing import Any, TypeAlias

from msgspec import Struct
from ruamel.yaml import YAML
from ruamel.yaml.constructor import SafeConstructor
from ruamel.yaml.error import YAMLError
from ruamel.yaml.resolver import VersionedResolver
from ruamel.yaml.scanner import Scanner

from kubesched_lint.sources.manifests.changes import Change, ChangeError, applied
from kubesched_lint.sources.manifests.yaml.nodes import BLOCKS
from kubesched_lint.sources.manifests.yaml.split import is_json

_MARKER = re.compile(r"^---(?=[ \t\n]|\Z)", re.MULTILINE)
_COMMENT = re.compile(r"#.*")
Mark: TypeAlias = tuple[int, int, str]
"""Start and end offsets of a token, and the style of a scalar."""


class _ReadError(Exception):
    """The second reader cannot read a text."""


class Made(Struct, frozen=True):
    """A change with paths from the root of a document; ``line`` is its last line in the changed text, from 1."""

    line: int
    change: Change


class _Read(Struct, frozen=True):
    value: Any
    comments: tuple[str, ...]


def objection(before: str, after: str, made: Sequence[Made]) -> str:
    """Return why the changed text is not to be trusted, as the end of "not changed: …"; empty if it is.

    Also empty if the second reader cannot read the original text: a tag, a duplicate key, a byte that is not text.
    """
    old, new = _documents(before), _documents(after)
    if len(old) != len(new):
        return "another YAML reader finds other documents"
    first_lines = list(accumulate((part.count("\n") for part in new[:-1]), initial=1))
    changes: dict[int, list[Change]] = {}
    for made_change in made:
        changes.setdefault(bisect_right(first_lines, made_change.line) - 1, []).append(made_change.change)
    for number, (part, changed) in enumerate(zip(old, new, strict=True)):
        words = _differs(part, changed, changes.get(number, ())) if part != changed or number in changes else ""
        if words:
            return words
    return ""


def _documents(text: str) -> list[str]:
    """Split before each marker ``---``: a document begins wherever it stands in column 0 (YAML 1.2, 9.1.2)."""
    cuts = [0, *(marker.start() for marker in _MARKER.finditer(text)), len(text)]
    return [text[start:end] for start, end in pairwise(cuts)]


def _differs(before: str, after: str, changes: Sequence[Change]) -> str:
    try:
        old = _read(before)
    except _ReadError:
        return ""
    try:
        new = _read(after)
        wanted = old.value
        for change in changes:
            wanted = applied(wanted, change)
        if not _same(wanted, new.value):
            return "another YAML reader reads other values"
    except (_ReadError, ChangeError):
        return "another YAML reader cannot read the change"
    return "" if old.comments == new.comments else "a comment would be lost or moved"


def _same(first: Any, other: Any) -> bool:
    """Return whether the values are equal; true is not 1, and NaN equals NaN."""
    if type(first) is not type(other):
        return False
    if isinstance(first, dict):
        return first.keys() == other.keys() and all(_same(held, other[key]) for key, held in first.items())
    if isinstance(first, list):
        return len(first) == len(other) and all(map(_same, first, other))
    return bool(first == other) or (first != first and other != other)  # not a number


def _read(text: str) -> _Read:
    try:
        return _json(text) if is_json(text) else _yaml(text)
    except RecursionError:
        raise _ReadError from None


def _json(text: str) -> _Read:
    try:
        return _Read(json.loads(text), ())
    except ValueError:
        return _yaml(text)


def _yaml(text: str) -> _Read:
    """Read with ruamel's own scanner and parser, in pure Python, independent of libyaml."""
    marks: list[Mark] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # 1e3 has no dot
        try:
            value = _keyed(_reader(marks).load(text))
        except (YAMLError, ValueError, OverflowError, TypeError, AttributeError, LookupError):
            raise _ReadError from None
    return _Read(value, tuple(_comments(text, marks)))


def _reader(marks: list[Mark]) -> Any:
    """Return a reader like kubectl's: YAML 1.1, with or without a directive; dates are text.

    It appends each token to ``marks``: between tokens there are only white space and comments.
    """

    class Noting(Scanner):
        def get_token(self) -> Any:
            token = super().get_token()
            marks.append((token.start_mark.index, token.end_mark.index, getattr(token, "style", None) or ""))
            return token

    class Dateless(SafeConstructor):
        pass

    class Eleven(VersionedResolver):
        """ruamel.yaml falls back to 1.2 after each ``---``, where 0600 is not octal and ``yes`` is text."""

        @property
        def processing_version(self) -> Any:
            return (1, 1)

    Dateless.add_constructor("tag:yaml.org,2002:timestamp", SafeConstructor.construct_yaml_str)
    reader: Any = YAML(typ="safe", pure=True)
    reader.Scanner, reader.Constructor, reader.Resolver = Noting, Dateless, Eleven
    return reader


def _keyed(value: Any) -> Any:
    """Return the value with keys as JSON has them, which paths use."""
    if isinstance(value, dict):
        keyed = {_key(key): _keyed(held) for key, held in value.items()}
        if len(keyed) < len(value):
            raise _ReadError
        return keyed
    if isinstance(value, list):
        return [_keyed(item) for item in value]
    return value


def _key(key: Any) -> str:
    if isinstance(key, bool):
        return "true" if key else "false"
    if isinstance(key, (str, int, float)):
        return str(key)
    raise _ReadError


def _comments(text: str, marks: Sequence[Mark]) -> Iterator[str]:
    at = 0
    for start, end, style in (*marks, (len(text), len(text), "")):
        if start > at:
            yield from map(str.rstrip, _COMMENT.findall(text, at, start))
        if style in BLOCKS:  # a comment may follow the bar
            yield from map(str.rstrip, _COMMENT.findall(text, start, text.find("\n", start)))
        at = max(at, end)
