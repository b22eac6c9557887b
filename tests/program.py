"""``kubesched-lint`` in a process that need not import first what it runs (tests/served.py).

Tests of imports, streams, signals and installed packages start Python itself.
"""

from __future__ import annotations

import fcntl
import os
import pty
import struct
import termios
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from subprocess import CompletedProcess
from tempfile import TemporaryFile
from typing import IO

from tests.served import become, import_all, started


def called(
    *args: str | Path,
    cwd: Path | None = None,
    stdin: str = "",
    environ: Mapping[str, str] | None = None,
    as_patched: bool = False,
) -> CompletedProcess[str]:
    """Return exit code (negative: the signal that ended the process), output and errors; ``environ`` None: ours.

    ``as_patched``: the program is a fork of the tests, with what a test has put in place of something.
    """
    with TemporaryFile() as given, TemporaryFile() as out, TemporaryFile() as err:
        given.write(stdin.encode())
        given.seek(0)
        run = _forked if as_patched else started
        ended = run([*map(str, args)], cwd, environ, [stream.fileno() for stream in (given, out, err)])
        return CompletedProcess(args, ended(), _text(out), _text(err))


def _forked(
    args: list[str], cwd: str | Path | None, environ: Mapping[str, str] | None, streams: Iterable[int]
) -> Callable[[], int]:
    import_all()
    child = os.fork()
    if not child:
        become(args, cwd, environ, streams)
    return lambda: os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def lines_on_a_terminal(*args: str | Path, cwd: Path, columns: int = 80, as_patched: bool = False) -> list[str]:
    """Return what stands on a terminal of ``columns`` after a call, without colours and without standard error."""
    ours, its = pty.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    with open(os.devnull, "r+") as nothing:
        environ = {**os.environ, "NO_COLOR": "1"}
        run = _forked if as_patched else started
        ended = run([*map(str, args)], cwd, environ, [nothing.fileno(), its, nothing.fileno()])
    os.close(its)
    found = bytearray()
    with suppress(OSError):  # the terminal is gone once the child has ended
        while part := os.read(ours, 1 << 16):
            found += part
    os.close(ours)
    ended()
    return found.decode().replace("\r", "").splitlines()


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode()
