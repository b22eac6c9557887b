"""Files that appear whole or not at all, whatever ends the run while they are written."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

from kubesched_lint.files import UnreadableError, is_own_stream, place_of


@contextmanager
def replacing(path: str, mode: int = 0o666) -> Iterator[IO[bytes]]:
    """A new file that takes the place of ``path`` when the block ends; when it raises, nothing has changed.

    Only a regular file is replaced: ``path`` holds no links (see ``destination``).
    """
    if os.path.lexists(path) and (os.path.islink(path) or not os.path.isfile(path)):
        raise UnreadableError("not a regular file")
    # Not named after the file: a name may already be as long as it can be. No suffix by which anybody would read it.
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


def destination(path: str) -> str:
    """Where a path leads that a report is written to: a link in a repository may not lead out of it. Raises OSError.

    What the system itself names (``/dev/stderr``) leads where it leads.
    """
    if is_own_stream(path) or path.startswith("/dev/"):
        return path
    try:
        return place_of(path).real
    except UnreadableError:
        raise UnreadableError("a link leads out of the repository: nothing is written there") from None


def kept(file: IO[bytes]) -> None:
    """What was written is on the disk: a name that outlives a crash must not outlive its content."""
    file.flush()
    os.fsync(file.fileno())
