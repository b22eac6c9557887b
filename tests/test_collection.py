"""When a run collects garbage; see docs/decisions/0003-no-garbage-collection.md."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from types import SimpleNamespace

import pytest
import typer

from kubesched_lint.cli.app import app
from kubesched_lint.cli.linting import linting


@pytest.fixture(autouse=True)
def _collector_as_before() -> Iterator[None]:
    before = gc.isenabled(), gc.get_threshold()
    gc.disable()
    yield
    gc.set_threshold(*before[1])
    (gc.enable if before[0] else gc.disable)()


def test_lint_collects_rarely_what_traces_leave_behind(monkeypatch) -> None:
    monkeypatch.setattr(linting, "_told", lambda call: (int(gc.isenabled()), None))
    assert linting.linted(SimpleNamespace(params={"changed": None, "watch": False})) == 1
    assert gc.get_threshold()[0] > 10_000


def test_other_commands_collect_rarely_too() -> None:
    commands = typer.main.get_command(app)
    assert commands.get_command(typer.Context(commands), "simulate") is not None
    assert gc.isenabled()
    fresh, young, _ = gc.get_threshold()
    assert fresh > 10_000
    assert young > 10, "what a plan of 40 workloads has made by its end is looked through once more"
