"""Read the archive of a chart into memory, as Helm reads it, without what leads elsewhere.

An archive is untrusted: a name may lead out of the folder, a link may, and a few bytes may become gigabytes, also in
archives inside it. Schemas are left out, because Helm fetches what they refer to. Nothing is written to a disk, where
two names may mean one file and ``.helmignore`` would hide files: Helm reads neither in an archive.
"""

from __future__ import annotations

import gzip
import os
import tarfile
import zlib
from collections.abc import Iterator, Mapping
from gzip import GzipFile
from io import BytesIO

from msgspec import Struct, field

from kubesched_lint.engine.base.limits import LONGEST_REASON
from kubesched_lint.limits import LARGEST_OUTPUT
from kubesched_lint.sources.manifests.limits import LARGEST, MOST_FILES

_SCHEMA = "values.schema.json"
_DESCRIPTION = "Chart.yaml"
PACKED = ".tgz"
_DEEPEST = 4
"""Archives inside archives inside …: a chart has its subcharts so."""


class ArchiveError(Exception):
    """The archive is not read; the text says why."""


class ChartFiles(Struct, frozen=True):
    """The files of a chart by their paths in it; ``folder`` is the outermost one, which is in no path.

    Those of a packed subchart, ``charts/sub-1.tgz``, are in ``charts/sub-1``.
    """

    folder: str
    files: Mapping[str, bytes]

    def packed(self) -> bytes:
        """Return them as an archive for Helm, without archives inside."""
        out = BytesIO()
        with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as tar:
            for path, data in self.files.items():
                member = tarfile.TarInfo(f"chart/{path}")
                member.size = len(data)
                tar.addfile(member, BytesIO(data))
        return gzip.compress(out.getvalue(), compresslevel=1, mtime=0)


def chart_in(data: bytes, only: frozenset[str] = frozenset()) -> ChartFiles:
    """Return the files in the archive of a chart. Raises ArchiveError.

    ``only``: the names of the files that are wanted; empty for all.
    """
    archives = Archives(only)
    archives.read(data)
    if _DESCRIPTION not in archives.files:
        raise ArchiveError(f"it has no {_DESCRIPTION}")
    return ChartFiles(archives.folder, archives.files)


class Archives(Struct):
    """Archives that are read together: their files, and what is left of the bytes and of the files of all of them.

    ``only``: the names of the files that are wanted; empty for all.
    """

    only: frozenset[str]
    files: dict[str, bytes] = field(default_factory=dict)
    packed: set[str] = field(default_factory=set)
    """The paths of archives inside, which are read."""
    folder: str = ""
    bytes_left: int = LARGEST_OUTPUT
    files_left: int = MOST_FILES

    def read(self, data: bytes, below: str = "", depth: int = _DEEPEST) -> None:
        """Read an archive, whose files lie below a path of the chart. Raises ArchiveError."""
        try:
            # Python's tarfile cannot read what Helm writes as an extra field of gzip's header.
            with GzipFile(fileobj=BytesIO(data)) as packed:
                whole = packed.read(self.bytes_left + 1)
            self.bytes_left -= len(whole)
            if self.bytes_left < 0:
                raise ArchiveError(f"it becomes more than {LARGEST_OUTPUT >> 20} MiB")
            with tarfile.open(fileobj=BytesIO(whole), mode="r:") as tar:
                for member in tar:
                    self.files_left -= 1
                    if self.files_left < 0:
                        raise ArchiveError(f"it has more than {MOST_FILES:,} files")
                    if not member.isdir():
                        self._keep(tar, member, below, depth)
        except (tarfile.TarError, zlib.error, OSError, EOFError, ValueError, OverflowError) as error:
            raise ArchiveError(f"not an archive: {error}") from None

    def _keep(self, tar: tarfile.TarFile, member: tarfile.TarInfo, below: str, depth: int) -> None:
        if not member.isreg() or member.issparse():
            raise ArchiveError(f"{_shown(member)} is no regular file")
        folder, *steps = list(_steps(member)) or [""]
        if not steps:
            raise ArchiveError(f"{_shown(member)} is outside the folder of the chart")
        name = steps[-1]
        if name == _SCHEMA:
            return
        if member.size > LARGEST:
            raise ArchiveError(f"{_shown(member)} is larger than {LARGEST >> 20} MiB")
        path = below + "/".join(steps)
        if path in self.files or path in self.packed:
            raise ArchiveError(f"{_shown(member)} is in it twice")
        if name.endswith(PACKED) and subcharts_of(path, name) is not None:
            if depth == 0:
                raise ArchiveError(f"{_shown(member)} is an archive in {_DEEPEST} others")
            self.packed.add(path)
            self.read(_contents(tar, member), f"{path.removesuffix(PACKED)}/", depth - 1)
            return
        if path == _DESCRIPTION:
            self.folder = folder
        if not self.only or name in self.only:
            self.files[path] = _contents(tar, member)


def subcharts_of(path: str, name: str) -> tuple[str, ...] | None:
    """Return the folders of subcharts, from the outermost, that hold a file of this name directly, or an archive in
    their ``charts/``; None for another file.
    """
    *folders, last = path.split("/")
    if last != name or any(step != "charts" for step in folders[::2]):
        return None
    is_archive = len(folders) % 2 == 1
    return tuple(folders[1::2]) if is_archive == name.endswith(PACKED) else None


def _steps(member: tarfile.TarInfo) -> Iterator[str]:
    """Yield the folders of a name, and the name. Raises ArchiveError for what leads elsewhere."""
    if member.name.startswith("/") or any(sign in member.name for sign in "\\\0"):
        raise ArchiveError(f"{_shown(member)} leads out of it")
    for step in member.name.split("/"):
        if step == os.pardir:
            raise ArchiveError(f"{_shown(member)} leads out of it")
        if step not in ("", os.curdir):
            yield step


def _shown(member: tarfile.TarInfo) -> str:
    """Return a name for a message: of a long one, the end."""
    name = member.name
    return repr(name if len(name) <= LONGEST_REASON else f"…{name[-LONGEST_REASON:]}")


def _contents(tar: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    stream = tar.extractfile(member)
    return b"" if stream is None else stream.read()
