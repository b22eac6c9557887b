"""Write files atomically: they appear whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

from kubesched_lint.files import UnreadableError, is_own_stream, place_of


@contextmanager
def replacing(path: str, mode: int = 0o666) -> Iterator[IO[bytes]]:
    """Yield a new file that replaces ``path`` when the block ends; if the block raises, nothing has changed.

    Only a regular file is replaced: ``path`` contains no links (see ``destination``).
    """
    if os.path.lexists(path) and (os.path.islink(path) or not os.path.isfile(path)):
        raise UnreadableError("not a regular file")
    # The file's own name may already have the maximal length. Without a suffix, no tool reads the file.
    temporary = os.path.join(os.path.dirname(path), f".kubesched-lint-{os.urandom(6).hex()}")
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    try:
        with open(handle, "wb") as file:
            yield file
        os.replace(temporary, path)
    except BaseException:
        try:
            os.unlink(temporary)
        except OSError:
            pass
        raise


def put_in(folder: int, name: str, data: bytes) -> None:
    """Write a file into an open folder: whole, or not at all; only the user may read it."""
    temporary = f"{name}.{os.urandom(6).hex()}.tmp"
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600, dir_fd=folder)
    try:
        with open(handle, "wb") as file:
            file.write(data)
        os.replace(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        removed_from(folder, temporary)
        raise


def removed_from(folder: int, name: str) -> None:
    """Remove a file of an open folder, if it is there."""
    try:
        os.unlink(name, dir_fd=folder)
    except OSError:
        pass


def destination(path: str) -> str:
    """Return the target of a path for a report: a link in a repository must not leave it. Raises OSError.

    Names of the system (``/dev/stderr``) are returned unchanged; below ``/dev/shm`` lie files like any other.
    """
    if is_own_stream(path) or (path.startswith("/dev/") and not path.startswith("/dev/shm/")):
        return path
    try:
        return place_of(path).real
    except UnreadableError:
        raise UnreadableError("a link leads out of the repository: nothing is written there") from None


def kept(file: IO[bytes]) -> None:
    """Flush the file to the disk: after a crash a renamed file must have its content."""
    file.flush()
    os.fsync(file.fileno())
