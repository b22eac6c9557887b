"""Read files and run rules with several processes: less waiting for more CPU time.

What a worker makes of a chunk of files are its documents, decoded, and what the API server would refuse in them. To
unpickle that takes a twentieth of the time. What cannot be decoded or judged, the first process tries again, so that
the result is the same. ``linter.in_parts`` says the same of rules.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

from msgspec.structs import replace

from kubesched_lint.cluster.cluster import Cluster
from kubesched_lint.commands.lint.sharing import MOST_PARTS, in_order
from kubesched_lint.custom.kinds import SHIPPED, Kinds
from kubesched_lint.findings import InputError, Report
from kubesched_lint.linter.lint import lint
from kubesched_lint.linter.options import Options
from kubesched_lint.linter.reading import ManifestSet, decoded, manifest_set, refused_of
from kubesched_lint.manifests.document import Document, Skipped
from kubesched_lint.manifests.inputs import InputFile, amount_to
from kubesched_lint.manifests.loader import Entry, documents_of
from kubesched_lint.model.decode.objects import is_read
from kubesched_lint.rulebook.library import Rule
from kubesched_lint.validation.refusals import Refusals

T = TypeVar("T")
Found = InputFile | Skipped | InputError
_Made = tuple[tuple[str, Any] | None, Refusals | None]
"""Of a document: its field in Inventory and the decoded object, and the API server's refusals; None if that failed."""
_NOTHING: _Made = (None, None)

_ENOUGH = 2 << 20
"""Bytes of manifests below which starting a worker takes longer than it saves."""
_ENOUGH_WORKLOADS = 1_000
"""The same for rules."""
_CHUNK = 96 << 10
"""Bytes: about 20 ms of work, so that nobody waits long for the last chunk."""


def read_together(
    files: list[Found], jobs: int, namespace: str, version: str, kinds: Kinds = SHIPPED, *, again: bool = False
) -> ManifestSet:
    """Return the manifest set of the files, validated for ``version``, with ``jobs`` processes including this one.

    ``again`` as for ``documents_of``. The list is empty afterwards, and a file is freed when its documents are made.
    """
    jobs = jobs if amount_to(files, _ENOUGH) else 1
    reading = _Reading(files, jobs, namespace, version, kinds, again)
    files.clear()
    return manifest_set(reading.entries(), namespace, version, reading.refused_of, kinds, reading.decoded)


def lint_together(
    manifests: ManifestSet, cluster: Cluster | None, options: Options, rules: Sequence[Rule], jobs: int
) -> Report:
    """Return the report of ``linter.lint.lint``, with ``jobs`` processes including this one."""
    if len(manifests.inventory.workloads) < _ENOUGH_WORKLOADS:
        return lint(manifests, cluster, options, rules)[0]
    from kubesched_lint.linter.in_parts import lint_in_parts

    def share(
        count: int, do: Callable[[int], T], dumps: Callable[[T], bytes], loads: Callable[[bytes], T]
    ) -> Iterator[T]:
        return in_order(jobs, count, do, dumps, loads)

    return lint_in_parts(manifests, cluster, options, rules, share)[0]


def _chunks(files: list[Found]) -> Iterator[list[Found]]:
    most = max(_CHUNK, sum(len(file.data) for file in files if isinstance(file, InputFile)) // MOST_PARTS + 1)
    chunk: list[Found] = []
    size = 0
    for file in files:
        chunk.append(file)
        size += len(file.data) if isinstance(file, InputFile) else 0
        if size >= most:
            yield chunk
            chunk, size = [], 0
    yield chunk


class _Reading:
    """Yields the entries of all files in order, and knows what was made of the last one."""

    def __init__(self, files: list[Found], jobs: int, namespace: str, version: str, kinds: Kinds, again: bool) -> None:
        self._chunks = list(_chunks(files))
        self._jobs = jobs
        self._namespace = namespace
        self._version = version
        self._kinds = kinds
        self._again = again
        self._made = _NOTHING

    def entries(self) -> Iterator[Entry]:
        for number, read in enumerate(in_order(self._jobs, len(self._chunks), self._read)):
            self._chunks[number].clear()
            for entry, self._made in read:
                yield entry

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

    def _read(self, number: int) -> list[tuple[Entry, _Made]]:
        return [(entry, self._made_of(entry)) for found in self._chunks[number] for entry in self._entries_of(found)]

    def _entries_of(self, found: Found) -> Iterator[Entry]:
        if isinstance(found, InputFile):
            yield from documents_of(found, self._kinds.is_read, again=self._again)
        else:
            yield found

    def _made_of(self, entry: Entry) -> _Made:
        if not (isinstance(entry, Document) and is_read(entry.api_version, entry.kind)):
            return _NOTHING
        try:
            made, refused = decoded(entry, self._namespace, 0), refused_of(entry, self._version)
        except Exception:  # a wrong type, or a fault of ours
            return _NOTHING
        entry.release()
        return made, refused
