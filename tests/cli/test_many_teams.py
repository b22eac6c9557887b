"""Forty teams on two clusters: one comment in which each team finds its own, and one finding wherever it is counted."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from kubesched_lint.cli.app import app
from kubesched_lint.commands.lint import report_extras
from kubesched_lint.commands.plan import judging
from kubesched_lint.commands.simulate.run import simulate
from kubesched_lint.engine.runs.courses import Effort
from kubesched_lint.linter.linted import linted as run_rules
from kubesched_lint.programs import WorkTree
from kubesched_lint.report.markdown import COMMENT_OF_GITHUB, size
from tests.check.live import deployment, node, running, stored
from tests.teams import CLUSTERS, MISTAKE, team_name, workload, write_repo, write_team


def run(*args: str) -> Result:
    return CliRunner().invoke(app, list(args))


def git(*args: str) -> None:
    subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b.example", *args], check=True, capture_output=True)


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_one_comment_names_every_team_and_a_new_one_is_not_skipped(repo: Path) -> None:
    write_repo(repo, 40, mistakes=1, healthy=0)
    done = run("lint", "--jobs", "1", "--format", "markdown")
    assert done.exit_code == 1
    assert size(done.stdout) < COMMENT_OF_GITHUB
    shown = done.stdout.replace("<!-- -->", "")
    assert [int(n) for n in re.findall(r"^### @org/team-(\d\d): 1 error$", shown, re.MULTILINE)] == [*range(40)]
    assert len(re.findall(r"^\*\*Target:\*\*", shown, re.MULTILINE)) == 2, "one line for those that say the same"
    assert "did not fit" not in shown
    write_team(repo, "team-new", healthy=1)
    done = run("lint", "--jobs", "1", "--target", "team-00-eu")
    assert "no target reads" not in done.output
    done = run("lint", "--jobs", "1")
    assert (done.exit_code, "no target reads teams/team-new (1 workload)" in done.stderr) == (2, True)


def committed(repo: Path) -> None:
    (repo / ".git").rmdir()
    git("init", "-q")
    git("add", "-A")
    git("commit", "-qm", "x")


def misspell(repo: Path, teams: int) -> None:
    """Let the first workload of some teams ask for a pool that no node has."""
    for number in range(teams):
        file = repo / "teams" / team_name(number) / "web-0.yaml"
        file.write_text(file.read_text().replace("pool: general", "pool: genral"))


def test_a_plan_of_many_targets_looks_at_the_repository_once(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What git is asked grew by fourteen calls with each target, and each had its ``config`` line."""
    asked, told = [], WorkTree._run
    monkeypatch.setattr(WorkTree, "_run", lambda self, *a, **more: asked.append(a[0]) or told(self, *a, **more))
    write_repo(repo, 4, healthy=1)
    committed(repo)
    misspell(repo, 4)
    done = run("plan", "HEAD")
    assert done.exit_code == 1
    assert asked.count("cat-file") == 2 * 4 + 2 * 2, "sizes and contents of four teams and two clusters"
    assert len(asked) < 2 * 4 + 2 * 2 + 20
    assert done.stderr.count("config: ") == len(CLUSTERS)


def test_a_plan_of_many_rows_tries_each_of_them_a_little(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The rows of all targets are what takes time, whichever target they are of; with few, none counts less."""
    efforts = set()
    monkeypatch.setattr(judging, "simulate", lambda *a, **more: efforts.add(a[4][:3]) or simulate(*a, **more))
    monkeypatch.setattr(report_extras, "MOST_ROWS", 7)
    write_repo(repo, 4, healthy=1)
    committed(repo)
    misspell(repo, 3)
    assert run("plan", "HEAD").exit_code == 1
    assert efforts == {Effort(runs=1)[:3]}, "six rows of two targets for each of three teams"
    misspell(repo, 4)
    assert run("plan", "HEAD").exit_code == 1
    assert efforts == {Effort(runs=1)[:3], Effort(runs=1, nodes=1)[:3]}


@pytest.mark.thorough
def test_a_plan_against_a_cluster_tries_the_one_row_that_changes_in_full(
    repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    efforts = []
    monkeypatch.setattr(judging, "simulate", lambda *a, **more: efforts.append(a[4][:3]) or simulate(*a, **more))
    monkeypatch.setattr(report_extras, "MOST_ROWS", 3)
    each = [deployment(f"web-{number}") for number in range(8)]
    live = [part for one in each for part in running(stored(one))]
    snapshot = {"apiVersion": "v1", "kind": "List", "items": [*map(node, "abc"), *live]}
    (repo / "cluster.json").write_text(json.dumps(snapshot))
    each[0]["spec"]["template"]["spec"]["containers"][0]["image"] = "registry.example.com/app:2"
    (repo / "apps.yaml").write_text("\n---\n".join(map(json.dumps, each)))
    done = run("plan", "--against-cluster", "apps.yaml", "-c", "cluster.json")
    assert (done.exit_code, "shop/web-0" in done.stdout) == (0, True), done.output
    assert set(efforts) == {Effort(runs=1)[:3]}


def test_a_plan_judges_each_side_only_where_something_changes(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_repo(repo, 3, healthy=1)
    committed(repo)
    file = repo / "teams" / "team-01" / "web-0.yaml"
    file.write_text(file.read_text().replace("pool: general", "pool: genral"))
    linted = []

    def counting(*args: Any, **more: Any) -> Any:
        linted.append(args)
        return run_rules(*args, **more)

    monkeypatch.setattr(judging, "run_rules", counting)
    plan = json.loads(run("plan", "HEAD", "--format", "json").stdout)
    assert len(linted) == 2 * 2 + 4 * 1, "both sides on two clusters, and four targets that do not change"
    (new,) = plan["findings"]["new"]
    assert (new["rule"], new["owner"]) == (MISTAKE, "@org/team-01")
    again = json.loads(run("plan", "HEAD", ".", "--format", "json").stdout)
    assert again == plan, "as the action calls it"


# --- one definition of a finding --------------------------------------------------------------------------------------

KUSTOMIZATION = "resources: [{resources}]\nnamespace: {namespace}\n"


def with_environments(repo: Path) -> None:
    """Two mistakes of a base that prod and staging render, and one that a single environment has."""
    write_repo(repo, 1, healthy=0, mistakes=0)
    (repo / "kubesched.toml").write_text('cluster = "clusters/eu.yaml"\nnode-groups = "complete"\n')
    base = repo / "apps" / "base"
    base.mkdir(parents=True)
    write_team(repo, "base", mistakes=2, healthy=1)
    names = []
    for file in sorted((repo / "teams" / "base").iterdir()):
        file.rename(base / file.name)
        names.append(file.name)
    (base / "kustomization.yaml").write_text(f"resources: [{', '.join(names)}]\n")
    for name in ("prod", "staging"):
        overlay = repo / "apps" / "overlays" / name
        overlay.mkdir(parents=True)
        (overlay / "kustomization.yaml").write_text(KUSTOMIZATION.format(resources="../../base", namespace=name))


def test_every_command_counts_the_same_findings(repo: Path) -> None:
    with_environments(repo)
    (repo / ".git").rmdir()
    git("init", "-q")
    git("add", "-A")
    git("commit", "-qm", "x")
    report = json.loads(run("lint", "apps", "--format", "json").stdout)
    number = sum(report["summary"]["findings"].values())
    assert number == len([f for f in report["findings"] if not f["suppressed"]]) > 1
    assert f"known.json: {number} known findings" in run("baseline", "write", "apps", "-o", "known.json").stderr
    assert len(json.loads((repo / "known.json").read_text())["findings"]) == number
    assert f"no findings ({number} known)" in run("lint", "apps", "--baseline", "known.json").stdout
    assert f"of {number} findings" in run("lint", "apps", "--diff", "--no-cache").stderr
    plan = json.loads(run("plan", "HEAD", "apps", "--format", "json").stdout)
    assert sum(plan["findings"]["unchanged"].values()) == number
    for folder in ("prod", "staging"):  # all of them are new to an empty repository
        (repo / "apps" / "overlays" / folder / "kustomization.yaml").unlink()
    (repo / "apps" / "base" / "kustomization.yaml").write_text("resources: []\n")
    gone = json.loads(run("plan", "HEAD", "apps", "--format", "json").stdout)["findings"]["gone"]
    assert {one["rule"] for one in gone} == {MISTAKE}
    assert len(gone) == len({json.dumps(one["location"]) for one in gone}) == 2


def test_a_plan_over_targets_counts_as_lint_does(repo: Path) -> None:
    """What several targets read, or the folders of one object say alike, is one finding: new, gone or as before."""
    for name in ("eu", "us"):
        nodes = "nodes: [{name: w, count: 3, labels: {pool: general}, allocatable: {cpu: '8', memory: 32Gi}}]"
        (repo / f"{name}.yaml").write_text(f"apiVersion: kubesched-lint/v1\nkind: ClusterSketch\n{nodes}\n")
    target = '[[targets]]\nname = "{}"\npaths = ["teams/*/{}"]\ncluster = "{}.yaml"\n'
    targets = [("prod-eu", "prod", "eu"), ("prod-us", "prod", "us"), ("staging", "staging", "eu")]
    (repo / "kubesched.toml").write_text("".join(target.format(*each) for each in targets))

    def write(*teams: str) -> None:
        for team in teams:
            for folder in (repo / "teams" / team / name for name in ("prod", "staging")):
                folder.mkdir(parents=True)
                (folder / "web.yaml").write_text(workload("web", team, pool="genral"))

    def found() -> int:
        return sum(json.loads(run("lint", "--format", "json").stdout)["summary"]["findings"].values())

    write("a", "b")
    git("init", "-q")
    git("add", "-A")
    git("commit", "-qm", "x")
    assert (before := found()) == 2
    write("c")
    assert found() == 3
    changed = json.loads(run("plan", "HEAD", "--format", "json").stdout)["findings"]
    assert (len(changed["new"]), sum(changed["unchanged"].values()), changed["gone"]) == (1, before, [])
    text = run("plan", "HEAD").stdout
    assert "1 error new" in text
    assert "as before: 2 findings" in text
    assert "judged prod-eu, prod-us and staging, each on its cluster; -v: more" in text
    for folder in ("prod", "staging"):
        (repo / "teams" / "a" / folder / "web.yaml").unlink()
    changed = json.loads(run("plan", "HEAD", "--format", "json").stdout)["findings"]
    assert (len(changed["new"]), len(changed["gone"]), sum(changed["unchanged"].values())) == (1, 1, 1)
