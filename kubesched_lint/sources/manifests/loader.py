"""Split the bytes of a file into documents; each is read separately, so that a broken one does not hide others."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from kubesched_lint.engine.base.places import Path
from kubesched_lint.files import content
from kubesched_lint.findings import InputError
from kubesched_lint.sources.manifests.document import Document, Skipped, Text, Unread, print_of
from kubesched_lint.sources.manifests.files import find_files
from kubesched_lint.sources.manifests.inputs import KUSTOMIZATIONS, LARGEST, STDIN, InputFile, standard_input
from kubesched_lint.sources.manifests.kustomize.contents import may_be_manifest
from kubesched_lint.sources.manifests.recognizing.classify import (
    FILLED_IN,
    HELM,
    TERRAFORM,
    YTT,
    breaks_by_template,
    has_placing_field,
    holds_pod_template,
    is_called_patch,
    is_custom,
    is_named_by_template,
    is_of_terraform,
    is_of_ytt,
    kind_to_count,
    line_to_fill_in,
    listed_patch,
    may_be_template,
    patch_reason,
    places_pods,
    wraps_pod_template,
)
from kubesched_lint.sources.manifests.recognizing.not_applied import left_to_others
from kubesched_lint.sources.manifests.yaml.braces import NotJsonError, value_of
from kubesched_lint.sources.manifests.yaml.fast_reader import NotPlainError, read_plain
from kubesched_lint.sources.manifests.yaml.places import is_in_braces, span_of
from kubesched_lint.sources.manifests.yaml.split import DocumentText, broken_byte, is_json, parts, text_of

if TYPE_CHECKING:
    from kubesched_lint.sources.manifests.yaml.full_reader import ComposedValue

__all__ = ["Entry", "FastReader", "InputFile", "IsRead", "documents", "documents_of", "find_files", "source_lines"]

IsRead = Callable[[object, object], bool]
"""Whether a kind, given as apiVersion and kind, is decoded."""
FastReader = Callable[[str], dict[str, Any]]
"""A reader of plain block YAML that raises NotPlainError for other text."""
Entry = Document | Unread | Skipped | InputError


_ENCRYPTED = b"sops"


def documents_of(
    file: InputFile, is_read: IsRead, fast_reader: FastReader = read_plain, *, again: bool = False
) -> Iterator[Entry]:
    """Return the documents of a file that ``find_files`` found; ``again``: their texts may be read again."""
    entries = documents(
        file.path,
        file.data,
        is_read,
        patch_of=file.patch_of,
        in_kustomization=file.in_kustomization,
        unrendered=file.unrendered,
        fast_reader=fast_reader,
        again=file.real if again else "",
        is_meant=not file.real or file.is_named or file.unrendered,
    )
    rendering, filling, by = file.rendering, file.filling, file.delivered_by
    if rendering is not None:
        entries = (rendering.placed(entry) for entry in entries)
    if filling is not None:
        entries = (filling.filled(entry) if isinstance(entry, Document) else entry for entry in entries)
    if by is not None:
        entries = (replace(entry, delivered_by=by) if isinstance(entry, Document) else entry for entry in entries)
    if by is not None or _ENCRYPTED in file.data:
        entries = (left_to_others(entry) if isinstance(entry, Document) else entry for entry in entries)
    return entries


def documents(
    path: str,
    data: bytes,
    is_read: IsRead,
    *,
    patch_of: str = "",
    in_kustomization: bool = False,
    unrendered: bool = False,
    fast_reader: FastReader = read_plain,
    again: str = "",
    is_meant: bool = True,
) -> Iterator[Entry]:
    """Return all documents of a file: to decode, to count (Unread), to skip, or broken (with line and column).

    ``again`` is the file from which the texts can be read again. ``is_meant``: nobody found the file by chance, so
    that what cannot be read of it is an error even if it names no apiVersion and kind.
    """
    if data.startswith(_VERSION) and re.fullmatch(_POINTER, data):
        words = "a pointer of Git LFS: the file itself was not fetched (git lfs pull)"
        return iter((InputError(path, words) if is_meant else Skipped(path, 1, words, unrendered="Git LFS pointer"),))
    entries = _documents(path, data, is_read, patch_of, in_kustomization, unrendered, fast_reader, again)
    return entries if is_meant else _without_others(entries, data)


def _without_others(entries: Iterator[Entry], data: bytes) -> Iterator[Entry]:
    """Yield the entries; what cannot be read is only counted in a file that cannot hold a manifest.

    A repository has settings of editors and programs, data and templates that are called like manifests.
    """
    for entry in entries:
        is_broken = isinstance(entry, InputError)
        if (is_broken or (isinstance(entry, Skipped) and entry.reason == _BEHIND)) and not may_be_manifest(data):
            if is_broken:
                yield Unread(entry.path, entry.line or 1, "")
        else:
            yield entry


_VERSION = b"version https://git-lfs.github.com/spec/"
_POINTER = re.escape(_VERSION) + rb"v\d+(?:\r?\n[a-z0-9.-]+ [^\s]+)+\s*"
"""All of the file: no line is a field of YAML, because kubectl reads an object that begins like a pointer."""
_BEHIND = "kubectl ignores text behind '...': separate documents with '---'"


def _documents(
    path: str,
    data: bytes,
    is_read: IsRead,
    patch_of: str,
    in_kustomization: bool,
    unrendered: bool,
    fast_reader: FastReader,
    again: str,
) -> Iterator[Entry]:
    if patch_of:
        return iter((Skipped(path, 1, listed_patch(patch_of)),))
    text = text_of(path, data)
    if isinstance(text, InputError):
        return iter((text,))
    if is_of_ytt(text):
        return iter((Skipped(path, 1, YTT),))
    reader = _Reader(path, is_read, in_kustomization, unrendered, fast_reader, again)
    if is_json(text):
        return reader.json(text)
    return reader.templated(text) if may_be_template(text) else reader.yaml(text)


class _Reader:
    """The settings that all documents of one file share."""

    __slots__ = ("_again", "_fast_reader", "_in_kustomization", "_is_read", "_path", "_unrendered")

    def __init__(
        self,
        path: str,
        is_read: IsRead,
        in_kustomization: bool,
        unrendered: bool,
        fast_reader: FastReader,
        again: str,
    ) -> None:
        self._path = path
        self._is_read = is_read
        # A file called patch is meant as a patch, listed or not.
        self._in_kustomization = in_kustomization or is_called_patch(path)
        self._unrendered = unrendered
        self._fast_reader = fast_reader
        self._again = again

    def yaml(self, text: str) -> Iterator[Entry]:
        for index, part in enumerate(parts(text)):
            yield from self._part(index, part)

    def json(self, text: str) -> Iterator[Entry]:
        """Yield the JSON values; text that is not JSON may still be YAML in braces, or a template."""
        from kubesched_lint.sources.manifests.yaml.full_reader import BuildError
        from kubesched_lint.sources.manifests.yaml.jsontext import objects

        broken = broken_byte(self._path, DocumentText(text, 1))
        if broken is not None:
            yield broken
            return
        read_entries: list[Entry] = []
        try:
            for index, (value, own, line) in enumerate(objects(text)):
                read_entries += self._objects(index, DocumentText(own, line), value, (), False)
        except BuildError as error:
            entries = list(self.templated(text))
            helm = any(isinstance(entry, Skipped) for entry in entries)
            if helm or not (self._path.endswith(".json") or any(isinstance(entry, InputError) for entry in entries)):
                yield from entries
            else:
                yield InputError(self._path, error.message, error.line, error.column)
        else:
            yield from read_entries

    def templated(self, text: str) -> Iterator[Entry]:
        """Yield the documents of a file with ``{{``; if a template breaks one, yield a single entry: a Helm source."""
        read_entries: list[Entry] = []
        for index, part in enumerate(parts(text)):
            entries = list(self._part(index, part, suspect=may_be_template(part.text)))
            read_entries += entries
            helm = [entry for entry in entries if isinstance(entry, Skipped) and entry.reason is HELM]
            if helm:
                yield helm[0]
                return
        yield from read_entries

    def _part(self, index: int, part: DocumentText, suspect: bool = False) -> Iterator[Entry]:
        known = kind_to_count(part.text, self._is_read)
        counted: Unread | None = None
        if known is not None:
            version, kind, at = known
            line = part.line + part.text.count("\n", 0, at)
            wraps, places = wraps_pod_template(part.text), is_custom(version) and places_pods(part.text)
            counted = Unread(self._path, line, kind, version, wraps, places_pods=places, seen=print_of(part.text))
            if not suspect:
                if is_sound(part.text):
                    yield counted
                else:
                    yield from self._unusual(index, part, False, None)
                return
        try:
            value: Any = self._fast_reader(part.text)
        except NotPlainError:
            yield from self._unusual(index, part, suspect, counted)
            return
        if suspect and is_named_by_template(value):
            yield Skipped(self._path, part.line, HELM)
        elif counted is not None:
            yield counted
        elif value:
            yield from self._objects(index, part, value, (), True)

    def _unusual(self, index: int, part: DocumentText, suspect: bool, counted: Unread | None) -> Iterator[Entry]:
        """Yield a document that the fast reader cannot read."""
        from kubesched_lint.sources.manifests.yaml.full_reader import BuildError, tree

        broken = broken_byte(self._path, part)
        if broken is not None:
            yield broken
            return
        try:
            parsed = _in_braces(part.text) or tree(part.text, part.line)
        except BuildError as error:
            if suspect and breaks_by_template(part.text, error.line - part.line + 1):
                yield Skipped(self._path, part.line, HELM)
            elif is_of_terraform(part.text):
                yield counted or Skipped(self._path, part.line, TERRAFORM)
            elif placeholder := line_to_fill_in(part.text, error.line - part.line + 1):
                yield counted or Skipped(self._path, part.line, f"{FILLED_IN} {placeholder}")
            else:
                yield counted or InputError(self._path, error.message, error.line, error.column)
            return
        if suspect and is_named_by_template(parsed.value):
            yield Skipped(self._path, part.line, HELM)
        elif counted is not None:
            yield counted
        elif parsed.value is not None:
            line = part.line + part.text.count("\n", 0, parsed.start)
            yield from self._objects(index, part, parsed.value, (), False, line)
        if parsed.rest:
            where = part.line + parsed.rest - 1
            yield Skipped(self._path, where, _BEHIND)

    def _objects(
        self, index: int, part: DocumentText, value: Any, prefix: Path, plain: bool, line: int = 0
    ) -> Iterator[Entry]:
        """Yield the object, or the items of a List one by one."""
        reason = patch_reason(value, part.text, self._in_kustomization) if not prefix else None
        if reason is not None:
            yield Skipped(self._path, part.line, reason)
            return
        if not isinstance(value, dict):
            yield Unread(self._path, line or part.line, "")
            return
        kind, version = value.get("kind"), value.get("apiVersion")
        items = value.get("items")
        if isinstance(kind, str) and kind.endswith("List") and isinstance(items, list) and len(prefix) < 8:
            for i, item in enumerate(items):
                if kind != "List" and isinstance(version, str) and isinstance(item, dict) and "kind" not in item:
                    item = {"apiVersion": version, "kind": kind.removesuffix("List"), **item}
                yield from self._objects(index, part, item, (*prefix, "items", i), plain)
        elif isinstance(kind, str) and isinstance(version, str) and self._is_read(version, kind):
            meta = value.get("metadata")
            if not isinstance(meta, dict):
                meta = {}
            yield Document(
                self._path,
                index,
                kind,
                version,
                Text(part.text, value, self._again if plain else "", index),
                part.line,
                prefix,
                plain,
                self._unrendered,
                name=str(meta.get("name") or ""),
                generate_name=str(meta.get("generateName") or ""),
                namespace=str(meta.get("namespace") or ""),
                annotations=meta.get("annotations"),
                is_stored=bool(meta.get("resourceVersion")),
            )
        else:
            missing = _missing(value, kind, version)
            if missing and not self._in_kustomization:
                span = span_of(part.text, part.line, prefix, plain=plain)
                words = f"no {missing}, although it has metadata: kubectl refuses such an object"
                yield InputError(self._path, words, span.line, span.column)
            else:
                yield self._unread(value, kind, version, line or part.line, print_of(part.text, prefix))

    def _unread(self, value: Any, kind: object, version: object, line: int, seen: int) -> Unread:
        name = kind if isinstance(kind, str) else ""
        if not name and self._path.endswith(KUSTOMIZATIONS):
            name = "Kustomization"
        version = version if isinstance(version, str) else ""
        places = is_custom(version) and has_placing_field(value)
        return Unread(self._path, line, name, version, holds_pod_template(value), places_pods=places, seen=seen)


def is_sound(text: str) -> bool:
    """Return whether a document is valid YAML.

    It parses without building values, at half the cost of reading.
    """
    if "yaml" not in sys.modules:  # most runs need no parser
        try:
            read_plain(text)
        except NotPlainError:
            pass
        else:
            return True
    import yaml

    module: Any = yaml
    try:
        module.cyaml.CParser(text).raw_parse()
    except (module.YAMLError, UnicodeEncodeError):  # UnicodeEncodeError: bytes that are not UTF-8
        return False
    return True


def _missing(value: dict[str, Any], kind: object, version: object) -> str:
    """Return which of apiVersion and kind is missing from an object that has a name and the other one; else empty.

    Other programs have metadata and a kind, too, such as ``storage#object``.
    """
    metadata = value.get("metadata")
    is_named = isinstance(metadata, dict) and not metadata.keys().isdisjoint(("name", "generateName"))
    if not is_named or isinstance(kind, str) == isinstance(version, str):
        return ""
    if isinstance(kind, str):
        return "apiVersion" if kind[:1].isupper() and kind.isalnum() else ""
    return "kind"


def source_lines(path: str) -> Sequence[str]:
    """Return the lines of a file for a report's excerpts; empty if it can no longer be read."""
    if path == STDIN:
        text = text_of(path, standard_input())
    else:
        try:
            text = text_of(path, content(path, LARGEST))
        except OSError:
            return ()
    return text.split("\n") if isinstance(text, str) else ()


def _in_braces(text: str) -> ComposedValue | None:
    """Return the value of a document that is JSON; None if only the full reader knows what it means."""
    if not is_in_braces(text):
        return None
    from kubesched_lint.sources.manifests.yaml.full_reader import ComposedValue

    try:
        return ComposedValue(*value_of(text))
    except NotJsonError:
        return None
