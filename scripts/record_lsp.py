"""Record what an editor and the language server say to each other.

``python scripts/record_lsp.py FILE FOLDER`` stands for ``kubesched-lint lsp``: it starts that, hands every message on
and writes it to FILE, one JSON object a line, with FOLDER as ``$ROOT`` and without what differs from run to run.
tests/lsp/test_recordings.py plays the files in fixtures/lsp again. They were recorded in a copy of its folder, with
tests/lsp/neovim.lua in Neovim and tests/lsp/vscode.js in VS Code.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from threading import Lock, Thread
from typing import IO


def messages(stream: IO[bytes]) -> list[bytes]:
    """Return the next message as [head, body]; empty at the end."""
    length, head = 0, b""
    while line := stream.readline():
        head += line
        if line.lower().startswith(b"content-length:"):
            length = int(line.split(b":")[1])
        if not line.strip():
            return [head, stream.read(length)]
    return []


def hand_on(source: IO[bytes], target: IO[bytes], who: str, file: IO[str], folder: str, lock: Lock) -> None:
    while parts := messages(source):
        message = json.loads(parts[1].decode().replace(folder, "$ROOT"))
        if message.get("method") == "initialize":
            message["params"].update(processId=None)
        with lock:
            file.write(json.dumps({who: message}, ensure_ascii=False) + "\n")
            file.flush()
        target.write(b"".join(parts))
        target.flush()
    target.close()


def main() -> None:
    file, folder = Path(sys.argv[1]), sys.argv[2]
    command = [sys.executable, "-m", "kubesched_lint", "lsp"]
    lock = Lock()
    with file.open("w", encoding="utf-8") as out, subprocess.Popen(command, stdin=-1, stdout=-1) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        given = (sys.stdin.buffer, server.stdin, "client", out, folder, lock)
        Thread(target=hand_on, args=given, daemon=True).start()
        hand_on(server.stdout, sys.stdout.buffer, "server", out, folder, lock)
    os._exit(server.returncode)  # the thread still waits for the client


if __name__ == "__main__":
    main()
