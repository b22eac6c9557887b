"""The stand-in for an API server, and a kubeconfig that leads to it."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.capture.stand_in import TOKEN, ApiServer


@pytest.fixture
def api() -> Iterator[ApiServer]:
    server = ApiServer()
    yield server
    server.close()


@pytest.fixture
def kubeconfig(api: ApiServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two contexts: ``here`` is the stand-in, ``gone`` an address where nobody listens."""
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "here",
        "clusters": [
            {"name": "stand-in", "cluster": {"server": api.url}},
            {"name": "gone", "cluster": {"server": f"http://127.0.0.1:{port}"}},
        ],
        "users": [{"name": "tester", "user": {"token": TOKEN}}, {"name": "stranger", "user": {"token": "wrong"}}],
        "contexts": [
            {"name": "here", "context": {"cluster": "stand-in", "user": "tester"}},
            {"name": "stranger", "context": {"cluster": "stand-in", "user": "stranger"}},
            {"name": "gone", "context": {"cluster": "gone", "user": "tester"}},
        ],
    }
    file = tmp_path / "kubeconfig"
    file.write_text(json.dumps(config))
    monkeypatch.setenv("KUBECONFIG", str(file))
    return file
