"""A server that has imported ``kubesched-lint``: each run of the program is a fork of it.

It is no fork of the tests: a process that holds thousands of collected tests takes longer for each fork, and a run that
collects garbage would look among theirs.
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import select
import signal
import socket
import sys
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from shutil import rmtree
from subprocess import PIPE, Popen
from tempfile import mkdtemp
from traceback import print_exc
from types import ModuleType
from typing import NoReturn

from typer.testing import CliRunner

import kubesched_lint
from kubesched_lint.cli import main
from kubesched_lint.cli.app import app

_ROOT = Path(__file__).parents[1]
_SECONDS = 60
_NEVER_ENDED = 99
"""Exit code if main() returns or raises, which it never does."""
_WARM = (
    "lint fixtures/shop -c fixtures/clusters/three-zones.yaml --no-cache",
    "simulate fixtures/shop/web.yaml -c fixtures/clusters/three-zones.yaml",
    "rules list",
    "config show",
)
"""What is run first: each fork has what these commands have read of ours, such as the rulebook."""
_CLIENT = """\
#!{python} -IS
import json, os, socket, sys
server = socket.socket(socket.AF_UNIX)
server.connect({address!r})
said = json.dumps([sys.argv[1:], os.getcwd(), dict(os.environ)]).encode()
socket.send_fds(server, [len(said).to_bytes(4, "big")], [0, 1, 2])
server.sendall(said)
code = int(server.recv(8))
sys.exit(code if code >= 0 else 128 - code)
"""


@cache
def address() -> str:
    """Return the address of the server of this process, which begins now and ends with it."""
    folder, owner = mkdtemp(), os.getpid()  # the longest path that a socket may have is about 100 characters
    place = f"{folder}/s"
    server = Popen([sys.executable, "-m", "tests.served", place], cwd=_ROOT, stdin=PIPE, stdout=PIPE)

    def end() -> None:
        if os.getpid() == owner:  # no fork of it
            server.kill()
            server.wait()
            rmtree(folder)

    atexit.register(end)
    assert server.stdout is not None
    assert server.stdout.read() == b"listening"
    return place


@cache
def program() -> Path:
    """Return the program ``kubesched-lint`` as a file that scripts run: a small client of the server."""
    file = Path(address()).with_name("kubesched-lint")
    file.write_text(_CLIENT.format(python=sys.executable, address=address()), encoding="utf-8")
    file.chmod(0o755)
    return file


def started(
    args: list[str], cwd: str | Path | None, environ: Mapping[str, str] | None, streams: Iterable[int]
) -> Callable[[], int]:
    """Start the program with file descriptors as its standard streams; None: our folder, our environment.

    The result waits for its end, and returns its exit code, or negative the signal that ended it.
    """
    server = socket.socket(socket.AF_UNIX)
    server.connect(address())
    said = json.dumps([args, os.fspath(cwd or os.getcwd()), dict(os.environ if environ is None else environ)]).encode()
    socket.send_fds(server, [len(said).to_bytes(4, "big")], [*streams])
    server.sendall(said)

    def ended() -> int:
        with server:
            return int(server.recv(8))

    return ended


@cache
def import_all() -> None:
    """Import nearly all that a run may import on demand, so that each fork has it."""
    for module in walk_packages(kubesched_lint.__path__, "kubesched_lint."):
        if not module.name.endswith("__main__"):
            import_module(module.name)


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


def _serve(place: str) -> None:
    """Fork for each client, so that the programs of a pipe run at once, and tell it the exit code."""
    from kubesched_lint.engine.placing import attempts

    attempts.raising = True  # as in the tests
    import_all()
    for words in _WARM:
        CliRunner().invoke(app, words.split(" "))
    gc.freeze()
    ended, ends = socket.socketpair()
    ended.setblocking(False)
    ends.setblocking(False)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(place)
        server.listen()
        os.write(1, b"listening")
        os.close(1)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGCHLD, lambda *_: None)  # one that is ignored wakes nobody
        signal.set_wakeup_fd(ends.fileno(), warn_on_full_buffer=False)
        clients: dict[int, socket.socket] = {}
        while True:
            ready, _, _ = select.select([server, ended, 0], [], [])
            if 0 in ready:  # the tests have ended, by whatever
                return
            if ended in ready:
                ended.recv(1 << 16)
                _tell(clients)
            if server in ready:
                client, _ = server.accept()
                clients[_forked(client)] = client


def _forked(client: socket.socket) -> int:
    """Return the process of the run that a client asks for."""
    size, streams, _, _ = socket.recv_fds(client, 4, 3)
    with client.makefile("rb") as file:
        args, cwd, environ = json.loads(file.read(int.from_bytes(size, "big")))
    child = os.fork()
    if not child:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        become(args, cwd, environ, streams)
    for stream in streams:  # whoever reads what the program writes sees its end
        os.close(stream)
    return child


def _tell(clients: dict[int, socket.socket]) -> None:
    """Tell the clients whose runs have ended."""
    for process in [*clients]:
        found, status = os.waitpid(process, os.WNOHANG)
        if found:
            with clients.pop(process) as client:
                client.sendall(str(os.waitstatus_to_exitcode(status)).encode())


if __name__ == "__main__":
    _serve(sys.argv[1])
