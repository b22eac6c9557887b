"""A client that sends nonsense gets one answer to each request, and the next good request is answered too."""

from __future__ import annotations

import json
import queue
import shutil
from collections.abc import Iterator
from pathlib import Path
from subprocess import PIPE, Popen
from threading import Thread
from time import monotonic
from typing import Any

import pytest

from kubesched_lint.lsp.messages import Fault, Messages
from kubesched_lint.sources.manifests.limits import LARGEST
from tests.lsp.client import CAPABILITIES, Client, serving

ROOT = Path(__file__).parents[2]
CACHE = (ROOT / "fixtures/shop/cache.yaml").read_text()
SECONDS = 30
Message = dict[str, Any]


class Raw:
    """The server, spoken to in bytes. What it says on standard error must be nothing."""

    def __init__(self, program: Path, folder: Path) -> None:
        self.process = Popen([program, "lsp"], cwd=folder, stdin=PIPE, stdout=PIPE, stderr=PIPE)
        self._came: queue.Queue[Message] = queue.Queue()
        Thread(target=self._read, daemon=True).start()
        self.said: list[Message] = []

    def _read(self) -> None:
        assert self.process.stdout is not None
        while header := self.process.stdout.readline():
            while self.process.stdout.readline().strip():
                pass
            self._came.put(json.loads(self.process.stdout.read(int(header.split(b":")[1]))))

    def write(self, data: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def send(self, message: object) -> None:
        data = json.dumps(message).encode()
        self.write(b"Content-Length: %d\r\n\r\n%s" % (len(data), data))

    def answer(self, number: object) -> Message:
        """Return the only answer to a request."""
        while True:
            found = self._came.get(timeout=SECONDS)
            self.said.append(found)
            if "method" not in found and found.get("id") == number:
                return found

    def error(self, number: object = None) -> tuple[int, str]:
        error = self.answer(number)["error"]
        assert set(error) <= {"code", "message"}, "no traceback"
        assert "Traceback" not in error["message"]
        assert "bug" not in error["message"]
        return error["code"], error["message"]

    def ask(self, number: int, method: str, params: object) -> None:
        self.send({"jsonrpc": "2.0", "id": number, "method": method, "params": params})

    def tell(self, method: str, params: object) -> None:
        self.send({"jsonrpc": "2.0", "method": method, "params": params})

    def initialize(self, root: str | None = None) -> None:
        self.ask(1, "initialize", {"processId": None, "rootUri": root, "capabilities": {}})
        assert "result" in self.answer(1)
        self.tell("initialized", {})

    def is_well(self, folder: Path) -> None:
        """A good request is answered, and nothing else is still to come."""
        before = len(self.said)
        self.ask(99, "textDocument/hover", hover((folder / "cache.yaml").as_uri(), 4, 9))
        assert "result" in self.answer(99)
        assert not [one for one in self.said[before:-1] if "error" in one], "one error for each mistake"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "cache.yaml").write_text(CACHE)
    return tmp_path


@pytest.fixture
def raw(folder: Path, program: Path) -> Iterator[Raw]:
    server = Raw(program, folder)
    try:
        yield server
        assert server.process.stdin is not None
        server.process.stdin.close()
        assert server.process.wait(SECONDS) == 0
        assert server.process.stderr is not None
        assert server.process.stderr.read() == b""
    finally:
        server.process.kill()
        server.process.wait()


def hover(uri: object, line: object = 0, character: object = 0) -> Message:
    return {"textDocument": {"uri": uri}, "position": {"line": line, "character": character}}


BAD_REQUESTS = {
    "negative": (hover("file:///tmp/a.yaml", -1), "params.position"),
    "beyond uint31": (hover("file:///tmp/a.yaml", 0, 2**31), "params.position"),
    "far beyond": (hover("file:///tmp/a.yaml", 10**30), "params.position"),
    "fraction": (hover("file:///tmp/a.yaml", 1.5), "params.position.line: a whole number is needed, not 1.5"),
    "text": (hover("file:///tmp/a.yaml", "1"), "params.position.line: a whole number is needed, not '1'"),
    "true": (hover("file:///tmp/a.yaml", True), "params.position.line: a whole number is needed, not True"),
    "null": (hover("file:///tmp/a.yaml", None), "params.position.line"),
    "infinite": (hover("file:///tmp/a.yaml", float("inf")), "params.position.line"),
    "no parameters": (None, "params"),
    "number for parameters": (5, "params"),
    "list for parameters": ([1], "params"),
    "text for parameters": ("x", "params"),
    "no position": ({"textDocument": {"uri": "file:///tmp/a.yaml"}}, "position is missing"),
    "number for a document": ({"textDocument": 5, "position": {"line": 0, "character": 0}}, "params.textDocument"),
    "number for a URI": (hover(5), "params.textDocument.uri: a string is needed, not 5"),
    "NUL": (hover("file:///tmp/a%00.yaml"), "no URI of a file"),
    "raw NUL": (hover("file:///tmp/a\0.yaml"), "no URI of a file"),
    "half a surrogate pair": (hover("file:///tmp/\ud800.yaml"), "no URI of a file"),
    "no address": (hover("file://[/a.yaml"), "no URI of a file"),
    "the disk": (hover("file:///"), "names no file"),
    "a folder": (hover("file:///tmp"), "names no file"),
    "a device": (hover("file:///dev/zero"), "names no file"),
}


def test_a_request_with_wrong_parameters_gets_one_answer(raw: Raw, folder: Path) -> None:
    raw.initialize(folder.as_uri())
    for number, (name, (params, words)) in enumerate(BAD_REQUESTS.items(), start=100):
        raw.ask(number, "textDocument/hover", params)
        code, text = raw.error(number)
        assert code == -32602, name
        assert words in text, name
    reversed_range = {"start": {"line": 9, "character": 0}, "end": {"line": -9, "character": 0}}
    document = {"uri": (folder / "cache.yaml").as_uri()}
    raw.ask(2, "textDocument/codeAction", {"textDocument": document, "range": reversed_range, "context": {}})
    assert raw.error(2)[0] == -32602
    raw.is_well(folder)


@pytest.mark.parametrize("uri", ["untitled:a.yaml", "git:/a.yaml?x", "https://example.com/a.yaml", "a.yaml", "", "%"])
def test_what_is_in_no_file_has_no_hover(raw: Raw, folder: Path, uri: str) -> None:
    raw.initialize()
    raw.tell("textDocument/didOpen", {"textDocument": {"uri": uri, "languageId": "yaml", "version": 1, "text": CACHE}})
    raw.ask(2, "textDocument/hover", hover(uri, 4, 9))
    assert raw.answer(2)["result"] is None
    raw.is_well(folder)


def test_no_document_or_folder_makes_the_server_search_the_disk(raw: Raw, folder: Path) -> None:
    raw.initialize("file:///")
    for uri in ("file:///", "file:///dev", "file:///dev/zero", "file:///a%00", "file:///\udfff", "file://["):
        document = {"uri": uri, "languageId": "yaml", "version": 1, "text": CACHE}
        raw.tell("textDocument/didOpen", {"textDocument": document})
        raw.tell("textDocument/didChange", {"textDocument": {"uri": uri, "version": 2}, "contentChanges": []})
        part = {"range": {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 0}}, "text": "a"}
        raw.tell("textDocument/didChange", {"textDocument": {"uri": uri, "version": 2}, "contentChanges": [part]})
        raw.tell("textDocument/didSave", {"textDocument": {"uri": uri}})
        raw.tell("textDocument/didClose", {"textDocument": {"uri": uri}})
        added = {"added": [{"uri": "file:///", "name": "disk"}], "removed": [{"uri": uri, "name": ""}]}
        raw.tell("workspace/didChangeWorkspaceFolders", {"event": added})
        raw.tell("workspace/didChangeWatchedFiles", {"changes": [{"uri": uri, "type": 2}]})
    raw.is_well(folder)
    texts = [one["params"]["message"] for one in raw.said if "params" in one and "message" in one["params"]]
    assert any("is the whole disk" in text for text in texts)
    assert not [text for text in texts if "bug" in text]


def test_requests_out_of_turn_are_refused(raw: Raw, folder: Path) -> None:
    place = hover((folder / "cache.yaml").as_uri(), 4, 9)
    raw.tell("textDocument/didClose", {"textDocument": {"uri": "file:///a"}})
    raw.ask(2, "textDocument/hover", place)
    assert raw.error(2)[0] == -32002
    raw.ask(3, "shutdown", None)
    assert raw.error(3)[0] == -32002
    raw.ask(4, "initialize", {"capabilities": 5})
    assert raw.error(4)[0] == -32602
    raw.ask(5, "initialize", {"processId": None, "rootUri": "file://[", "capabilities": {}})
    assert raw.error(5)[0] == -32602
    raw.ask(1, "initialize", {"processId": None, "rootUri": None, "capabilities": {}})
    assert "result" in raw.answer(1)
    raw.ask(6, "textDocument/hover", place)
    assert "result" in raw.answer(6), "before the client says that it knows of it"
    raw.ask(7, "initialize", {"processId": None, "rootUri": None, "capabilities": {}})
    assert raw.error(7)[0] == -32600
    raw.tell("initialized", None)
    raw.tell("initialized", {})
    raw.ask(8, "no/such/method", {"a": 1})
    assert raw.error(8)[0] == -32601
    raw.is_well(folder)
    raw.ask(9, "shutdown", None)
    assert "result" in raw.answer(9)
    raw.ask(10, "textDocument/hover", place)
    assert raw.error(10)[0] == -32600


@pytest.mark.parametrize("number", [[], {}, [[1]], None, 1.5, True, "\ud800"])
def test_nothing_that_is_called_off_ends_the_server(raw: Raw, folder: Path, number: object) -> None:
    raw.initialize(folder.as_uri())
    raw.tell("$/cancelRequest", {"id": number})
    raw.tell("$/cancelRequest", number)
    raw.is_well(folder)


def test_what_only_tells_is_no_request(raw: Raw, folder: Path) -> None:
    raw.initialize(folder.as_uri())
    document = {"uri": (folder / "cache.yaml").as_uri()}
    for number, method in enumerate(("textDocument/didClose", "initialized", "$/cancelRequest", "exit"), start=20):
        raw.ask(number, method, {"textDocument": document, "id": 1})
        assert raw.error(number) == (-32600, f"{method} is a notification, which has no id")
    raw.is_well(folder)


NO_MESSAGES = {
    "negative": b'Content-Length: -5\r\n\r\n{"jsonrpc": "2.0"}',
    "huge": b'Content-Length: 99999999999999999999999999\r\n\r\n{"jsonrpc": "2.0"}',
    "large": b'Content-Length: 999999999999\r\n\r\n{"jsonrpc": "2.0"}',
    "more than there is": b'Content-Length: 100000000\r\n\r\n{"jsonrpc": "2.0"}',
    "a little more than there is": b'Content-Length: 40\r\n\r\n{"jsonrpc": "2.0"}',
    "less than there is": b'Content-Length: 5\r\n\r\n{"jsonrpc": "2.0"}',
    "no number": b'Content-Length: many\r\n\r\n{"jsonrpc": "2.0"}',
    "empty": b'Content-Length: \r\n\r\n{"jsonrpc": "2.0"}',
    "zero": b"Content-Length: 0\r\n\r\n",
    "missing": b'Content-Type: text/plain\r\n\r\n{"jsonrpc": "2.0"}',
    "no header": b'{"jsonrpc": "2.0"}\n',
    "no bytes of text": b"\xff\xfe\r\n\r\n" * 50,
    "much": b"x" * 100_000,
    "no JSON": b"Content-Length: 5\r\n\r\n{nope",
    "no UTF-8": b'Content-Length: 4\r\n\r\n"\xff\xff"',
    "deep": b"Content-Length: 200000\r\n\r\n" + b"[" * 200_000,
    "long number": b"Content-Length: 10000\r\n\r\n" + b"1" * 10_000,
    "a list": b"Content-Length: 2\r\n\r\n[]",
    "null": b"Content-Length: 4\r\n\r\nnull",
    "another protocol": b'Content-Length: 18\r\n\r\n{"jsonrpc": "1.0"}',
    "a list for a method": b'Content-Length: 32\r\n\r\n{"jsonrpc": "2.0", "method": []}',
    "an object for an id": b'Content-Length: 43\r\n\r\n{"jsonrpc": "2.0", "id": {}, "method": "a"}',
}


def test_what_is_no_message_gets_one_answer(raw: Raw, folder: Path) -> None:
    raw.initialize(folder.as_uri())
    for name, data in NO_MESSAGES.items():
        before = len(raw.said)
        raw.write(data)
        raw.ask(99, "textDocument/hover", hover((folder / "cache.yaml").as_uri(), 4, 9))
        assert "result" in raw.answer(99), name
        errors = [one["error"] for one in raw.said[before:] if "error" in one and one["id"] is None]
        assert [error["code"] in (-32700, -32600) for error in errors] == [True], name
    raw.write(b'content-length:  21\r\nContent-Type: a; charset=utf-8\r\n\r\n{"jsonrpc":"2.0"    }')
    raw.send({"jsonrpc": "2.0", "id": {}, "result": 5})
    raw.is_well(folder)


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_messages_come_in_any_pieces(size: int) -> None:
    data = b"Content-Length: 2\r\nA: b\r\n\r\n{}oops\r\n\r\noopsA: b\r\nContent-Length: 2\r\n\r\n[]"
    pieces = [data[at : at + size] for at in range(0, len(data), size)]
    messages = Messages(lambda _: pieces.pop(0) if pieces else b"")
    assert messages.next() == {}
    assert isinstance(messages.next(), Fault)
    assert messages.next() == []
    with pytest.raises(EOFError):
        messages.next()


@pytest.mark.parametrize("is_saved", [True, False])
def test_a_document_of_60_mb_delays_nobody(folder: Path, program: Path, is_saved: bool) -> None:
    shutil.copy(ROOT / "fixtures/clusters/three-zones.yaml", folder / "cluster.yaml")
    (folder / "kubesched.toml").write_text('cluster = "cluster.yaml"\n')
    large, file = folder / "large.yaml", folder / "cache.yaml"
    if is_saved:
        large.write_text(CACHE)
    with serving(program, folder=folder) as client:
        client.start(folder, capabilities={**CAPABILITIES, "workspace": {}})
        client.open(file)
        client.finding(file, "anti-affinity-exceeds-domains")
        text = CACHE + "# a line\n" * (60_000_000 // 9)
        (told,) = timed(client, large, file, text)
        assert told["message"].startswith(f"larger than {LARGEST >> 20} MiB")
        document = {"uri": large.as_uri(), "version": 2}
        client.tell("textDocument/didChange", textDocument=document, contentChanges=[{"text": CACHE}])
        client.shown(large, lambda params: params.get("version") == 2)


def timed(client: Client, large: Path, file: Path, text: str) -> list[Message]:
    """Open a large document and ask about another at once. Return the diagnostics of the large one."""
    document = {"uri": large.as_uri(), "languageId": "yaml", "version": 1, "text": text}
    client.tell("textDocument/didOpen", textDocument=document)
    began = monotonic()
    for line in range(3):
        client.hover(file, line, 9)
    client.hover(large, 5, 9)
    found = client.shown(large, lambda params: params.get("version") == 1)
    client.type(file, CACHE + "# more\n", 2)
    assert monotonic() - began < 5, "it takes one second where nothing else runs"
    return found
