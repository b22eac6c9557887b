"""When a run collects garbage; see docs/decisions/0003-no-garbage-collection.md."""

from __future__ import annotations

import gc
from types import SimpleNamespace

from kubesched_lint.cli.linting import linting


def test_lint_collects_rarely_what_traces_leave_behind(monkeypatch) -> None:
    monkeypatch.setattr(linting, "_told", lambda call: (int(gc.isenabled()), None))
    before = gc.isenabled(), gc.get_threshold()
    gc.disable()
    try:
        assert linting.linted(SimpleNamespace(params={"changed": None, "watch": False})) == 1
        assert gc.get_threshold()[0] > 10_000
    finally:
        gc.set_threshold(*before[1])
        (gc.enable if before[0] else gc.disable)()
