"""Read and validate files with several processes: less waiting for more CPU time.

This process takes chunks of files from the front, the workers from the end, until they meet. A worker returns what it
made of a chunk: its documents, decoded, and what the API server would refuse in them. To unpickle that takes a tenth of
the time. What a worker cannot decode or judge, this process tries again, so that the result is the same.
"""

from __future__ import annotations

import multiprocessing
import pickle
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from typing import Any

from kubesched_lint.commands.lint.workers import Workers, closing, serve
from kubesched_lint.custom.kinds import SHIPPED, Kinds
from kubesched_lint.findings import InputError
from kubesched_lint.linter.reading import ManifestSet, decoded, manifest_set, refused_of
from kubesched_lint.manifests.document import Document, Skipped
from kubesched_lint.manifests.inputs import InputFile, amount_to
from kubesched_lint.manifests.loader import Entry, documents_of
from kubesched_lint.model.decode.objects import is_read
from kubesched_lint.record import replace
from kubesched_lint.validation.refusals import Refusals

Found = InputFile | Skipped | InputError
Chunk = Sequence[Found]
_LOOK_AFTER = 0.5
"""Seconds without an answer after which we check whether a worker is missing."""
_Made = tuple[tuple[str, Any] | None, Refusals | None]
"""Of a document: its field in Inventory and the decoded object, and the API server's refusals; None if that failed."""
_FileRead = list[tuple[Entry, _Made]]
_NOTHING: _Made = (None, None)

_ENOUGH = 2 << 20
"""Bytes of manifests below which starting a worker takes longer than it saves."""
_CHUNK = 96 << 10
"""Bytes: about 10 ms of work, so that the last chunk is short."""


def is_worthwhile(files: Sequence[Found]) -> bool:
    """Return whether there is enough work for another process, and the system can fork."""
    # macOS can fork, but its own libraries may crash the child.
    forks = "fork" in multiprocessing.get_all_start_methods() and sys.platform != "darwin"
    return forks and amount_to(files, _ENOUGH)


def read_together(
    files: Sequence[Found], jobs: int, namespace: str, version: str, kinds: Kinds = SHIPPED
) -> ManifestSet:
    """Return the manifest set of the files, validated for ``version``, with ``jobs`` processes including this one."""
    chunks = list(_chunks(files))
    with closing(
        Workers(jobs - 1, multiprocessing.get_context("fork"), _begin, chunks, namespace, version, kinds)
    ) as workers:
        reading = _Reading(chunks, workers, kinds)
        return manifest_set(reading.entries(), namespace, version, reading.refused_of, kinds, reading.decoded)


def _chunks(files: Sequence[Found]) -> Iterator[list[Found]]:
    chunk: list[Found] = []
    size = 0
    for file in files:
        chunk.append(file)
        size += len(file.data) if isinstance(file, InputFile) else 0
        if size >= _CHUNK:
            yield chunk
            chunk, size = [], 0
    yield chunk


class _Reading:
    """Yields the entries of all chunks in order, read here or by workers."""

    def __init__(self, chunks: Sequence[Chunk], workers: Workers, kinds: Kinds) -> None:
        self._chunks = chunks
        self._kinds = kinds
        self._workers = workers
        self._elsewhere: dict[int, Future[bytes]] = {}
        try:
            for number in reversed(range(len(chunks))):
                self._elsewhere[number] = workers.submit(_read_chunk, number)
        except OSError:  # no further process can be started: this one reads everything
            self._elsewhere.clear()
        self._made = _NOTHING

    def entries(self) -> Iterator[Entry]:
        for number, chunk in enumerate(self._chunks):
            read = self._result(number)
            for file in chunk:
                if not isinstance(file, InputFile):
                    yield file
                elif read is None:
                    yield from documents_of(file, self._kinds.is_read)
                else:
                    for entry, self._made in next(read):
                        yield entry
                    self._made = _NOTHING

    def decoded(self, document: Document, namespace: str, order: int) -> tuple[str, Any]:
        """Return the object of the document that ``entries`` yielded last. Raises DecodeError."""
        made = self._made[0]
        if made is None:
            return decoded(document, namespace, order)
        field, item = made
        return field, replace(item, order=order) if field == "workloads" else item

    def refused_of(self, document: Document, version: str) -> Refusals:
        """Return the API server's refusals of the document that ``entries`` yielded last."""
        found = self._made[1]
        return refused_of(document, version) if found is None else found

    def _result(self, number: int) -> Iterator[_FileRead] | None:
        """Return a worker's result for a chunk; None if no worker had begun it or the worker failed."""
        future = self._elsewhere.pop(number, None)
        if future is None or future.cancel():
            return None
        try:
            read: list[_FileRead] = pickle.loads(self._answer(future))
        except Exception:  # any failure of the worker
            return None
        return iter(read)

    def _answer(self, future: Future[bytes]) -> bytes:
        """Return the worker's answer. Raises its exception, or TimeoutError if a worker is gone."""
        while True:
            try:
                return future.result(_LOOK_AFTER)
            except TimeoutError:
                if future.done():
                    return future.result()
                if not self._workers.is_whole():
                    self._elsewhere.clear()
                    raise


# --- in the workers -------------------------------------------------------------------------------------------------

_work: Callable[[int], bytes]


def _begin(chunks: Sequence[Chunk], namespace: str, version: str, kinds: Kinds) -> None:
    global _work
    serve()

    def work(number: int) -> bytes:
        files = (file for file in chunks[number] if isinstance(file, InputFile))
        return pickle.dumps([_read(file, namespace, version, kinds) for file in files], pickle.HIGHEST_PROTOCOL)

    _work = work


def _read_chunk(number: int) -> bytes:
    return _work(number)


def _read(file: InputFile, namespace: str, version: str, kinds: Kinds) -> _FileRead:
    return [(entry, _made_of(entry, namespace, version)) for entry in documents_of(file, kinds.is_read)]


def _made_of(entry: Entry, namespace: str, version: str) -> _Made:
    if not (isinstance(entry, Document) and is_read(entry.api_version, entry.kind)):
        return _NOTHING
    try:
        made, refused = decoded(entry, namespace, 0), refused_of(entry, version)
    except Exception:  # a wrong type, or a fault of ours
        return _NOTHING
    entry.release()
    return made, refused
