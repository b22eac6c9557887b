"""``kubectl schedlint`` is the same program under the name that kubectl looks for."""

from __future__ import annotations

import gc
import sys
import tomllib
from importlib import import_module
from pathlib import Path

import pytest
from typer.testing import CliRunner

from kubesched_lint import cli
from kubesched_lint.cli import ending
from kubesched_lint.cli.app import app

ROOT = Path(__file__).parents[2]


def test_both_names_are_installed() -> None:
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
    assert list(scripts) == ["kubesched-lint", "kubectl-schedlint"]
    for place in scripts.values():
        module, _, function = place.partition(":")
        assert callable(getattr(import_module(module), function))


@pytest.mark.parametrize("command", [[], ["lint"], ["baseline", "write"], ["rules"]], ids=" ".join)
def test_help_names_the_command_that_the_user_typed(command: list[str]) -> None:
    for name, other in (("kubectl schedlint", "kubesched-lint "), ("kubesched-lint", "schedlint")):
        done = CliRunner().invoke(app, [*command, "--help"], prog_name=name)
        assert done.stdout.startswith(f"Usage: {' '.join([name, *command])} ")
        assert other not in done.stdout
        assert f"  {name} " in done.stdout.partition("Example")[2] or command == ["rules"]


def test_the_entry_point_names_the_plugin_in_usage_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ending, "ended_by", lambda run: run())
    monkeypatch.setattr(sys, "argv", ["/usr/local/bin/kubectl-schedlint", "frobnicate"])
    try:
        with pytest.raises(Exception, match="No such command 'frobnicate'") as caught:
            cli.kubectl_plugin()
    finally:
        gc.enable()  # a run turns it off
    assert caught.value.ctx.command_path == "kubectl schedlint"
