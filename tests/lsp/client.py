"""A small client of the language server: JSON-RPC over the pipes of a process."""

from __future__ import annotations

import json
import queue
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from subprocess import PIPE, Popen
from threading import Thread
from typing import IO, Any

Message = dict[str, Any]
SECONDS = 60
CAPABILITIES: Mapping[str, Any] = {
    "workspace": {
        "workspaceFolders": True,
        "codeLens": {"refreshSupport": True},
        "workspaceEdit": {"documentChanges": True},
        "didChangeWatchedFiles": {"dynamicRegistration": True},
    }
}


class Client:
    """``said`` has all messages of the server so far, in order."""

    def __init__(self, to_server: IO[bytes], from_server: IO[bytes]) -> None:
        self._to, self._from = to_server, from_server
        self._came: queue.Queue[Message | None] = queue.Queue()
        self.number = 0
        self.said: list[Message] = []
        self._shown: dict[str, Message] = {}
        Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        while header := self._from.readline():
            length = int(header.split(b":")[1])
            while self._from.readline().strip():
                pass
            self._came.put(json.loads(self._from.read(length)))
        self._came.put(None)

    def send(self, message: Message) -> None:
        data = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self._to.write(b"Content-Length: %d\r\n\r\n%s" % (len(data), data))
        self._to.flush()

    def tell(self, method: str, **params: Any) -> None:
        self.send({"method": method, "params": params})

    def ask(self, method: str, **params: Any) -> Any:
        """Return the answer to a request."""
        number = self.begin(method, **params)
        answer = self.until(lambda message: message.get("id") == number and "method" not in message)
        assert "error" not in answer, answer["error"]
        return answer["result"]

    def begin(self, method: str, **params: Any) -> int:
        """Send a request. Return its number."""
        self.number += 1
        self.send({"id": self.number, "method": method, "params": params})
        return self.number

    def until(self, is_wanted: Callable[[Message], bool]) -> Message:
        """Return the next message that is wanted; those before it are kept in ``said``."""
        while True:
            message = self._came.get(timeout=SECONDS)
            assert message is not None, f"the server ended; it had said {self.said[-3:]}"
            self.said.append(message)
            if message.get("method") == "textDocument/publishDiagnostics":
                self._shown[message["params"]["uri"]] = message["params"]
            if "method" in message and "id" in message:
                self.send({"id": message["id"], "result": None})
            if is_wanted(message):
                return message

    # --- what editors do ----------------------------------------------------------------------------------------------

    def start(self, *roots: Path, capabilities: Mapping[str, Any] = CAPABILITIES) -> Any:
        """Open folders. Return what the server can do."""
        folders = [{"uri": root.as_uri(), "name": root.name} for root in roots]
        uri = folders[0]["uri"] if folders else None
        result = self.ask(
            "initialize", processId=None, rootUri=uri, workspaceFolders=folders, capabilities=capabilities
        )
        self.tell("initialized")
        return result["capabilities"]

    def open(self, file: Path, text: str | None = None, version: int = 1) -> list[Message]:
        """Open a file. Return its diagnostics."""
        given = file.read_text() if text is None else text
        document = {"uri": file.as_uri(), "languageId": "yaml", "version": version, "text": given}
        self.tell("textDocument/didOpen", textDocument=document)
        return self.diagnostics(file, version)

    def type(self, file: Path, text: str, version: int) -> list[Message]:
        """Replace the text of an open file. Return its diagnostics."""
        document = {"uri": file.as_uri(), "version": version}
        self.tell("textDocument/didChange", textDocument=document, contentChanges=[{"text": text}])
        return self.diagnostics(file, version)

    def diagnostics(self, file: Path, version: int) -> list[Message]:
        """Return the next diagnostics of a version of a file."""
        return self.shown(file, lambda params: params.get("version") == version, is_new=True)

    def finding(self, file: Path, rule: str) -> Message:
        """Return the finding of a rule in a file, now or once it is found."""

        def found(params: Message) -> list[Message]:
            return [one for one in params["diagnostics"] if one.get("code") == rule]

        (one,) = found({"diagnostics": self.shown(file, lambda params: bool(found(params)))})
        return one

    def shown(self, file: Path, is_wanted: Callable[[Message], bool], *, is_new: bool = False) -> list[Message]:
        """Return the diagnostics of a file that are wanted: what an editor shows now, unless they must be new."""
        uri = file.as_uri()
        known = self._shown.get(uri)
        if known is None or is_new or not is_wanted(known):
            self.until(
                lambda message: (
                    message.get("method") == "textDocument/publishDiagnostics"
                    and message["params"]["uri"] == uri
                    and is_wanted(message["params"])
                )
            )
        found: list[Message] = self._shown[uri]["diagnostics"]
        return found

    def hover(self, file: Path, line: int, character: int) -> str:
        """Return the Markdown of a hover; empty if there is none."""
        place = {"line": line, "character": character}
        found = self.ask("textDocument/hover", textDocument={"uri": file.as_uri()}, position=place)
        return found["contents"]["value"] if found else ""

    def lenses(self, file: Path) -> list[tuple[int, str]]:
        """Return (line, title) of each lens, once they are computed."""
        self.until(lambda message: message.get("method") == "workspace/codeLens/refresh")
        found = self.ask("textDocument/codeLens", textDocument={"uri": file.as_uri()})
        return [(lens["range"]["start"]["line"], lens["command"]["title"]) for lens in found]

    def actions(self, file: Path, first: int, last: int) -> list[Message]:
        where = {"start": {"line": first, "character": 0}, "end": {"line": last, "character": 0}}
        found: list[Message] = self.ask(
            "textDocument/codeAction",
            textDocument={"uri": file.as_uri()},
            range=where,
            context={"diagnostics": []},
        )
        return found

    def end(self) -> None:
        self.ask("shutdown")
        self.send({"method": "exit"})


@contextmanager
def serving(program: Path, *args: str, folder: Path) -> Iterator[Client]:
    """Yield a client of ``kubesched-lint lsp``, started in a folder; afterwards the server must end well."""
    with Popen([program, "lsp", *args], cwd=folder, stdin=PIPE, stdout=PIPE) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        client = Client(server.stdin, server.stdout)
        try:
            yield client
            client.end()
        finally:
            server.stdin.close()
            code = server.wait(SECONDS)
    assert code == 0
