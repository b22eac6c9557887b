"""What the command line says and returns as long as nobody has decided whether the node groups are complete."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result
from typer.testing import CliRunner

from kubesched_lint.cli.app import app

Lint = Callable[..., Result]
ROOT = Path(__file__).parents[2]
NODES = ROOT / "fixtures" / "clouds" / "eks" / "nodes.json"
WEB = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      nodeSelector: {pool: genral}
      containers: [{name: c, image: i, resources: {requests: {cpu: 100m, memory: 64Mi}}}]
"""


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lint:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "web.yaml").write_text(WEB)

    def lint(*args: str, config: str = "") -> Result:
        (tmp_path / "kubesched.toml").write_text(config)
        return CliRunner().invoke(app, ["lint", "web.yaml", "--no-cache", "--cluster", str(NODES), *args])

    return lint


def test_undecided_it_warns_and_names_the_line_to_add(run: Lint) -> None:
    done = run()
    assert done.exit_code == 0
    assert "warning[nodeselector-matches-nothing]" in done.stdout
    assert 'Add `node-groups = "complete"` to kubesched.toml' in done.stdout
    assert "decide: are the " in done.stdout


@pytest.mark.parametrize("more", [(), ("--quiet",), ("--fail-on", "never"), ("--format", "json")])
def test_a_gate_that_requires_the_decision_ends_with_2_and_says_why(run: Lint, more: tuple[str, ...]) -> None:
    done = run("--require-node-groups", *more)
    assert done.exit_code == 2
    assert "error: are the " in done.stderr
    assert 'Add `node-groups = "complete"` to kubesched.toml' in done.stderr


@pytest.mark.parametrize(("said", "code", "word"), [("complete", 1, "error"), ("open", 0, "warning")])
@pytest.mark.parametrize("by", ["flag", "configuration"])
def test_the_decision_is_taken_from_flag_and_configuration(run: Lint, said: str, code: int, word: str, by: str) -> None:
    flags = ("--node-groups", said) if by == "flag" else ()
    done = run("--require-node-groups", *flags, config="" if flags else f'node-groups = "{said}"\n')
    assert done.exit_code == code
    assert f"{word}[nodeselector-matches-nothing]" in done.stdout
    assert "decide: are the " not in done.stdout
    weaker = 'node-groups = "open"' in done.stdout
    assert weaker == (said == "open" and by == "configuration"), "the config line says what makes the gate weaker"


def test_a_declared_group_is_where_its_pods_run(run: Lint) -> None:
    declared = 'declared-groups = [{name = "x", labels = {pool = "genral"}, machine = "m6i.large"}]\n'
    done = run(config=f'node-groups = "complete"\n{declared}')
    assert done.exit_code == 0
    assert "nodeselector" not in done.stdout


@pytest.mark.parametrize("command", ["simulate", "why"])
def test_other_commands_take_the_decision_too(run: Lint, tmp_path: Path, command: str) -> None:
    run()
    args = ["simulate", "web.yaml"] if command == "simulate" else ["why", "deploy/web", "web.yaml"]
    done = CliRunner().invoke(app, [*args, "--cluster", str(NODES), "--node-groups", "complete"])
    assert done.exit_code in (0, 1)
    assert "nowhere" in done.stdout or "fails" in done.stdout
