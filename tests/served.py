"""``kubesched-lint`` as a file that scripts can run: each run is a fork of one server, which has imported everything.

The file is a small client. It hands arguments, folder, environment and standard streams to the server, and ends with
the exit code of the run. The server is no fork of the tests: a run that collects garbage would look among theirs.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from subprocess import PIPE, Popen
from tempfile import TemporaryDirectory

from tests.program import become, import_all

_ROOT = Path(__file__).parents[1]
_SECONDS = 1800
"""The server ends then, should the tests have been killed."""
_CLIENT = """\
#!{python} -IS
import json, os, socket, sys
server = socket.socket(socket.AF_UNIX)
server.connect({address!r})
said = json.dumps([sys.argv[1:], os.getcwd(), dict(os.environ)]).encode()
socket.send_fds(server, [len(said).to_bytes(4, "big")], [0, 1, 2])
server.sendall(said)
sys.exit(int(server.recv(8)))
"""


@contextmanager
def served() -> Iterator[Path]:
    """Yield the path of the program ``kubesched-lint``; it runs until the end of the ``with``."""
    with TemporaryDirectory() as folder:
        address = f"{folder}/s"  # the longest path that a socket may have is about 100 characters
        program = Path(folder) / "kubesched-lint"
        program.write_text(_CLIENT.format(python=sys.executable, address=address), encoding="utf-8")
        program.chmod(0o755)
        with Popen([sys.executable, "-m", "tests.served", address], cwd=_ROOT, stdout=PIPE) as server:
            assert server.stdout is not None
            assert server.stdout.read() == b"listening"
            try:
                yield program
            finally:
                server.kill()


def _serve(address: str) -> None:
    """Fork for each client, so that the programs of a pipe run at once."""
    from kubesched_lint.engine.placing import attempts

    attempts.raising = True  # as in the tests
    import_all()
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(address)
        server.listen()
        os.write(1, b"listening")
        os.close(1)
        signal.alarm(_SECONDS)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        running: set[int] = set()
        while True:
            client, _ = server.accept()
            child = os.fork()
            if not child:
                _run(client)
            client.close()
            running = {pid for pid in (*running, child) if os.waitpid(pid, os.WNOHANG) == (0, 0)}


def _run(client: socket.socket) -> None:
    """Run the program in a further fork, so that the exit code can be told."""
    try:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        size, streams, _, _ = socket.recv_fds(client, 4, 3)
        with client.makefile("rb") as file:
            args, cwd, environ = json.loads(file.read(int.from_bytes(size, "big")))
        child = os.fork()
        if not child:
            become(args, cwd, environ, streams)
        for stream in streams:  # whoever reads what the program writes sees its end
            os.close(stream)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        client.sendall(str(code if code >= 0 else 128 - code).encode())
    finally:
        os._exit(0)


if __name__ == "__main__":
    _serve(sys.argv[1])
