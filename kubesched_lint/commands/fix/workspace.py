"""Manifest files with changes, in memory; ``write`` puts one on disk."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from itertools import groupby
from time import sleep
from typing import IO

from msgspec import Struct, field
from msgspec.structs import replace

from kubesched_lint.custom.kinds import SHIPPED, Kinds
from kubesched_lint.engine.base.places import Path
from kubesched_lint.files import content, opened, place_of
from kubesched_lint.linter.reading.manifest_set import ManifestSet, manifest_set
from kubesched_lint.sources.manifests.changes import Append, Change, ChangeError, Put, Remove, Rename
from kubesched_lint.sources.manifests.document import Document, Text
from kubesched_lint.sources.manifests.editing import splice_of, spliced
from kubesched_lint.sources.manifests.inputs import LARGEST, STDIN, standard_input
from kubesched_lint.sources.manifests.loader import Entry, documents
from kubesched_lint.sources.manifests.rendered.provenance import KustomizeRendering
from kubesched_lint.sources.manifests.yaml.fragments import Fragment, fragments
from kubesched_lint.sources.manifests.yaml.second_reader import Made, objection
from kubesched_lint.sources.manifests.yaml.split import text_of
from kubesched_lint.writing import kept, replacing

_TRIES = 100
_PAUSE = 0.05
"""Seconds between attempts to lock a file, which another run may be writing."""


class WriteError(Exception):
    """A file was not written; the message names it and says why."""


class OpenFile(Struct, frozen=True, dict=True):
    """A file: ``first`` are its bytes when linted, ``data`` its bytes after the changes in ``made``.

    ``entries`` are the loader's entries of ``data``; the number of documents never changes. ``made`` has (number of the
    document, change); paths in a change start at the root of the document's text.
    """

    path: str
    first: bytes
    data: bytes
    entries: tuple[Entry, ...]
    in_kustomization: bool
    unrendered: bool
    kinds: Kinds = SHIPPED
    made: tuple[tuple[int, Change], ...] = ()
    is_source: bool = False
    """Objects are rendered from it; it is none of the set's own files."""

    @cached_property
    def documents(self) -> tuple[Document, ...]:
        return tuple(entry for entry in self.entries if isinstance(entry, Document))

    @cached_property
    def _numbers(self) -> Mapping[tuple[int, Path, int], int]:
        return {(d.line, d.prefix, d.index): n for n, d in enumerate(self.documents)}

    def number_of(self, document: Document) -> int | None:
        """Return the index of a document; None if it has been changed."""
        number = self._numbers.get((document.line, document.prefix, document.index))
        return number if number is not None and self.documents[number].text == document.text else None

    def changed(self, number: int, change: Change) -> OpenFile:
        """Return the file with one change in the object of document ``number``. Raises ChangeError."""
        document = self.documents[number]
        change = _within(change, document)
        data = spliced(self.data, document, splice_of(document.text, change))
        made = replace(self, data=data, entries=tuple(self.read(data)), made=(*self.made, (number, change)))
        if [d.prefix for d in made.documents] != [d.prefix for d in self.documents]:
            raise ChangeError("the change would alter the file's list of documents")
        return made

    def objection(self) -> str:
        """Return why a second YAML parser rejects the changed bytes, to end "not fixed: …"; empty if it does not."""
        before, after = text_of(self.path, self.first), text_of(self.path, self.data)
        if not isinstance(before, str) or not isinstance(after, str):
            return "the file is not text"
        last_lines = [d.line + d.text.rstrip("\n").count("\n") for d in self.documents]
        return objection(before, after, [Made(last_lines[number], change) for number, change in self.made])

    def read(self, data: bytes) -> Iterator[Entry]:
        if self.is_source:
            return _sources(self.path, data)
        held = self.in_kustomization
        return documents(self.path, data, self.kinds.is_read, in_kustomization=held, unrendered=self.unrendered)


class Workspace(Struct, frozen=True):
    """A manifest set with open files: ``open_files`` by path, None for a file that cannot be edited.

    ``closed``: path of a file that must not be edited → the reason. ``buffers``: path → the bytes that were linted in
    place of those on the disk.
    """

    manifests: ManifestSet
    open_files: Mapping[str, OpenFile | None] = field(default_factory=dict)
    closed: Mapping[str, str] = field(default_factory=dict)
    buffers: Mapping[str, bytes] = field(default_factory=dict)
    rendered: int = 0
    """Number of kustomizations that were rendered to read the set again."""

    def open(self, document: Document) -> tuple[Workspace, int]:
        """Return the workspace with the document's file open, and the document's index there. Raises ChangeError."""
        if document.rendering is not None:
            raise ChangeError("a tool rendered it")
        if document.path in self.closed:
            raise ChangeError(self.closed[document.path])
        workspace = self
        if document.path not in self.open_files:
            mine = [d for d in self.manifests.documents if d.path == document.path]
            if any(own_document.has_variables for own_document in mine):
                raise ChangeError("Flux fills in variables of this file: change it by hand")
            data = self.buffers[document.path] if document.path in self.buffers else _bytes(document.path)
            open_file = None if data is None else _open_file(document.path, data, mine, self.manifests.kinds)
            workspace = replace(self, open_files={**self.open_files, document.path: open_file})
        open_file = workspace.open_files[document.path]
        if open_file is None:
            raise ChangeError("the file has changed since it was read, or it is generated")
        number = open_file.number_of(document)
        if number is None:
            raise ChangeError("another fix has changed the document")
        return workspace, number

    def open_source(self, source: Fragment) -> tuple[Workspace, int]:
        """Return the workspace with a file open from which objects are rendered, and the index of the document there.

        Raises ChangeError.
        """
        path = source.path
        if path in self.closed:
            raise ChangeError(self.closed[path])
        workspace = self
        if path not in self.open_files:
            data = _bytes(path)
            if data is None or self.buffers.get(path, data) != data:
                raise ChangeError("the file has changed since it was read")
            if any(document.path == path for document in self.manifests.documents):
                raise ChangeError("its objects are read without rendering, too")
            open_file = OpenFile(path, data, data, (), in_kustomization=False, unrendered=False, is_source=True)
            open_file = replace(open_file, entries=tuple(open_file.read(data)))
            workspace = replace(self, open_files={**self.open_files, path: open_file})
        known = workspace.open_files[path]
        documents = () if known is None else known.documents
        alike = (
            n for n, document in enumerate(documents) if (document.line, document.text) == (source.line, source.text)
        )
        number = next(alike, None)
        if number is None:
            raise ChangeError("the file has changed since it was read")
        return workspace, number

    def changed(self, path: str, number: int, changes: Iterable[Change]) -> Workspace:
        """Return the workspace with the changes, made in order, in one object of an open file. Raises ChangeError."""
        open_file = self.open_files[path]
        assert open_file is not None
        for change in changes:
            open_file = open_file.changed(number, change)
        return replace(self, open_files={**self.open_files, path: open_file})

    def reread(self, namespace: str) -> Workspace:
        """Return the workspace with the manifest set read from the changed files, and rendered from them."""
        open_files = [open_file for open_file in self.open_files.values() if open_file is not None]
        fresh = {open_file.path: iter(open_file.documents) for open_file in open_files if not open_file.is_source}
        read = self.manifests
        changed = {os.path.realpath(open_file.path): open_file.data for open_file in self.differing}
        again = _rendered_again(read, changed)
        entries_read: list[Entry] = []
        told: set[KustomizeRendering] = set()
        for document in read.documents:
            made_by = document.rendering
            if not isinstance(made_by, KustomizeRendering) or made_by not in again:
                is_fresh = document.path in fresh
                entries_read.append(_applied_as(document, next(fresh[document.path])) if is_fresh else document)
            elif made_by not in told:
                told.add(made_by)
                entries_read += again[made_by]
        entries: tuple[Entry, ...] = (*entries_read, *read.unread, *read.skipped, *read.given_errors)
        made = manifest_set(entries, namespace, kinds=read.kinds)
        # Releases that are not read are among the documents of what was rendered again, and of nothing else.
        made = replace(made, before=read.before, releases=read.releases, unread=tuple(dict.fromkeys(made.unread)))
        return replace(self, manifests=made, rendered=len(again))

    @property
    def differing(self) -> tuple[OpenFile, ...]:
        """The changed files, by path."""
        open_files = (
            open_file
            for open_file in self.open_files.values()
            if open_file is not None and open_file.data != open_file.first
        )
        return tuple(sorted(open_files, key=lambda open_file: open_file.path))


def _rendered_again(read: ManifestSet, changed: Mapping[str, bytes]) -> Mapping[KustomizeRendering, tuple[Entry, ...]]:
    if not any(isinstance(document.rendering, KustomizeRendering) for document in read.documents):
        return {}
    from kubesched_lint.commands.fix.rerendering import rendered_again

    return rendered_again(read.documents, changed, read.kinds)


def _applied_as(before: Document, document: Document) -> Document:
    """Return a document that was read anew, applied by what applied the one ``before``, and with what that fills in."""
    filled = document if before.filled_in is None else before.filled_in.by.filled(document)
    return replace(filled, delivered_by=before.delivered_by)


def _sources(path: str, data: bytes) -> Iterator[Document]:
    """Yield the documents of a file, whatever they are: manifests, patches of objects or lists of operations."""
    text = text_of(path, data)
    for number, fragment in enumerate(fragments(path, text) if isinstance(text, str) else ()):
        yield Document(
            path,
            number,
            fragment.kind,
            "",
            Text(fragment.text, fragment.value),
            fragment.line,
            is_plain=fragment.is_plain,
        )


def _within(change: Change, document: Document) -> Change:
    """Return the change with its path from the root of the document's text."""
    at = (*document.prefix, *change.at)
    match change:
        case Put(_, value, after):
            return Put(at, value, after)
        case Append(_, item, after):
            return Append(at, item, after)
        case Rename(_, key):
            return Rename(at, key)
        case Remove():
            return Remove(at)


def _open_file(path: str, data: bytes, mine: list[Document], kinds: Kinds) -> OpenFile | None:
    """Return the file if it still has the documents that were linted, else None."""
    for in_kustomization in (False, True):
        open_file = OpenFile(path, data, data, (), in_kustomization, any(d.unrendered for d in mine), kinds)
        open_file = replace(open_file, entries=tuple(open_file.read(data)))
        if _places(open_file.documents) == _places(mine) and _texts(open_file.documents) == _texts(mine):
            return open_file
    return None


def _places(documents: Iterable[Document]) -> list[tuple[int, Path, int]]:
    return [(d.line, d.prefix, d.index) for d in documents]


def _texts(documents: Iterable[Document]) -> list[str]:
    """Return the text of each YAML document once; the items of a List share it."""
    return [text for _, (text, *_) in groupby((d.text for d in documents), key=id)]


def _bytes(path: str) -> bytes | None:
    if path == STDIN:
        return standard_input()
    try:
        return content(path, LARGEST)
    except OSError:
        return None


def write(open_file: OpenFile) -> None:
    """Replace the file by its changed bytes atomically. Raises WriteError, and then the file is unchanged.

    Owner and permissions stay; hard links keep the old file. Never writes through a link, because a repository's author
    chooses its target, which the user may not want to change.
    """
    try:
        place = place_of(open_file.path)
        if place.is_linked or os.path.islink(open_file.path):
            raise WriteError(f"{open_file.path} is behind a link and was not written: name the file itself")
        with opened(open_file.path) as old, _alone(old, open_file.path), replacing(place.real, 0o600) as file:
            known = os.fstat(old.fileno())
            if not known.st_mode & 0o222 or not os.access(place.real, os.W_OK):
                raise WriteError(f"{open_file.path} cannot be written: it is read-only")
            file.write(open_file.data)
            _own(file, known)
            os.fchmod(file.fileno(), known.st_mode & 0o7777)
            kept(file)
            if _bytes(open_file.path) != open_file.first or not os.path.samestat(os.lstat(place.real), known):
                raise WriteError(f"{open_file.path} has changed since it was read, and was not written")
    except OSError as error:
        raise WriteError(f"{open_file.path} cannot be written: {(error.strerror or str(error)).lower()}") from None


@contextmanager
def _alone(file: IO[bytes], path: str) -> Iterator[None]:
    """Hold a lock on the file, so that no other run writes it. Raises WriteError if the lock stays taken."""
    for _ in range(_TRIES):
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            break
        except BlockingIOError:
            sleep(_PAUSE)
        except OSError:  # a file system without locks
            break
    else:
        raise WriteError(f"{path} cannot be written: another program has locked it")
    yield  # the lock ends with the file


def _own(file: IO[bytes], known: os.stat_result) -> None:
    """Give the file its old owner. Only root may do so; for other users it stays theirs, as with an editor."""
    if (known.st_uid, known.st_gid) != (os.geteuid(), os.getegid()):
        try:
            os.fchown(file.fileno(), known.st_uid, known.st_gid)
        except PermissionError:
            pass
