"""Reports kept under a digest of everything they follow from, so that an unchanged set is not judged again.

A report follows from the files' names and bytes, the cluster's, the options and this very code: all of it is digested.
What cannot be (a live cluster, own rules, rendered files) is never kept. An entry is a file of its own, written in one
step: runs side by side cannot disturb each other, and one that is gone, or of which a bit differs, is merely not found.
Entries hold data only: to read one runs no code.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from kubesched_lint.cluster.cluster import Description
from kubesched_lint.files import content_in, own_folder
from kubesched_lint.findings import InputError, Report
from kubesched_lint.linter.options import Options
from kubesched_lint.manifests.document import Skipped
from kubesched_lint.manifests.inputs import InputFile, amount_to
from kubesched_lint.record import record, replace
from kubesched_lint.rulebook.library import Rulebook
from kubesched_lint.version import __version__

if TYPE_CHECKING:
    from datetime import datetime

WORTHWHILE = 256 * 1024
"""Bytes of manifests from which on looking them up is quicker than reading them."""
LARGEST = 64 * 1024 * 1024
"""Bytes that all entries together may take; the ones longest unused go first."""
_SUFFIX = ".report"
_CHECKSUM = 32
"""Bytes before each entry."""


@record
class Kept:
    """``cluster`` is worded when the entry is used: it tells the snapshot's age."""

    report: Report
    cluster: Description | None


@record
class CacheFolder:
    """The entries in one folder, which is the user's own, or else is not used."""

    folder: str
    largest: int = LARGEST

    def find(self, key: str, now: datetime) -> Report | None:
        """The report kept under ``key``, its cluster described as of ``now``; None when there is none to trust."""
        import msgspec

        name = f"{key}{_SUFFIX}"
        try:
            with own_folder(self.folder) as folder:
                data = content_in(folder, name, self.largest)
                packed = data[_CHECKSUM:]
                if data[:_CHECKSUM] != _checksum(key, packed):
                    return None
                os.utime(name, dir_fd=folder, follow_symlinks=False)
            kept = msgspec.msgpack.decode(packed, type=Kept)
        except (OSError, msgspec.MsgspecError, ValueError):
            return None
        if kept.cluster is None:
            return kept.report
        return replace(kept.report, summary=replace(kept.report.summary, cluster=kept.cluster.at(now)))

    def keep(self, key: str, kept: Kept) -> None:
        """Does nothing where the folder cannot be written: a cache is a convenience."""
        import msgspec

        try:
            packed = msgspec.msgpack.encode(kept)
            os.makedirs(self.folder, mode=0o700, exist_ok=True)
            with own_folder(self.folder) as folder:
                _put(folder, f"{key}{_SUFFIX}", _checksum(key, packed) + packed)
                self._shrink(folder)
        except (OSError, ValueError):  # also for names that are no text, which msgspec does not write
            pass

    def _shrink(self, folder: int) -> None:
        """Also what a killed run left half written is an entry here, of the size that it has."""
        with os.scandir(folder) as listing:
            entries = [(s.st_mtime_ns, s.st_size, e.name) for e in listing if (s := _stat(e)) is not None]
        total = sum(size for _, size, _ in entries)
        for _, size, name in sorted(entries):
            if total <= self.largest:
                return
            _remove(folder, name)
            total -= size


def _checksum(key: str, packed: bytes) -> bytes:
    """Of the entry and its name: one that was copied to another name is another report."""
    from hashlib import blake2b

    return blake2b(packed, key=key.encode()[:64], digest_size=_CHECKSUM).digest()


def _put(folder: int, name: str, data: bytes) -> None:
    """In one step."""
    temporary = f"{name}.{os.urandom(6).hex()}.tmp"
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600, dir_fd=folder)
    try:
        with open(handle, "wb") as file:
            file.write(data)
        os.replace(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        _remove(folder, temporary)
        raise


def _stat(entry: os.DirEntry[str]) -> os.stat_result | None:
    try:
        return entry.stat(follow_symlinks=False) if entry.name.endswith((_SUFFIX, ".tmp")) else None
    except OSError:  # another run was quicker to remove it
        return None


def _remove(folder: int, name: str) -> None:
    try:
        os.unlink(name, dir_fd=folder)
    except OSError:
        pass


def shelf(environ: Mapping[str, str]) -> CacheFolder | None:
    """In ``KUBESCHED_LINT_CACHE_DIR``, else among the user's caches; None for a user who has no home."""
    given = environ.get("KUBESCHED_LINT_CACHE_DIR")
    if given:
        return CacheFolder(given)
    caches = environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return CacheFolder(os.path.join(caches, "kubesched-lint")) if os.path.isabs(caches) else None


def files_of_cluster(path: str | None) -> tuple[tuple[str, bytes], ...] | None:
    """The files of a cluster with their content; None for a live one, and where they cannot be read."""
    if path is None:
        return ()
    from kubesched_lint.cluster.cluster import ClusterError
    from kubesched_lint.cluster.read import contents

    try:
        return contents(path)
    except (ClusterError, OSError, ValueError):
        return None


def key_of(
    found: Sequence[InputFile | Skipped | InputError],
    cluster: Sequence[tuple[str, bytes]],
    options: Options,
    rulebook: Rulebook,
    rest: object = None,
) -> str | None:
    """The digest of a run; None where the report follows from what cannot be digested.

    ``cluster`` has the path and content of each of its files; ``rest`` is what else the report depends on, by its repr.
    """
    if rulebook.asked or rulebook.faults or any(rule.code is not None for rule in rulebook):
        return None
    from hashlib import blake2b

    digest = blake2b(digest_size=20)
    for part in (*_code(), options, rest, *(name for name, _ in cluster)):
        digest.update(f"{part!r}\0".encode())
    for _, data in cluster:
        digest.update(b"%d\0" % len(data))
        digest.update(data)
    for item in found:
        if isinstance(item, InputFile):
            if item.rendering is not None:
                return None
            about: object = (item.path, len(item.data), item.patch_of, item.in_kustomization, item.unrendered)
            digest.update(repr(about).encode())
            digest.update(item.data)
        else:
            digest.update(repr(item).encode())
    return digest.hexdigest()


def is_worthwhile(found: Iterable[object]) -> bool:
    """Whether the set is so large that looking its report up is quicker than making it."""
    return amount_to(found, WORTHWHILE)


def _code() -> tuple[object, ...]:
    """What says that it is the same program: its version, and when each module was written, for those who edit it."""
    from importlib.util import find_spec

    package = os.path.dirname(os.path.dirname(__file__))
    written: list[tuple[str, int, int]] = []
    folders = [package]
    while folders:
        with os.scandir(folders.pop()) as listing:
            for entry in listing:
                if entry.is_dir():
                    folders += [] if entry.name == "__pycache__" else [entry.path]
                else:
                    stat = entry.stat()
                    written.append((entry.path, stat.st_mtime_ns, stat.st_size))
    tools = os.environ.get("PATH", "")  # notes tell which of kubectl, kustomize and helm is there
    return (__version__, sys.version, find_spec("highspy") is not None, tools, sorted(written))
