"""A cache of reports and renderings, so that an unchanged set is not linted again, nor an unchanged folder rendered.

The key of a report is a digest of all its inputs: names and bytes of the manifests and of the cluster, the options and
this program. A run with other inputs (a live cluster, own rules, rendered files) is not cached. The key of a rendering
is a digest of the tool and of all files that it reads (``sources/manifests/kustomize/kustomizing``). Each entry is one
file that is written atomically, so parallel runs do not disturb each other, and a damaged entry counts as missing.
Entries are data: reading one runs no code.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from hashlib import blake2b
from importlib.util import find_spec
from typing import TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from kubesched_lint.engine.base.extras import has_cel
from kubesched_lint.engine.cluster.cluster import ClusterError, Description
from kubesched_lint.files import content_in, own_folder
from kubesched_lint.findings import InputError, Report
from kubesched_lint.limits import LARGEST_OUTPUT
from kubesched_lint.linter.options import Options
from kubesched_lint.rulebook.library import Rulebook
from kubesched_lint.sources.clusters.read import contents
from kubesched_lint.sources.manifests.document import Skipped
from kubesched_lint.sources.manifests.inputs import InputFile, amount_to
from kubesched_lint.sources.manifests.kustomize.rendering import Rendered
from kubesched_lint.sources.scheduler_config.file import content_of
from kubesched_lint.version import __version__
from kubesched_lint.writing import put_in, removed_from

_T = TypeVar("_T")
WORTHWHILE = 256 * 1024
"""Bytes of manifests above which a look-up is quicker than linting."""
_REPORT = ".report"
_RENDERING = ".rendering"
_CHECKSUM = 32
"""Length in bytes of the checksum before each entry."""


class Kept(Struct, frozen=True):
    """An entry. ``cluster`` becomes text when the entry is used, because the text has the snapshot's age."""

    report: Report
    cluster: Description | None


class CacheFolder(Struct, frozen=True):
    """The entries in one folder, which only the user may enter; otherwise it is not used."""

    folder: str
    largest: int = LARGEST_OUTPUT

    def find(self, key: str, now: Callable[[], datetime]) -> Report | None:
        """Return the report of ``key``, with the cluster's age at ``now()``; None without a valid entry."""
        try:
            with own_folder(self.folder) as folder:
                kept = self._entry(folder, key, _REPORT, Kept)
        except (OSError, ValueError):
            return None
        if kept is None:
            return None
        if kept.cluster is None:
            return kept.report
        return replace(kept.report, summary=replace(kept.report.summary, cluster=kept.cluster.at(now)))

    def keep(self, key: str, kept: Kept) -> None:
        """Write an entry; does nothing if the folder cannot be written."""
        self._write({key: kept}, _REPORT)

    def renderings(self, keys: Iterable[str]) -> dict[str, Rendered]:
        """Return the renderings that are kept, by key."""
        from kubesched_lint.sources.manifests.kustomize.rendering import Rendered

        try:
            with own_folder(self.folder) as folder:
                kept = ((key, self._entry(folder, key, _RENDERING, Rendered)) for key in keys)
                return {key: rendered for key, rendered in kept if rendered is not None}
        except (OSError, ValueError):
            return {}

    def keep_renderings(self, rendered_by_key: Mapping[str, Rendered]) -> None:
        self._write(rendered_by_key, _RENDERING)

    def _entry(self, folder: int, key: str, suffix: str, kind: type[_T]) -> _T | None:
        """Return a valid entry of an open folder, and note that it was used; else None."""
        name = f"{key}{suffix}"
        try:
            data = content_in(folder, name, self.largest)
            packed = data[_CHECKSUM:]
            if data[:_CHECKSUM] != _checksum(key, packed):
                return None
            os.utime(name, dir_fd=folder, follow_symlinks=False)
            return msgspec.msgpack.decode(packed, type=kind)
        except (OSError, msgspec.MsgspecError, ValueError):
            return None

    def _write(self, entries: Mapping[str, object], suffix: str) -> None:
        try:
            os.makedirs(self.folder, mode=0o700, exist_ok=True)
            with own_folder(self.folder) as folder:
                for key, entry in entries.items():
                    packed = _packed(entry)
                    if packed:
                        put_in(folder, f"{key}{suffix}", _checksum(key, packed) + packed)
                self._shrink(folder)
        except OSError:
            pass

    def _shrink(self, folder: int) -> None:
        """Remove the oldest files, unfinished ones of killed runs included, until ``largest`` is not exceeded."""
        with os.scandir(folder) as listing:
            entries = [(s.st_mtime_ns, s.st_size, e.name) for e in listing if (s := _stat(e)) is not None]
        total = sum(size for _, size, _ in entries)
        for _, size, name in sorted(entries):
            if total <= self.largest:
                return
            removed_from(folder, name)
            total -= size


def _checksum(key: str, packed: bytes) -> bytes:
    """Return the checksum of an entry and its key, so that an entry copied to another name is invalid."""
    return blake2b(packed, key=key.encode()[:64], digest_size=_CHECKSUM).digest()


def _packed(entry: object) -> bytes:
    """Return the entry as bytes; none if it cannot be kept, which is no reason to end a run."""
    try:
        return msgspec.msgpack.encode(entry)
    except (ValueError, TypeError, OverflowError):  # texts that are not Unicode, other types, numbers beyond 64 bits
        return b""


def _stat(entry: os.DirEntry[str]) -> os.stat_result | None:
    try:
        return entry.stat(follow_symlinks=False) if entry.name.endswith((_REPORT, _RENDERING, ".tmp")) else None
    except OSError:  # another run has removed it
        return None


def cache_folder(environ: Mapping[str, str]) -> CacheFolder | None:
    """Return the folder ``KUBESCHED_LINT_CACHE_DIR``, else the one in the user's caches; None without a home."""
    given = environ.get("KUBESCHED_LINT_CACHE_DIR")
    if given:
        return CacheFolder(given)
    caches = environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return CacheFolder(os.path.join(caches, "kubesched-lint")) if os.path.isabs(caches) else None


def files_of_cluster(path: str | None, scheduler_config: str = "") -> tuple[tuple[str, bytes], ...] | None:
    """Return (path, content) of the files of a cluster and its kube-scheduler.

    None for a live cluster, or if a file cannot be read.
    """
    if path is None and not scheduler_config:
        return ()
    try:
        nodes = () if path is None else contents(path)
        if nodes is None or not scheduler_config:
            return nodes
        return (*nodes, (scheduler_config, content_of(scheduler_config)))
    except (ClusterError, OSError, ValueError):
        return None


def key_of(
    files: Sequence[InputFile | Skipped | InputError],
    cluster: Sequence[tuple[str, bytes]],
    options: Options,
    rulebook: Rulebook,
    rest: object = None,
) -> str | None:
    """Return the digest of a run's inputs; None if the report depends on other inputs.

    ``cluster`` has (path, content) of each file; ``rest`` are further inputs, digested by their repr.
    """
    is_more = options.kinds.charts is not None or rulebook.asked or rulebook.faults
    if is_more or any(rule.code is not None for rule in rulebook):
        return None
    digest = blake2b(digest_size=20)
    for part in (*_code(), options, rest, *(name for name, _ in cluster)):
        digest.update(f"{part!r}\0".encode())
    for _, data in cluster:
        digest.update(b"%d\0" % len(data))
        digest.update(data)
    for item in files:
        if isinstance(item, InputFile):
            if item.rendering is not None:
                return None
            about: object = (item.path, len(item.data), item.patch_of, item.in_kustomization, item.unrendered)
            digest.update(repr((about, item.filling, item.delivered_by)).encode())
            digest.update(item.data)
        else:
            digest.update(repr(item).encode())
    return digest.hexdigest()


def is_worthwhile(files: Iterable[object]) -> bool:
    """Return whether the set is so large that a look-up is quicker than linting."""
    return amount_to(files, WORTHWHILE)


def _code() -> tuple[object, ...]:
    """Return values that identify this program: its version, and time and size of each module, for developers."""
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
    tools = os.environ.get("PATH", "")  # notes depend on whether kubectl, kustomize and helm are installed
    return (__version__, sys.version, find_spec("highspy") is not None, has_cel(), tools, sorted(written))
