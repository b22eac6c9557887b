"""Unpack the archive of a chart into a folder, without what leads elsewhere.

An archive is untrusted: a name may lead out of the folder, a link may, and a few bytes may become gigabytes. Schemas
are left out, because Helm fetches what they refer to.
"""

from __future__ import annotations

import os
import tarfile
import zlib
from gzip import GzipFile
from io import BytesIO

from kubesched_lint.limits import LARGEST_OUTPUT
from kubesched_lint.sources.manifests.limits import LARGEST, MOST_FILES

_SCHEMA = "values.schema.json"
_DEEPEST = 4
"""Archives inside archives inside …: a chart has its subcharts so."""


class ArchiveError(Exception):
    """The archive is not unpacked; the text says why."""


class _Budget:
    """What is left of the bytes and of the files that an archive may become, with those inside it; and ``only`` which
    files are written.
    """

    def __init__(self, only: frozenset[str]) -> None:
        self.only = only
        self.bytes = LARGEST_OUTPUT
        self.files = MOST_FILES

    def take(self, size: int) -> None:
        self.bytes -= max(size, 0)
        self.files -= 1
        if self.bytes < 0:
            raise ArchiveError(f"it becomes more than {LARGEST_OUTPUT >> 20} MiB")
        if self.files < 0:
            raise ArchiveError(f"it has more than {MOST_FILES:,} files")


def unpacked(data: bytes, folder: str, only: frozenset[str] = frozenset()) -> str:
    """Unpack a chart into an empty folder, and return the folder of the chart in it. Raises ArchiveError, OSError.

    ``only``: the names of the files that are wanted; empty for all.
    """
    _unpack(data, folder, _Budget(only), _DEEPEST)
    names = sorted(os.listdir(folder))
    charts = [name for name in names if os.path.isfile(os.path.join(folder, name, "Chart.yaml"))]
    if len(charts) != 1:
        raise ArchiveError("it has no Chart.yaml")
    return os.path.join(folder, charts[0])


def _unpack(data: bytes, folder: str, budget: _Budget, depth: int) -> None:
    try:
        # Python's tarfile cannot read what Helm writes as an extra field of gzip's header.
        with GzipFile(fileobj=BytesIO(data)) as packed:
            whole = packed.read(2 * LARGEST_OUTPUT + 1)
        if len(whole) > 2 * LARGEST_OUTPUT:
            raise ArchiveError(f"it becomes more than {2 * LARGEST_OUTPUT >> 20} MiB")
        with tarfile.open(fileobj=BytesIO(whole), mode="r:") as tar:
            for member in tar:
                budget.take(member.size)
                if member.isdir():
                    continue
                if not member.isreg() or member.issparse():
                    raise ArchiveError(f"{member.name!r} is no regular file")
                _write(tar, member, folder, budget, depth)
    except (tarfile.TarError, zlib.error, OSError, EOFError, ValueError) as error:
        raise ArchiveError(f"not an archive: {error}") from None


def _write(tar: tarfile.TarFile, member: tarfile.TarInfo, folder: str, budget: _Budget, depth: int) -> None:
    steps = [step for step in member.name.split("/") if step not in ("", os.curdir)]
    if not steps or os.pardir in steps or member.name.startswith("/") or any("\\" in s or "\0" in s for s in steps):
        raise ArchiveError(f"{member.name!r} leads out of it")
    if steps[-1] == _SCHEMA:
        return
    if member.size > LARGEST:
        raise ArchiveError(f"{member.name!r} is larger than {LARGEST >> 20} MiB")
    path = os.path.join(folder, *steps)
    if len(steps) > 1 and steps[-2] == "charts" and steps[-1].endswith((".tgz", ".tar.gz")):
        if depth == 0:
            raise ArchiveError(f"{member.name!r} is an archive in {_DEEPEST} others")
        os.makedirs(os.path.dirname(path), exist_ok=True)
        _unpack(_contents(tar, member), os.path.dirname(path), budget, depth - 1)
        return
    if budget.only and steps[-1] not in budget.only:
        return
    os.makedirs(os.path.dirname(path), exist_ok=True)
    if os.path.lexists(path):
        raise ArchiveError(f"{member.name!r} is in it twice")
    with open(path, "wb") as file:
        file.write(_contents(tar, member))


def _contents(tar: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    stream = tar.extractfile(member)
    return b"" if stream is None else stream.read()
