"""Files that appear whole or not at all, whatever ends the run while they are written."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO


@contextmanager
def replacing(path: str, mode: int = 0o666) -> Iterator[IO[bytes]]:
    """A new file that takes the place of ``path`` when the block ends; when it raises, nothing has changed.

    A link at ``path`` is replaced, and what it names stays as it is.
    """
    # Not named after the file: a name may already be as long as it can be. No suffix by which anybody would read it.
    temporary = os.path.join(os.path.dirname(path), f".kubesched-lint-{os.urandom(6).hex()}")
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    try:
        with open(handle, "wb") as file:
            yield file
            kept(file)
        os.replace(temporary, path)
    except BaseException:
        try:
            os.unlink(temporary)
        except OSError:
            pass
        raise


def kept(file: IO[bytes]) -> None:
    """What was written is on the disk: a name that outlives a crash must not outlive its content."""
    file.flush()
    os.fsync(file.fileno())
