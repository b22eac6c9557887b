"""Folders with workloads that no target reads, and targets that read the same."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from kubesched_lint.cli.app import app
from kubesched_lint.commands.fleet.plan import FleetPlan, Pair
from kubesched_lint.commands.fleet.tasks import tasks_of
from kubesched_lint.commands.lint import run as lint_run
from kubesched_lint.commands.lint.run import Request
from kubesched_lint.linter.options import Options
from kubesched_lint.rulebook.library import Rulebook
from tests.plan.test_plan_command import git
from tests.teams import workload, write_repo, write_team


def lint(*args: str) -> Result:
    return CliRunner().invoke(app, ["lint", "--jobs", "1", *args])


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write_repo(tmp_path, 2, healthy=1)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def put(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def said(*args: str) -> str:
    report = json.loads(lint("--format", "json", *args).stdout)
    errors = [error["message"] for error in report["errors"]]
    notes = [note for note in report["summary"]["notes"] if note.startswith("no target reads")]
    (words,) = [*errors, *notes] or [""]
    return words.partition(": ")[0]


def test_a_repository_whose_folders_all_have_targets_is_clean(repo: Path) -> None:
    assert (said(), lint().exit_code) == ("", 0)


def test_the_folder_of_a_new_team_is_an_error_in_one_line(repo: Path) -> None:
    write_team(repo, "team-new", healthy=2)
    put(repo / "legacy" / "old" / "web.yaml", workload("web", "old"))
    assert said() == "no target reads legacy (1 workload), teams/team-new (2 workloads)"
    assert lint().exit_code == lint(".").exit_code == 2
    assert said("--target", "team-00-eu") == "", "who asks for one target has chosen"


@pytest.mark.parametrize(("said_in_configuration", "code"), [("", 0), ('unclaimed = "error"\n', 2)])
def test_a_plan_of_all_targets_says_it_too(repo: Path, said_in_configuration: str, code: int) -> None:
    """A pull request with a new team's folder read "no change", whatever the configuration says."""
    config = repo / "kubesched.toml"
    config.write_text(config.read_text().replace('unclaimed = "error"\n', said_in_configuration))
    for words in (("init", "-q", "-b", "main"), ("add", "."), ("commit", "-q", "-m", "base")):
        git(repo, *words)
    write_team(repo, "team-new")
    words = "no target reads teams/team-new (3 workloads): add a target, or name the path in `exclude`"
    done = CliRunner().invoke(app, ["plan"])
    where = "error: kubesched.toml: " if code else "note: "
    assert (done.exit_code, f"{where}{words}\n" in done.stdout) == (code, True), done.output
    alone = CliRunner().invoke(app, ["plan", "--target", "team-00-eu"])
    assert (alone.exit_code, words in alone.stdout) == (0, False), "who asks for one target has chosen"


def test_by_default_it_is_a_note(repo: Path) -> None:
    write_team(repo, "team-new")
    config = repo / "kubesched.toml"
    config.write_text(config.read_text().replace('unclaimed = "error"\n', ""))
    assert said() == "no target reads teams/team-new (3 workloads)"
    done = lint()
    assert (done.exit_code, "\nno target reads teams/team-new (3 workloads): " in done.stdout) == (0, True)
    assert said("teams/team-new") == ""


def test_hooks_that_name_files_fail_for_those_that_no_target_reads(repo: Path) -> None:
    write_team(repo, "team-new", healthy=1)
    known, new = "teams/team-00/web-0.yaml", "teams/team-new/web-0.yaml"
    assert said("--partial", "--force-exclude", known) == ""
    assert said("--partial", "--force-exclude", known, new) == f"no target reads {new} (1 workload)"


def test_a_file_beside_what_targets_read_is_named_itself(repo: Path) -> None:
    put(repo / "teams" / "shared.yaml", workload("shared", "shared"))
    assert said() == "no target reads teams/shared.yaml (1 workload)"


def test_what_is_excluded_and_what_makes_no_pods_needs_no_target(repo: Path) -> None:
    config = repo / "kubesched.toml"
    config.write_text(f'exclude = ["legacy"]\n{config.read_text()}')
    put(repo / "legacy" / "web.yaml", workload("web", "old"))
    put(repo / "namespaces.yaml", "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n")
    put(repo / "tests" / "web.yaml", workload("web", "test"))
    assert said() == ""


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="needs kubectl")
def test_a_base_is_read_by_whoever_joins_it_and_an_overlay_needs_a_target(repo: Path) -> None:
    put(repo / "base" / "web.yaml", workload("web", "shop"))
    put(repo / "base" / "kustomization.yaml", "resources: [web.yaml]\n")
    for name in ("prod", "staging"):
        put(repo / "overlays" / name / "kustomization.yaml", f"resources: [../../base]\nnamePrefix: {name}-\n")
    with (repo / "kubesched.toml").open("a") as config:
        config.write('\n[[targets]]\nname = "prod"\npaths = ["overlays/prod"]\ncluster = "clusters/eu.yaml"\n')
    assert said() == "no target reads overlays/staging (1 workload)"


# --- read once ------------------------------------------------------------------------------------------------------


def test_targets_with_the_same_paths_are_decoded_once_and_each_cluster_is_read_once(
    repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    decoded, opened = [], []
    make, read = lint_run.manifest_set, lint_run.open_cluster

    def counting(*args: object, **more: object) -> object:
        decoded.append(args)
        return make(*args, **more)  # type: ignore[arg-type]

    def opening(path: str, *options: object) -> object:
        opened.append(path)
        return read(path, *options)  # type: ignore[arg-type]

    monkeypatch.setattr(lint_run, "manifest_set", counting)
    monkeypatch.setattr(lint_run, "open_cluster", opening)
    assert lint().exit_code == 0
    assert len(decoded) == 2, "one for each team"
    assert sorted(opened) == ["clusters/eu.yaml", "clusters/us.yaml"]


@pytest.mark.parametrize(("command", "code"), [("lint", 0), ("audit", 2)])  # a sketch has no pods to audit
def test_targets_with_declared_groups_share_a_cluster(repo: Path, command: str, code: int) -> None:
    config = repo / "kubesched.toml"
    config.write_text(f'declared-groups = [{{name = "gpu", labels = {{pool = "gpu"}}}}]\n{config.read_text()}')
    done = CliRunner().invoke(app, [command])
    assert not isinstance(done.exception, TypeError)
    assert done.exit_code == code, done.output


def test_overlapping_targets_have_one_worker() -> None:
    paths = {"a": ("x",), "b": ("x/y", "z"), "c": ("w",), "d": ("z",), "e": ("x2",)}
    pairs = tuple(Pair(name, Request(given), Options()) for name, given in paths.items())
    tasks = tasks_of(FleetPlan(pairs, Rulebook.shipped()), 2, see_files=True)
    assert [[pair.name for pair in task.pairs] for task in tasks] == [["a", "b", "d"], ["c"], ["e"]]
