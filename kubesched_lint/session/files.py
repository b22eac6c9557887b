"""The files of a session: those on the disk, and the texts of open buffers in their place."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping

from msgspec import Struct
from msgspec.structs import replace

from kubesched_lint.custom.kinds import Kinds
from kubesched_lint.engine.base.identity import ByIdentity
from kubesched_lint.findings import InputError
from kubesched_lint.session.moved import Shift, shift_between
from kubesched_lint.sources.manifests.inputs import SUFFIXES, Input, InputFile, too_large
from kubesched_lint.sources.manifests.limits import LARGEST
from kubesched_lint.sources.manifests.loader import Entry, documents_of
from kubesched_lint.sources.manifests.yaml.split import text_of


class Reading(Struct, frozen=True):
    """A file and its entries. ``faults``: why its text cannot be read, so that the entries are those of ``judged``."""

    file: InputFile
    entries: tuple[Entry, ...]
    judged: bytes
    """The bytes that the entries come from."""
    faults: tuple[InputError, ...] = ()


class SessionFiles:
    """The files that ``find`` yields. ``put`` lays a buffer over one; ``look_again`` asks ``find`` once more.

    A file is parsed again only when its bytes change. What tools render comes from the disk alone. ``may_hold`` says of
    a path that no file has whether ``find`` would yield a file there.
    """

    def __init__(self, find: Callable[[], Iterable[Input]], kinds: Kinds, may_hold: Callable[[str], bool]) -> None:
        self._find = find
        self._kinds = kinds
        self._may_hold = may_hold
        self._inputs: tuple[Input, ...] = ()
        self._rendered: ByIdentity[InputFile, tuple[Entry, ...]] = ByIdentity()
        self._readings: dict[str, Reading] = {}
        self._buffers: dict[str, bytes] = {}
        self._too_large: set[str] = set()
        """Buffers whose text is left out, so that nobody waits for it."""
        self._real: dict[str, str] = {}
        self._known: set[str] = set()
        self.look_again()

    def look_again(self) -> bool:
        """Read the files from the disk. Return whether any of them, or their list, has changed."""
        inputs = tuple(self._find())
        if inputs == self._inputs:
            return False
        self._inputs = inputs
        self._rendered = ByIdentity(
            (item, tuple(documents_of(item, self._kinds.is_read)))
            for item in self._inputs
            if isinstance(item, InputFile) and item.rendering is not None
        )
        self._real = {f.path: os.path.realpath(f.path) for f in self._inputs if isinstance(f, InputFile)}
        self._known = set(self._real.values())
        there = {*self._known, *self._buffers}
        self._readings = {real: reading for real, reading in self._readings.items() if real in there}
        return True

    def put(self, path: str, text: str | None) -> bool:
        """Lay the text of a buffer over a file, or take it away with None. Return whether that changes what is read."""
        real = os.path.realpath(path)
        before = self._buffers.get(real), real in self._too_large
        if real in self._too_large:
            self._too_large.discard(real)
            self._readings.pop(real, None)
        if text is None:
            self._buffers.pop(real, None)
            if real not in self._known:
                self._readings.pop(real, None)
        else:
            data = text.encode("utf-8", "surrogatepass")
            if len(data) > LARGEST:
                self._too_large.add(real)
                data = b""
            self._buffers[real] = data
        return before != (self._buffers.get(real), real in self._too_large) and self.reads(real)

    def reads(self, real: str) -> bool:
        """Return whether a file, named without links, is read, or would be if somebody wrote it."""
        return real in self._known or self._is_new(real)

    def entries(self) -> Iterator[Entry]:
        """Yield the entries of all files; for a buffer that cannot be read those of its last text that could."""
        for item in self._inputs:
            if not isinstance(item, InputFile):
                yield item
            elif item.rendering is not None:
                yield from self._rendered[item]
            else:
                yield from self._reading(item).entries
        for item in self._new():
            yield from self._reading(item).entries

    def rendered_from(self) -> Iterator[str]:
        """Yield the paths of the files that tools rendered; they may lie anywhere in the repository."""
        for item in self._inputs:
            if isinstance(item, InputFile) and item.rendering is not None:
                yield from (written.path for written in item.rendering.files)

    def faults(self) -> Iterator[InputError]:
        """Yield why buffers could not be read, where their last entries stand in."""
        for reading in self._readings.values():
            yield from reading.faults

    def data(self) -> dict[str, bytes]:
        """Return path → the bytes of each file or buffer as it is now. Rendered texts are not in it."""
        return {reading.file.path: reading.file.data for reading in self._readings.values()}

    def judged(self) -> dict[str, bytes]:
        """Return path → the bytes that the findings of a run over ``entries`` are about."""
        return {reading.file.path: reading.judged for reading in self._readings.values()}

    def buffers(self) -> dict[str, bytes]:
        """Return path → the bytes of each open buffer that is read."""
        return {
            reading.file.path: self._buffers[real] for real, reading in self._readings.items() if real in self._buffers
        }

    def _new(self) -> Iterator[InputFile]:
        """Yield the buffers that nobody has written to the disk yet."""
        for real, data in self._buffers.items():
            if real not in self._known and self._is_new(real):
                yield InputFile(real, data)

    def _is_new(self, real: str) -> bool:
        return real.endswith(SUFFIXES) and not os.path.lexists(real) and self._may_hold(real)

    def _reading(self, file: InputFile) -> Reading:
        real = self._real.get(file.path, file.path)
        data = self._buffers.get(real)
        file = file if data is None else replace(file, data=data)
        if real in self._too_large:
            self._readings[real] = Reading(file, (too_large(file.path),), b"")
            return self._readings[real]
        known = self._readings.get(real)
        if known is None or known.file != file:
            known = self._readings[real] = _read(file, self._kinds, known if data is not None else None)
        return known


def _read(file: InputFile, kinds: Kinds, before: Reading | None) -> Reading:
    entries = tuple(documents_of(file, kinds.is_read))
    faults = tuple(entry for entry in entries if isinstance(entry, InputError))
    if not faults or before is None or any(isinstance(entry, InputError) for entry in before.entries):
        return Reading(file, entries, file.data)
    return Reading(file, before.entries, before.judged, faults)


def shifts(old: Mapping[str, bytes], new: Mapping[str, bytes]) -> dict[str, Shift]:
    """Return how lines moved in each file that differs, by path."""
    return {
        path: shift_between(_text(path, data), _text(path, new[path]))
        for path, data in old.items()
        if path in new and data != new[path]
    }


def _text(path: str, data: bytes) -> str:
    text = text_of(path, data)
    return text if isinstance(text, str) else ""
