"""Read a cluster from JSON; only the needed parts of each object are built."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import Raw, Struct

from kubesched_lint.engine.base.places import Path
from kubesched_lint.engine.cluster.cluster import ClusterError
from kubesched_lint.engine.cluster.collecting.collect import Collector, Header
from kubesched_lint.engine.model.decode.fields import DecodeError, Value, mapping
from kubesched_lint.sources.manifests.recognizing.meant import is_ours
from kubesched_lint.sources.manifests.yaml.braces import member, skip
from kubesched_lint.sources.objects.containers import (
    SKETCH,
    add,
    check_version,
    element_kind,
    explained,
    read_metadata,
    read_plain,
)
from kubesched_lint.sources.sketches.fields import UnknownFieldError


class JsonSyntaxError(Exception):
    """The text is not JSON; line and column count from 1."""

    def __init__(self, line: int, column: int, message: str) -> None:
        super().__init__(message)
        self.line = line
        self.column = column
        self.message = message


class _Document(Struct, gc=False):
    apiVersion: Any = None  # noqa: N815
    kind: Any = None
    metadata: Raw = Raw(b"null")
    items: list[Raw] | None = None


class _Head(Struct, gc=False):
    apiVersion: Any = None  # noqa: N815
    kind: Any = None


class _Nothing(Struct, gc=False):
    """Reads no field: the whole document is skipped."""


_NOTHING = msgspec.json.Decoder(_Nothing)
_DOCUMENT = msgspec.json.Decoder(_Document)
_HEAD = msgspec.json.Decoder(_Head)
_UNSOUND = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


def read_json(name: str, data: bytes, collector: Collector) -> frozenset[str]:
    """Return which of ``sketch`` and ``snapshot`` occur. Raises ClusterError, and JsonSyntaxError for invalid JSON."""
    origins = set()
    start = 3 if data.startswith(b"\xef\xbb\xbf") else 0
    view = memoryview(data)
    while start < len(data):
        end = _end(data, start)
        try:
            origins.add(_document(view[start:end], collector))
        except DecodeError as error:
            raise _undecodable(name, data, start, end, error) from None
        except _UNSOUND as error:
            raise _unsound(name, data, start, error) from None
        while end < len(data) and data[end] in b" \t\r\n":
            end += 1
        start = end
    return frozenset(origins) - {""}


def _undecodable(name: str, data: bytes, start: int, end: int, error: DecodeError) -> ClusterError:
    try:
        error = explained(msgspec.json.decode(memoryview(data)[start:end]), error)
        text = data.decode("utf-8", "replace")
        before = len(data[:start].decode("utf-8", "replace"))
        line, column = place_of(text, error.path, before, key=isinstance(error, UnknownFieldError))
    except _UNSOUND as unsound:
        return _unsound(name, data, start, unsound)
    return ClusterError(name, line, column, error.message)


def _unsound(name: str, data: bytes, start: int, error: Exception) -> ClusterError:
    """Return a syntax error inside strings or numbers that were skipped at first."""
    syntax_error = _syntax_error(data, start, str(error))
    return ClusterError(name, syntax_error.line, syntax_error.column, syntax_error.message)


def read_blocks(blocks: Iterator[bytes], collector: Collector) -> frozenset[str] | None:
    """Return the same for a large document's blocks from ``stream.blocks``; None if one of them is invalid."""
    ours = False
    try:
        for number, block in enumerate(blocks):
            if number and (collector.pods_json(block) or collector.nodes_json(block)):
                continue
            document = _DOCUMENT.decode(block)
            if number == 0 and is_ours(document.apiVersion):
                ours = _snapshot(document, collector) == "snapshot"
            if not ours and document.kind not in (None, "List"):
                return None
            for i, item in enumerate(document.items or ()):
                _item(item, ("items", i), "", "", collector)
    except (msgspec.DecodeError, DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return frozenset({"snapshot"} if ours else ())


def _end(data: bytes, start: int) -> int:
    """Return the end of the document that begins at ``start``; a file may hold one document per kubectl call."""
    try:
        _NOTHING.decode(memoryview(data)[start:] if start else data)
    except msgspec.ValidationError:
        return len(data)  # not an object
    except msgspec.DecodeError as error:
        text = str(error)
        if "trailing characters" in text:
            return start + int(text.rpartition("byte ")[2].rstrip(")")) - 1  # msgspec counts from 1
        raise _syntax_error(data, start, text) from None
    except RecursionError:
        raise JsonSyntaxError(1, 1, "is nested too deeply") from None
    return len(data)


def _syntax_error(data: bytes, start: int, message: str) -> JsonSyntaxError:
    """Return the error with its line and column, from the standard library's parser."""
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        line, column = line_and_column(data[: error.start].decode(), len(data[: error.start].decode()))
        return JsonSyntaxError(line, column, f"is not valid UTF-8: byte 0x{data[error.start]:02x}")
    try:
        json.JSONDecoder().raw_decode(text, len(data[:start].decode()))
    except json.JSONDecodeError as error:
        cut = error.pos >= len(text.rstrip()) or "Unterminated" in error.msg
        hint = " (the file seems to be cut off)" if cut else ""
        return JsonSyntaxError(error.lineno, error.colno, f"is not valid JSON: {error.msg}{hint}")
    except RecursionError:
        return JsonSyntaxError(1, 1, "is nested too deeply")
    except ValueError:  # json raises a plain ValueError for nothing else
        message = "a number of too many digits"
    return JsonSyntaxError(1, 1, f"is not valid JSON: {message}")


def _document(data: memoryview, collector: Collector) -> str:
    try:
        document = _DOCUMENT.decode(data)
    except msgspec.ValidationError:
        return _plainly(msgspec.json.decode(data), collector)
    if is_ours(document.apiVersion) or document.items is None:
        if document.kind != SKETCH and document.items is not None:
            return _snapshot(document, collector)
        return _plainly(msgspec.json.decode(data), collector)
    kind, version = element_kind({"kind": document.kind, "apiVersion": document.apiVersion})
    if kind:
        collector.describe(Header(kinds=frozenset([kind])))
    for i, item in enumerate(document.items):
        _item(item, ("items", i), kind, version, collector)
    return ""


def _snapshot(document: _Document, collector: Collector) -> str:
    check_version({"apiVersion": document.apiVersion, "kind": document.kind})
    meta = mapping({"metadata": msgspec.json.decode(document.metadata)}, "metadata", ())
    read_metadata(meta, collector)
    for i, item in enumerate(document.items or ()):
        _item(item, ("items", i), "", "", collector)
    return "snapshot"


def _item(item: Raw, at: Path, kind: str, version: str, collector: Collector) -> None:
    try:
        head = _HEAD.decode(item)
        if (head.kind or kind) == "Pod" and (head.apiVersion or version) == "v1":
            collector.pod_json(item)
            return
    except (msgspec.ValidationError, DecodeError):
        pass  # the slow path below reports what and where
    value = msgspec.json.decode(item)
    if not isinstance(value, dict):
        raise DecodeError(at, f"items[{at[-1]}]: expected an object, found {type(value).__name__}")
    add({"apiVersion": version, "kind": kind, **value} if kind else value, at, collector)


def _plainly(value: Value, collector: Collector) -> str:
    """Read a document as plain values; for small documents and wrong types."""
    return read_plain(value, collector)


# --- The position of a value in a JSON text, computed only when an error needs it
# ---------------------------------------


def place_of(text: str, path: Path, start: int = 0, *, key: bool = False) -> tuple[int, int]:
    """Return line and column (from 1) of the value at ``path`` in the document that begins at ``start``.

    With ``key``, the position of its key; if absent, of its nearest parent.
    """
    at = named = skip(text, start)
    for step in path:
        pair = member(text, at, step)
        if pair is None:
            break
        spelled, at = pair
        named = at if spelled is None else spelled[0]
    return line_and_column(text, named if key else at)


def line_and_column(text: str, at: int) -> tuple[int, int]:
    return text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)
