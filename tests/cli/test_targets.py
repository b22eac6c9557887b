"""Several targets in one run: one report, each finding once with the targets that have it."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable
from functools import partial
from multiprocessing import active_children
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from kubesched_lint.cli.app import app
from kubesched_lint.commands.fleet import judge as module
from kubesched_lint.commands.fleet.executors import executor_of
from kubesched_lint.commands.fleet.judge import PairOutcome, judge_pair
from kubesched_lint.commands.fleet.plan import FleetPlan, Pair
from kubesched_lint.commands.fleet.run import FleetRun, judge_plan
from kubesched_lint.commands.fleet.tasks import Task
from kubesched_lint.commands.lint.merging import merged
from kubesched_lint.commands.lint.run import Request, Shared
from kubesched_lint.engine.base.places import Location, ObjectRef, Span
from kubesched_lint.findings import Finding, Report, Severity, Summary, pattern
from kubesched_lint.linter.options import BaselineError, Options
from kubesched_lint.linter.results.causes import one_per_cause
from kubesched_lint.report.findings import as_github, as_json, as_junit, as_markdown, as_text
from kubesched_lint.report.findings.context import RenderContext
from kubesched_lint.report.findings.footer import exit_code, summary_of
from kubesched_lint.report.html import page as as_html
from kubesched_lint.rulebook.library import Rulebook

TYPO, LARGE = "nodeselector-matches-nothing", "resource-exceeds-any-node"


def run(*args: str) -> Result:
    return CliRunner().invoke(app, list(args))


def lint(*args: str) -> Result:
    return run("lint", "--jobs", "1", *args)


def targets_of(*args: str) -> dict[str, list[str]]:
    """Rule → targets, of the open findings."""
    shown = json.loads(lint("--format", "json", *args).stdout)
    return {f["rule"]: f["targets"] for f in shown["findings"] if not f["suppressed"]}


def test_a_finding_is_told_once_with_the_targets_that_have_it(repo: Path) -> None:
    assert targets_of("--fail-on", "error") == {TYPO: ["prod-eu", "prod-us"], LARGE: ["prod-us"]}


def test_the_worst_target_decides_the_exit_code(repo: Path) -> None:
    assert lint().exit_code == 1
    assert lint("--target", "edge").exit_code == 0
    assert lint("--target", "edge", "--target", "prod-eu").exit_code == 1
    (repo / "clusters" / "edge.yaml").unlink()
    assert lint().exit_code == 2


def test_the_folder_of_the_configuration_means_all_targets(repo: Path) -> None:
    """As in ``args: [.]`` of the hook for the whole set."""
    assert lint(".").exit_code == 1
    assert targets_of(".") == targets_of()


def test_paths_instead_of_targets_are_a_question_not_a_green_gate(repo: Path) -> None:
    done = lint("shop")
    assert "kubesched.toml has 3 targets" in done.stdout
    assert "without their clusters" in done.stdout
    assert lint("manifests", "--require-node-groups").exit_code == 2
    assert "3 targets" not in lint("manifests", "--cluster", "clusters/edge.yaml").stdout


def test_every_format_names_the_targets(repo: Path) -> None:
    formats = {
        "text": "= targets: prod-eu, prod-us",
        "markdown": "**targets:** prod-eu, prod-us",
        "html": "<dt>targets</dt><dd>prod-eu, prod-us</dd>",
        "github": "targets: prod-eu, prod-us",
        "junit": "targets: prod-eu, prod-us",
        "gitlab": "(targets: prod-eu, prod-us)",
        "rdjsonl": "targets: prod-eu, prod-us",
    }
    files = [word for name in (*formats, "sarif") for word in ("--format", f"{name}={name}.out")]
    assert lint(*files).exit_code == 1
    for name, words in formats.items():
        assert words in (repo / f"{name}.out").read_text(), name
    results = json.loads((repo / "sarif.out").read_text())["runs"][0]["results"]
    assert {r["ruleId"]: r["properties"]["targets"] for r in results} == {
        TYPO: ["prod-eu", "prod-us"],
        LARGE: ["prod-us"],
    }
    assert "targets: prod-us" in next(r["message"]["text"] for r in results if r["ruleId"] == LARGE)


def test_one_target_gives_the_report_of_its_paths(repo: Path) -> None:
    (repo / "plain.toml").write_text('node-groups = "complete"\ncluster = "clusters/prod-us.yaml"\n')
    for form in ("text", "json", "sarif", "html"):
        alone = lint("--target", "prod-us", "--format", form).stdout
        as_before = lint("shop", "--config", "plain.toml", "--format", form).stdout
        assert alone == as_before.replace("plain.toml", "kubesched.toml")


def test_a_flag_overrides_the_setting_of_a_target(repo: Path) -> None:
    assert targets_of("--cluster", "clusters/prod-us.yaml")[LARGE] == ["prod-eu", "prod-us"]


def test_a_baseline_has_one_entry_for_all_targets(repo: Path) -> None:
    assert run("baseline", "write", "-o", "known.json").exit_code == 0
    entries = json.loads((repo / "known.json").read_text())["findings"]
    assert sorted(entry["rule"] for entry in entries) == [TYPO, LARGE]
    assert lint("--baseline", "known.json").exit_code == 0
    # The finding stays in one target, and the entry still matches; the other target does not call it gone.
    (repo / "clusters" / "prod-eu.yaml").write_text(
        (repo / "clusters" / "prod-eu.yaml").read_text().replace("general", "genral")
    )
    done = lint("--baseline", "known.json")
    assert done.exit_code == 0
    assert "no longer" not in done.stdout


def test_a_fix_needs_one_target(repo: Path) -> None:
    done = lint("--diff")
    assert done.exit_code == 2
    assert "name one with --target" in done.stderr
    assert "general" in lint("--diff", "--unsafe-fixes", "--target", "prod-eu").stdout


def test_statistics_count_a_shared_finding_once(repo: Path) -> None:
    (row,) = (line for line in lint("--statistics").stdout.splitlines() if line.startswith(TYPO))
    assert row.split()[-1] == "1"


def test_undecided_node_groups_of_one_target_are_told_with_its_name() -> None:
    undecided = Report(summary=Summary(undecided="decide"))
    report = merged({"a": undecided, "b": Report()})
    assert report.summary.undecided == "decide (in a)"
    assert exit_code(report, require_node_groups=True) == 2
    assert merged({"a": undecided, "b": undecided}).summary.undecided == "decide"


@pytest.mark.parametrize(
    "render", [as_github.render, as_html.render, as_junit.render, as_markdown.render, as_text.render]
)
def test_every_report_for_people_has_the_question_of_each_target(render: Any) -> None:
    report = merged({name: Report(summary=Summary(undecided=f"complete in {name}?")) for name in ("eu", "us")})
    shown = "".join(render(report, RenderContext(verbose=True)))
    for name in ("eu", "us"):
        assert f"complete in {name}? (in {name})" in shown.replace("\\", "")


def judged(plan: FleetPlan, jobs: int, reasons: list[str] | None = None) -> FleetRun:
    with executor_of(f"processes:{jobs}" if jobs > 1 else "serial", jobs) as executor:
        return judge_plan(plan, summary_of, executor, lost=[].append if reasons is None else reasons.append)


@pytest.fixture
def plan(repo: Path) -> FleetPlan:
    """Two targets with different sets, each with its cluster."""
    pairs = (
        Pair(name, Request((folder,), f"clusters/{name}.yaml", is_one_of_many=True), Options())
        for name, folder in (("prod-eu", "shop"), ("edge", "ingress"))
    )
    return FleetPlan(tuple(pairs), Rulebook.shipped(), names_files=True)


def test_processes_give_the_same_report(plan: FleetPlan) -> None:
    assert judged(plan, 2) == judged(plan, 1)


def _stumbling(parent: int, stumble: Callable[[], object], pair: Pair, task: Task, shared: Shared) -> PairOutcome:
    if os.getpid() != parent and pair.name == "edge":
        stumble()
    return judge_pair(pair, task, shared)


def _raises() -> None:
    raise TimeoutError("too slow")


@pytest.mark.parametrize(
    ("stumble", "why"),
    [
        (partial(os._exit, 9), "a worker died; if memory is short, use fewer processes"),
        (_raises, "a worker failed with TimeoutError: too slow"),
        (partial(sys.exit, 5), "a worker failed with SystemExit: 5"),
    ],
)
def test_what_a_worker_does_not_do_is_done_here_and_said_once(
    plan: FleetPlan, stumble: Callable[[], object], why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = judged(plan, 1)
    monkeypatch.setattr(module, "judge_pair", partial(_stumbling, os.getpid(), stumble))
    reasons: list[str] = []
    assert judged(plan, 2, reasons) == alone
    assert len(reasons) == 1
    assert re.fullmatch(rf"edge(, prod-eu)?: linted in this process, because {re.escape(why)}", reasons[0])


@pytest.mark.parametrize("jobs", [1, 2])
def test_what_fails_here_too_is_an_error_of_each_target(
    plan: FleetPlan, jobs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "judge_pair", _always_fails)
    errors = judged(plan, jobs).report.errors
    assert [error.place for error in errors] == ["clusters/prod-eu.yaml", "clusters/edge.yaml"]
    assert all(error.message.startswith("linting failed with ZeroDivisionError: ") for error in errors)


@pytest.mark.parametrize("jobs", [1, 2])
def test_what_is_wrong_for_all_ends_the_run(plan: FleetPlan, jobs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "judge_pair", _has_no_baseline)
    reasons: list[str] = []
    with pytest.raises(BaselineError):
        judged(plan, jobs, reasons)
    assert not reasons


def _always_fails(*_: object) -> PairOutcome:
    raise ZeroDivisionError


def _has_no_baseline(*_: object) -> PairOutcome:
    raise BaselineError("known.json: not JSON")


def test_without_further_processes_all_is_done_here(plan: FleetPlan, monkeypatch: pytest.MonkeyPatch) -> None:
    alone = judged(plan, 1)
    started: list[object] = []

    def start(self: Any, real: Callable[[Any], None] = BaseProcess.start) -> None:
        if started:
            raise BlockingIOError("no more processes")
        started.append(self)
        real(self)

    monkeypatch.setattr(BaseProcess, "start", start)
    reasons: list[str] = []
    assert judged(plan, 2, reasons) == alone
    assert reasons == [
        "edge, prod-eu: linted in this process, because a worker failed with BlockingIOError: no more processes"
    ]
    assert not active_children()


def test_inside_one_set_jobs_has_no_effect(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = ("lint", "shop", "--cluster", "clusters/prod-us.yaml", "--no-cache")
    wanted = run(*one)
    monkeypatch.delattr(BaseProcess, "start")
    done = run(*one, "--jobs", "3")
    assert (done.exit_code, done.stdout, done.stderr) == (wanted.exit_code, wanted.stdout, wanted.stderr)


@pytest.mark.parametrize("number", ["0", "-1", "two"])
def test_jobs_are_counted_from_one(repo: Path, number: str) -> None:
    done = run("lint", "--jobs", number)
    assert done.exit_code == 2
    assert "--jobs" in done.stderr


def test_paths_and_targets_exclude_each_other(repo: Path) -> None:
    for args, words in {
        ("shop", "--target", "edge"): "leave out PATH",
        ("--target", "edgy"): "did you mean",
        ("--no-config", "--target", "edge"): "has no [[targets]]",
    }.items():
        done = lint(*args)
        assert (done.exit_code, words in done.stderr) == (2, True), done.stderr
    assert lint("ingress", "--cluster", "clusters/edge.yaml").exit_code == 0  # paths: as without targets


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ('[[targets]]\nname = "a"\n', ":1:1: targets[0]: a target needs `paths`"),
        ('[[targets]]\npaths = ["a"]\n', ":1:1: targets[0]: a target needs `name`"),
        ('[[targets]]\nname = "a"\npaths = ["-"]\n', ":3:10: targets[0].paths[0]: a target cannot read standard input"),
        ('[[targets]]\nname = "a"\npaths = ["../b"]\n', ':3:10: targets[0].paths[0]: "../b" lies outside'),
        ('[[targets]]\nname = "a"\npaths = ["a"]\nclutser = "b"\n', ":4:1: unknown key `clutser`"),
        ('[[targets]]\nname = "a"\npaths = ["a"]\ncluster = "live"\n', ":4:11: targets[0].cluster: a configuration"),
        ('[[targets]]\nname = "a"\npaths = ["a"]\ncluster = "/etc/x"\n', ':4:11: targets[0].cluster: "/etc/x" lies'),
        (2 * '[[targets]]\nname = "a"\npaths = ["a"]\n', ':5:8: targets[1].name: another target is called "a"'),
        ('[targets]\nname = "a"\n', "expected [[targets]], with two brackets"),
        (
            '[[targets]]\nname = "a"\npaths = ["a"]\ndeclared-groups = [{nam = "b"}]\n',
            ":4:21: unknown key `nam`",
        ),
    ],
)
def test_a_mistake_in_the_table_has_its_place(repo: Path, text: str, error: str) -> None:
    (repo / "kubesched.toml").write_text(text)
    done = lint()
    assert done.exit_code == 2
    assert f"kubesched.toml{error}" in done.stderr or error in done.stderr


def test_config_show_lists_the_targets(repo: Path) -> None:
    shown: dict[str, Any] = json.loads(run("config", "show", "--format", "json").stdout)
    assert [target["name"] for target in shown["targets"]] == ["prod-eu", "prod-us", "edge"]
    assert shown["targets"][2]["values"]["namespace"] == {"value": "ingress", "from": "kubesched.toml:18"}
    assert "targets[2].namespace" in run("config", "show").stdout


def test_what_some_targets_alone_have_is_a_part_of_the_finding_at_its_place() -> None:
    """One rule at one place: the others name their targets where they are not those of the first."""
    place = Location("base.yaml", Span(7, 1, 7, 9))

    def found(name: str, *targets: str) -> Finding:
        subject = ObjectRef("Deployment", "shop", name)
        return Finding(TYPO, Severity.ERROR, f"{name} waits", "", pattern(), subject, place, targets=targets)

    report = one_per_cause(Report((found("web", "eu", "us"), found("api", "us"), found("job", "eu", "us"))))
    (finding,) = report.findings
    assert finding.targets == ("eu", "us")
    text = "".join(as_text.render(report, RenderContext()))
    assert "targets: eu, us" in text
    assert "Deployment shop/api (us)\n" in text
    assert "Deployment shop/job\n" in text
    (shown,) = json.loads("".join(as_json.render(report, RenderContext())))["findings"]
    assert [part.get("targets") for part in shown["also"]] == [["us"], None]
    for renderer in (as_github.render, as_markdown.render, as_html.render):
        assert "Deployment shop/api (us)" in "".join(renderer(report, RenderContext())).replace("\\", "")
