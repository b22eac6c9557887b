from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.check.live import Live, kubeconfig, serving


@pytest.fixture
def live(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Live]:
    monkeypatch.setattr("kubesched_lint.sources.capture.connection._FIRST_PAUSE", 0.01)
    with serving() as server:
        monkeypatch.setenv("KUBECONFIG", str(kubeconfig(tmp_path, server.url)))
        yield Live(tmp_path, server)
