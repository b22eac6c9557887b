"""The only module that opens files to read them.

The contents of a repository are untrusted: a link may name a device, a pipe without a writer, or a file outside the
repository. So only regular files are opened, without waiting, up to a size limit, and links are followed only inside
the same root. The root of a path is its repository: the nearest folder with ``.git`` that no link leaves. Outside a
repository it is the current folder; for paths outside that one, the named folder or the file's folder.

The process's own descriptors (``/dev/fd/63``, from ``<(helm template)``) are read like standard input.
"""

from __future__ import annotations

import os
import stat
from errno import ELOOP
from typing import IO

from msgspec import Struct

_READ = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
# Between the check of a file and its opening, another process may replace it by a pipe or a link.
_CAUTIOUS = _READ | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0)
_PIECE = 1 << 20
_OWN_DESCRIPTORS = ("/dev/fd/", "/proc/self/fd/")
_OWN_INPUT = "/dev/stdin"
_REPOSITORY = ".git"


class UnreadableError(OSError):
    """A file exists and is refused; ``strerror`` is the reason, without a file name."""

    def __init__(self, reason: str) -> None:
        super().__init__(0, reason)


class ResolvedPath(Struct, frozen=True):
    """The target of a path. Links must not leave ``root``; ``real`` and ``root`` contain no links."""

    real: str
    root: str = ""
    """Empty: neither a repository nor the current folder holds it."""
    is_linked: bool = False
    """Whether the path passes a link below the root."""


Places = dict[str, ResolvedPath]
"""Cache of resolved folders, by absolute path."""


def place_of(path: str, known: Places | None = None) -> ResolvedPath:
    """Return the target of a path that a user gave. Raises UnreadableError if a link on the path leaves its root.

    ``known`` caches folders between calls.
    """
    current_folder = _current()
    folder, name = os.path.split(os.path.join(current_folder, path.rstrip(os.sep) or path))
    place = known.get(folder) if known is not None else None
    if place is None:
        place = _walked(folder, current_folder)
        if known is not None:
            known[folder] = place
    resolved = _step(place, name, current_folder) if name else place
    if place.root or is_within(resolved.real, place.real) or os.path.isdir(resolved.real):
        return resolved
    raise UnreadableError(leaving(place.real))


def root_of(path: str) -> str:
    """Return the repository that holds a path, else the current folder if it does; empty for a path in neither."""
    return place_of(path).root


def is_within(real: str, root: str) -> bool:
    """Return whether a path without links is ``root`` or lies in it."""
    return real == root or real.startswith(root if root.endswith(os.sep) else root + os.sep)


def inside(path: str, root: str) -> str:
    """Return the path without links. Raises UnreadableError if it does not lie inside ``root``."""
    real = os.path.realpath(path)
    if not is_within(real, root):
        raise UnreadableError(leaving(root))
    return real


def leaving(root: str) -> str:
    """Return the message about a link to a place outside ``root``."""
    what = "the repository" if os.path.lexists(os.path.join(root, _REPOSITORY)) else "the folder that is read"
    return f"a link that leads out of {what}: it is not read"


def _walked(folder: str, current_folder: str) -> ResolvedPath:
    """Resolve folder by folder from the top, so that a link cannot hide the root that it leaves."""
    drive, rest = os.path.splitdrive(folder)
    place = ResolvedPath(drive + os.sep)
    for name in rest.split(os.sep):
        if name not in ("", os.curdir):
            place = _step(place, name, current_folder)
    return place


def _step(place: ResolvedPath, name: str, current_folder: str) -> ResolvedPath:
    if name == os.curdir:
        return place
    if name == os.pardir:
        above = os.path.dirname(place.real)
        return (
            ResolvedPath(above, place.root, place.is_linked)
            if is_within(above, place.root)
            else _walked(above, current_folder)
        )
    real, root, is_linked = os.path.join(place.real, name), place.root, place.is_linked
    if os.path.islink(real):
        real = inside(real, root) if root else os.path.realpath(real)
        is_linked = bool(root)
        if os.path.islink(real):  # it links to itself
            raise OSError(ELOOP, os.strerror(ELOOP))
        if not root:
            root = _walked(real, current_folder).root
    is_workplace = real == current_folder and os.path.dirname(current_folder) != current_folder
    if os.path.lexists(os.path.join(real, _REPOSITORY)) or (is_workplace and not root):
        root = real
    return ResolvedPath(real, root, is_linked)


def _current() -> str:
    try:
        return os.getcwd()
    except OSError:  # another process removed it
        return os.sep


# --- opening --------------------------------------------------------------------------------------------------------


def content(path: str, largest: int, *, root: str = "", streams: bool = False) -> bytes:
    """Return the bytes of a file; ``largest`` + 1 bytes of a larger one.

    ``root``: the folder that the path must not leave, if a repository names it and not a user. ``streams``: the
    process's own descriptors may be read, whatever they are. Raises UnreadableError and other OSErrors.
    """
    if streams and is_own_stream(path):
        return _all_of(os.open(path, _READ), 0, largest)
    return content_at(inside(path, root) if root else place_of(path).real, largest)


def content_at(real: str, largest: int) -> bytes:
    """Return bytes like ``content``, for a path without links that is known to be allowed."""
    return _all_of(*_handle(real), largest)


def content_in(folder: int, name: str, largest: int) -> bytes:
    """Return bytes like ``content``, for a file in an open folder."""
    return _all_of(*_handle(name, folder), largest)


def whole(path: str, largest: int, *, root: str = "") -> bytes:
    """Return bytes like ``content``, for a very large file, or one that must not be cut.

    Raises UnreadableError for a larger one without reading it.
    """
    handle, size = _handle(inside(path, root) if root else place_of(path).real)
    if size > largest:
        os.close(handle)
        raise UnreadableError(f"larger than {largest >> 20:,} MiB")
    return _all_of(handle, size, largest)


class own_folder:  # noqa: N801 - reads as a sentence: with own_folder(path)
    """Give the descriptor of a folder that only the user may enter; it stays this folder even if its name is reused.

    A folder that others may enter, such as a checkout, may hold their files. Raises OSError.
    """

    __slots__ = ("_folder",)

    def __init__(self, path: str) -> None:
        self._folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)

    def __enter__(self) -> int:
        status = os.fstat(self._folder)
        if status.st_uid != os.geteuid() or status.st_mode & 0o077:
            os.close(self._folder)
            raise UnreadableError("accessible to other users")
        return self._folder

    def __exit__(self, *_: object) -> None:
        os.close(self._folder)


def opened(path: str, *, root: str = "") -> IO[bytes]:
    """Return a file to read in pieces; see ``content``."""
    handle, _ = _handle(inside(path, root) if root else place_of(path).real)
    return open(handle, "rb")


def is_own_stream(path: str) -> bool:
    """Return whether a path names a descriptor of this process, which its parent has opened."""
    return path == _OWN_INPUT or path.startswith(_OWN_DESCRIPTORS)


def _handle(real: str, folder: int | None = None) -> tuple[int, int]:
    """Return a descriptor of a regular file, and the file's size in bytes."""
    _check(os.stat(real, dir_fd=folder, follow_symlinks=False).st_mode)  # opening a device may already have an effect
    handle = os.open(real, _CAUTIOUS) if folder is None else os.open(real, _CAUTIOUS, dir_fd=folder)
    try:
        status = os.fstat(handle)
        _check(status.st_mode)
    except OSError:
        os.close(handle)
        raise
    return handle, status.st_size


def _check(mode: int) -> None:
    if stat.S_ISREG(mode):
        return
    if stat.S_ISLNK(mode):
        raise OSError(ELOOP, os.strerror(ELOOP))
    raise UnreadableError("is a folder" if stat.S_ISDIR(mode) else "not a regular file")


def _all_of(handle: int, size: int, largest: int) -> bytes:
    try:
        data = os.read(handle, min(size, largest) + 1)
        if len(data) == size:  # one byte more was requested; a second read would double the time
            return data
        pieces, length = [data], len(data)
        while length <= largest and pieces[-1]:
            pieces.append(os.read(handle, min(_PIECE, largest + 1 - length)))
            length += len(pieces[-1])
        return b"".join(pieces)
    finally:
        os.close(handle)
