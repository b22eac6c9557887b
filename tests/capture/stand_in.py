"""A stand-in for an API server: it replays what a real one answered, and fails where a test tells it to."""

from __future__ import annotations

import gzip
import json
import socket
import struct
import threading
import time
from collections.abc import Callable
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

RECORDED = Path(__file__).parents[2] / "fixtures" / "apiserver" / "responses.jsonl.gz"
TOKEN = "t0ken-of-the-tests"
# Lists that nobody recorded, of APIs that the recorded server serves: it had none of them.
EMPTY = ("jobs", "cronjobs", "limitranges", "resourcequotas", "volumeattachments", "csistoragecapacities")
EMPTY_TOO = (
    "runtimeclasses",
    "replicationcontrollers",
    "deviceclasses",
    "csidrivers",
    "resourceclaimtemplates",
    "resourceclaims",
    "resourceslices",
)
Handler = BaseHTTPRequestHandler
Fault = Callable[[Handler], bool]
"""Answers in place of the recording; False lets the recording answer after all."""


@cache
def recorded() -> dict[str, tuple[int, Any]]:
    lines = gzip.decompress(RECORDED.read_bytes()).decode().splitlines()
    return {entry["path"]: (entry["status"], entry["body"]) for entry in map(json.loads, lines)}


class ApiServer:
    """``requests`` are the paths asked for, in order. ``faults``: path without query → what happens there, in turn."""

    def __init__(self) -> None:
        self.requests: list[str] = []
        self.headers: list[dict[str, str]] = []
        self.faults: dict[str, list[Fault]] = {}
        self.extra: dict[str, tuple[int, Any]] = {}
        server = self

        class Replay(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            wbufsize = -1
            disable_nagle_algorithm = True

            def log_message(self, *_: object) -> None:
                pass

            def do_GET(self) -> None:
                server.answer(self)

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Replay)
        self._http.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._http.server_port}"
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._http.shutdown()
        self._http.server_close()

    def asked(self, plural: str) -> list[str]:
        return [path for path in self.requests if urlsplit(path).path.endswith(f"/{plural}")]

    def fails(self, path: str, *faults: Fault) -> None:
        self.faults[path] = list(faults)

    def answer(self, handler: Handler) -> None:
        self.requests.append(handler.path)
        self.headers.append({name.lower(): value for name, value in handler.headers.items()})
        where = urlsplit(handler.path)
        waiting = self.faults.get(where.path)
        if waiting and waiting.pop(0)(handler):
            return
        if handler.headers.get("Authorization") != f"Bearer {TOKEN}":
            send(handler, 401, {"kind": "Status", "code": 401})
        else:
            send(handler, *self._recorded(where.path, dict(parse_qsl(where.query))))

    def _recorded(self, path: str, query: dict[str, str]) -> tuple[int, Any]:
        query.pop("fieldSelector", None)
        if query.get("limit") == "500":  # more than any recorded list has
            del query["limit"]
        key = f"{path}?{urlencode(query)}" if query else path
        found = self.extra.get(path) or recorded().get(key)
        if found is not None:
            return found
        if path.rpartition("/")[2] in (*EMPTY, *EMPTY_TOO):
            return 200, {"kind": "List", "metadata": {"resourceVersion": "1122"}, "items": []}
        return 404, "404 page not found\n"


def send(handler: Handler, status: int, body: Any, **headers: str) -> None:
    data = body.encode() if isinstance(body, str) else json.dumps(body).encode()
    packed = "gzip" in handler.headers.get("Accept-Encoding", "") and len(data) > 1000
    if packed:
        data = gzip.compress(data, 1)
    handler.send_response(status)
    handler.send_header("Content-Type", "application/json")
    if packed:
        handler.send_header("Content-Encoding", "gzip")
    for name, value in headers.items():
        handler.send_header(name.replace("_", "-"), value)
    handler.send_header("Content-Length", str(len(data)))
    handler.end_headers()
    handler.wfile.write(data)


# --- faults ---------------------------------------------------------------------------------------------------------


def status(code: int, reason: str = "", **headers: str) -> Fault:
    def fault(handler: Handler) -> bool:
        body = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason, "code": code}
        send(handler, code, body, **headers)
        return True

    return fault


def says(text: str) -> Fault:
    def fault(handler: Handler) -> bool:
        send(handler, 200, text)
        return True

    return fault


def fine(handler: Handler) -> bool:
    return False


def reset(handler: Handler) -> bool:
    """Drops the connection with a TCP reset, before any answer."""
    handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    handler.connection.close()
    handler.close_connection = True
    return True


def cut(handler: Handler) -> bool:
    """Promises more than it sends."""
    handler.send_response(200)
    handler.send_header("Content-Length", "100000")
    handler.end_headers()
    handler.wfile.write(b'{"items":[')
    handler.wfile.flush()
    handler.close_connection = True
    return True


def hang(seconds: float) -> Fault:
    def fault(handler: Handler) -> bool:
        time.sleep(seconds)
        handler.close_connection = True
        return True

    return fault
