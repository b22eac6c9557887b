"""``kubesched-lint`` in a process forked from the tests, which need not import what they have imported already.

Tests of imports, streams, signals and installed packages start Python itself.
"""

from __future__ import annotations

import fcntl
import gc
import os
import pty
import signal
import struct
import sys
import termios
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from subprocess import CompletedProcess
from tempfile import TemporaryFile
from traceback import print_exc
from types import ModuleType
from typing import IO, NoReturn

import kubesched_lint
from kubesched_lint.cli import main

_SECONDS = 60
_NEVER_ENDED = 99
"""Exit code if main() returns or raises, which it never does."""


def called(
    *args: str | Path, cwd: Path | None = None, stdin: str = "", environ: Mapping[str, str] | None = None
) -> CompletedProcess[str]:
    """Return exit code (negative: the signal that ended the process), output and errors; ``environ`` None: ours."""
    import_all()
    with TemporaryFile() as given, TemporaryFile() as out, TemporaryFile() as err:
        given.write(stdin.encode())
        given.seek(0)
        child = os.fork()
        if not child:
            become(list(map(str, args)), cwd, environ, [stream.fileno() for stream in (given, out, err)])
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        return CompletedProcess(args, code, _text(out), _text(err))


def lines_on_a_terminal(*args: str | Path, cwd: Path, columns: int = 80) -> list[str]:
    """Return what stands on a terminal of ``columns`` after a call, without colours and without standard error."""
    import_all()
    ours, its = pty.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    with open(os.devnull, "r+") as nothing:
        child = os.fork()
        if not child:
            environ = {**os.environ, "NO_COLOR": "1"}
            become(list(map(str, args)), cwd, environ, (nothing.fileno(), its, nothing.fileno()))
    os.close(its)
    found = bytearray()
    with suppress(OSError):  # the terminal is gone once the child has ended
        while part := os.read(ours, 1 << 16):
            found += part
    os.close(ours)
    os.waitpid(child, 0)
    return found.decode().replace("\r", "").splitlines()


@cache
def import_all() -> None:
    """Import nearly all that a run may import on demand, so that each fork has it."""
    for module in walk_packages(kubesched_lint.__path__, "kubesched_lint."):
        if not module.name.endswith("__main__"):
            import_module(module.name)


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode()


def become(
    args: list[str], cwd: str | Path | None, environ: Mapping[str, str] | None, streams: Iterable[int]
) -> NoReturn:
    """Run the program in this process, a fork, with file descriptors as its standard streams."""
    try:
        gc.freeze()  # what is the parent's would be copied in order to be visited
        signal.alarm(_SECONDS)
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
        sys.stdin, sys.stdout = open(0), open(1, "w")  # noqa: SIM115
        sys.stderr = open(2, "w", errors="backslashreplace")  # noqa: SIM115
        if cwd is not None:
            os.chdir(cwd)
        if environ is not None:
            os.environ.clear()
            os.environ.update(environ)
        sys.argv = ["kubesched-lint", *args]
        sys.modules["__main__"] = ModuleType("__main__")  # help names the program after it
        main()
    except BaseException:
        print_exc()
    finally:
        os._exit(_NEVER_ENDED)
