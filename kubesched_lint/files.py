"""The only module that opens files to read them.

What lies in a repository is a stranger's: a link in it may name a device, a pipe that nobody writes to, or a file that
is none of the repository's business. So a file is opened only when it is a regular one, never waited for, read up to a
limit, and a link is followed only to what lies inside the same root. The root of a path is the repository that it lies
in: the nearest folder with ``.git`` that no link leads out of. Where there is none, it is the current folder, and for
what lies outside that one, the folder that was named, or the folder of the file.

The current process's own descriptors (``/dev/fd/63``, from ``<(helm template)``) are read as standard input is.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from errno import ELOOP
from typing import IO

from kubesched_lint.record import record

_READ = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
# Between looking at a file and opening it somebody may put a pipe or a link in its place.
_CAUTIOUS = _READ | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0)
_PIECE = 1 << 20
_OWN_DESCRIPTORS = ("/dev/fd/", "/proc/self/fd/")
_OWN_INPUT = "/dev/stdin"
_REPOSITORY = ".git"


class UnreadableError(OSError):
    """A file that is there and that we do not read; ``strerror`` is the reason, and names nothing."""

    def __init__(self, reason: str) -> None:
        super().__init__(0, reason)


@record
class ResolvedPath:
    """Where a path leads. ``root`` is what links may not leave; ``real`` and ``root`` hold no links."""

    real: str
    root: str = ""
    """Empty: neither a repository nor the current folder holds it."""
    is_linked: bool = False
    """Whether a link led there from the root on."""


Places = dict[str, ResolvedPath]
"""Folders that have been looked up, by absolute path."""


def place_of(path: str, known: Places | None = None) -> ResolvedPath:
    """Where a path leads that a person gave. Raises UnreadableError where a link on the way leaves its root.

    ``known`` spares looking up a folder more than once.
    """
    here = _current()
    folder, name = os.path.split(os.path.join(here, path.rstrip(os.sep) or path))
    place = known.get(folder) if known is not None else None
    if place is None:
        place = _walked(folder, here)
        if known is not None:
            known[folder] = place
    found = _step(place, name, here) if name else place
    if place.root or is_within(found.real, place.real) or os.path.isdir(found.real):
        return found
    raise UnreadableError(leaving(place.real))


def root_of(path: str) -> str:
    """The repository, or else the current folder, that holds a path; empty for a path in neither."""
    return place_of(path).root


def is_within(real: str, root: str) -> bool:
    """Whether a path without links is a folder or lies in it."""
    return real == root or real.startswith(root if root.endswith(os.sep) else root + os.sep)


def inside(path: str, root: str) -> str:
    """The path without links. Raises UnreadableError where it does not lie inside ``root``."""
    real = os.path.realpath(path)
    if not is_within(real, root):
        raise UnreadableError(leaving(root))
    return real


def leaving(root: str) -> str:
    """What is said of a link to a place outside ``root``."""
    what = "the repository" if os.path.lexists(os.path.join(root, _REPOSITORY)) else "the folder that is read"
    return f"a link that leads out of {what}: it is not read"


def _walked(folder: str, here: str) -> ResolvedPath:
    """Folder by folder from the top, so that no link can hide the root that it leaves."""
    drive, rest = os.path.splitdrive(folder)
    place = ResolvedPath(drive + os.sep)
    for name in rest.split(os.sep):
        if name not in ("", os.curdir):
            place = _step(place, name, here)
    return place


def _step(place: ResolvedPath, name: str, here: str) -> ResolvedPath:
    if name == os.curdir:
        return place
    if name == os.pardir:
        above = os.path.dirname(place.real)
        return (
            ResolvedPath(above, place.root, place.is_linked) if is_within(above, place.root) else _walked(above, here)
        )
    real, root, is_linked = os.path.join(place.real, name), place.root, place.is_linked
    if os.path.islink(real):
        real = inside(real, root) if root else os.path.realpath(real)
        is_linked = bool(root)
        if os.path.islink(real):  # it leads to itself
            raise OSError(ELOOP, os.strerror(ELOOP))
        if not root:
            root = _walked(real, here).root
    is_workplace = real == here and os.path.dirname(here) != here
    if os.path.lexists(os.path.join(real, _REPOSITORY)) or (is_workplace and not root):
        root = real
    return ResolvedPath(real, root, is_linked)


def _current() -> str:
    try:
        return os.getcwd()
    except OSError:  # somebody removed it
        return os.sep


# --- opening --------------------------------------------------------------------------------------------------------


def content(path: str, largest: int, *, root: str = "", streams: bool = False) -> bytes:
    """The bytes of a file, one more than ``largest`` of one that has more.

    ``root``: what the path may not leave, where not a person but a repository names it. ``streams``: the process's
    own descriptors may be read, whatever they are. Raises UnreadableError and other errors of the system.
    """
    if streams and is_own_stream(path):
        return _all_of(os.open(path, _READ), 0, largest)
    return content_at(inside(path, root) if root else place_of(path).real, largest)


def content_at(real: str, largest: int) -> bytes:
    """As ``content``, of a path that is known to hold no links and to lie where it should."""
    return _all_of(*_handle(real), largest)


def content_in(folder: int, name: str, largest: int) -> bytes:
    """As ``content``, of a file in a folder that is open."""
    return _all_of(*_handle(name, folder), largest)


def whole(path: str, largest: int) -> bytes:
    """As ``content``, of a file that may be very large. One that is larger is not begun: raises UnreadableError."""
    handle, size = _handle(place_of(path).real)
    if size > largest:
        os.close(handle)
        raise UnreadableError(f"larger than {largest >> 20:,} MiB")
    return _all_of(handle, size, largest)


@contextmanager
def own_folder(path: str) -> Iterator[int]:
    """The descriptor of a folder that nobody but the user may enter: whatever takes its name later, it is this one.

    A folder that others may enter, as a checkout makes them, may hold what others have put there. Raises OSError.
    """
    folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        found = os.fstat(folder)
        if found.st_uid != os.geteuid() or found.st_mode & 0o077:
            raise UnreadableError("not the user's alone")
        yield folder
    finally:
        os.close(folder)


def opened(path: str, *, root: str = "") -> IO[bytes]:
    """A file to be read piece by piece; see ``content``."""
    handle, _ = _handle(inside(path, root) if root else place_of(path).real)
    return open(handle, "rb")


def is_own_stream(path: str) -> bool:
    """Whether a path names a descriptor of this process, which whoever started it has opened."""
    return path == _OWN_INPUT or path.startswith(_OWN_DESCRIPTORS)


def shipped(name: str) -> bytes:
    """A file of this package, by its path inside it."""
    with open(os.path.join(os.path.dirname(__file__), name), "rb") as file:
        return file.read()


def _handle(real: str, folder: int | None = None) -> tuple[int, int]:
    """A descriptor of a regular file, and how many bytes the file has."""
    _check(os.stat(real, dir_fd=folder, follow_symlinks=False).st_mode)  # to open a device may already do something
    handle = os.open(real, _CAUTIOUS) if folder is None else os.open(real, _CAUTIOUS, dir_fd=folder)
    try:
        found = os.fstat(handle)
        _check(found.st_mode)
    except OSError:
        os.close(handle)
        raise
    return handle, found.st_size


def _check(mode: int) -> None:
    if stat.S_ISREG(mode):
        return
    if stat.S_ISLNK(mode):
        raise OSError(ELOOP, os.strerror(ELOOP))
    raise UnreadableError("is a folder" if stat.S_ISDIR(mode) else "not a regular file")


def _all_of(handle: int, size: int, largest: int) -> bytes:
    try:
        data = os.read(handle, min(size, largest) + 1)
        if len(data) == size:  # one more was asked for; asking again would cost as much as the first time
            return data
        pieces, length = [data], len(data)
        while length <= largest and pieces[-1]:
            pieces.append(os.read(handle, min(_PIECE, largest + 1 - length)))
            length += len(pieces[-1])
        return b"".join(pieces)
    finally:
        os.close(handle)
