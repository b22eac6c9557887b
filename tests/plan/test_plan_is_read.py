"""What a person reads of a plan: the verdict first, few lines, no word twice, and the same in every format."""

from __future__ import annotations

import html
import json
import re
import shutil
from collections.abc import Iterator
from contextlib import chdir
from functools import cache
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest
from msgspec.structs import replace
from typer.testing import CliRunner

from kubesched_lint.cli.app import app
from kubesched_lint.cli.settings.targets import Aim
from kubesched_lint.cli.subcommands import plan as plan_command
from kubesched_lint.commands.plan.changes import UPDATED, ObjectChange
from kubesched_lint.commands.plan.plan_result import CellChange, Plan, WorkloadPlan
from kubesched_lint.engine.base.places import Location, ObjectRef, Span
from kubesched_lint.engine.cluster.cluster import Cluster
from kubesched_lint.engine.cluster.nodes.elastic import ClusterOptions
from kubesched_lint.engine.events.answers.cells import BAD, BY_SCORES, DEPENDS, Cell, Range
from kubesched_lint.engine.events.answers.order import WORSE
from kubesched_lint.engine.model.nodes.node import ZONE
from kubesched_lint.findings import Evidence, Finding, InputError, Report, Severity
from kubesched_lint.project.finding_changes import FindingChange, finding_changes
from kubesched_lint.report.html.plan import as_html
from kubesched_lint.report.plan.as_markdown import as_markdown
from kubesched_lint.report.plan.as_text import as_text
from kubesched_lint.report.plan.result import result
from kubesched_lint.report.plan.rows import Effect, Entry, once_each_workload, rows_of
from kubesched_lint.report.plan.rows import _effects as effects
from kubesched_lint.report.plan.rows import _in_words_of_lint as in_words_of_lint
from kubesched_lint.report.plan.rows import _that_may_fail as that_may_fail
from kubesched_lint.report.simulation.cell_reasons import IF_AVOIDED
from kubesched_lint.sources.clusters.read import read_stated
from tests.plan.changed_worlds import planned, read
from tests.plan.test_plan import ROOT, ZONES, plan_of, web
from tests.plan.test_plan_command import company, found, git
from tests.program import called, lines_on_a_terminal

CASE = ROOT / "fixtures/outsiders/one-overlay-only/plan-prod"


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The company. Its plan takes seconds, so that all formats and gates print one."""
    folder = company(tmp_path_factory.mktemp("plan") / "company")
    plans, judged = dict[Any, Plan](), plan_command._planned

    def once(aim: Aim, asked: Any, sides: Any, rows: int) -> Plan:
        if Path.cwd() != folder:
            return judged(aim, asked, sides, rows)
        key = asked, sides.cluster.path
        if key not in plans:
            plans[key] = judged(aim, asked, sides, rows)
        return plans[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plan_command, "_planned", once)
        with chdir(folder):
            CliRunner().invoke(app, ["plan", "."])  # here, so that each fork has it
        assert plans
        yield folder


@cache
def planned_there(repo: Path, *ask: str) -> CompletedProcess[str]:
    """Return what is printed of the company's plan, which no test changes."""
    return called("plan", ".", *ask, cwd=repo, as_patched=True)


def test_the_verdict_comes_first_then_what_starts_then_changed_workloads(repo: Path) -> None:
    lines = planned_there(repo).stdout.splitlines()
    assert lines[0] == "after this change a later rollout cannot end on these nodes: platform/edge-cache"
    assert lines[1] == "2 rollouts start: shop/search, platform/kafka; 2 errors gone, 1 warning new"
    assert re.fullmatch(r"Changed from HEAD \(\w{12}\) to the work tree", lines[3])
    rows = [line.split()[0] for line in lines[4:] if re.match(r"  \S", line)]
    assert rows[:3] == ["platform/edge-cache", "shop/search", "platform/kafka"]
    assert "  platform/edge-cache  updated, starts no rollout  platform/healthy.yaml:8" in lines
    assert "    maxSurge 0 → 1, maxUnavailable 1 → 0" in lines
    assert any(line.startswith("    help: set maxSurge: 0 and maxUnavailable: 1") for line in lines)
    assert "prod and staging" in lines[-1]


def test_the_sign_and_the_exit_code_say_the_same(repo: Path) -> None:
    """⛔ above a run that passes was read as a mistake of the tool."""
    for gate, code, sign in ((), 1, "⛔"), (("--fail-on", "warning"), 1, "⛔"), (("--fail-on", "never"), 0, "⚠️"):
        done = planned_there(repo, "--format", "markdown", *gate)
        assert (done.returncode, done.stdout.splitlines()[1].split()[1]) == (code, sign)
        assert ("does not block: " in done.stdout) is (code == 0)


def test_a_plan_is_a_page_and_a_comment_is_short(repo: Path) -> None:
    text = planned_there(repo).stdout
    assert len(text.splitlines()) <= 30
    on_a_terminal = lines_on_a_terminal("plan", ".", cwd=repo, as_patched=True)
    assert on_a_terminal[0] == text.splitlines()[0]
    assert len(on_a_terminal) <= 30
    assert max(map(len, on_a_terminal)) <= 80
    comment = planned_there(repo, "--format", "markdown").stdout
    assert len(comment.splitlines()) <= 40
    for words in ("not established", "not proven", "forever", "would be an error", " other  "):
        assert words not in text
        assert words not in comment
    assert "nothing is" not in text
    every = planned_there(repo, "-v").stdout
    assert len(every.splitlines()) > len(text.splitlines())
    assert "room left in one placement" in every


@pytest.mark.thorough
def test_on_a_cluster_with_pods_a_plan_is_a_page_too(repo: Path) -> None:
    """Which takes as long as the plan of the other tests."""
    shutil.copy(ROOT / "fixtures/company/cluster.json", repo.parent)
    with_pods = lines_on_a_terminal("plan", ".", "-c", "../cluster.json", cwd=repo, as_patched=True)
    assert with_pods[0] == planned_there(repo).stdout.splitlines()[0]
    assert len(with_pods) <= 30


def test_no_line_is_printed_twice(repo: Path) -> None:
    for ask in ((), ("--format", "markdown")):
        lines = [line for line in planned_there(repo, *ask).stdout.splitlines() if line.strip()]
        assert len(lines) == len(set(lines))


def test_a_change_of_one_overlay_alone_is_a_row(tmp_path: Path) -> None:
    done = called("plan", CASE / "base/app", CASE / "head/app", "-c", CASE / "head/cluster.yaml", cwd=tmp_path)
    (row,) = [line for line in done.stdout.splitlines() if re.match(r"  \S.*\(prod\)", line)]
    assert "starts no rollout" in row
    assert done.stdout.startswith("after this change ")


def test_text_comment_and_page_say_the_same(repo: Path) -> None:
    text = planned_there(repo).stdout
    comment = re.sub(r"\\(.)", r"\1", html.unescape(planned_there(repo, "--format", "markdown").stdout))
    page = html.unescape(planned_there(repo, "--format", "html").stdout)
    said = [line.strip() for line in text.splitlines()[5:-2] if line.strip() and line.strip() != "Elsewhere"]
    for line in said:
        for part in re.split(r" {2,}", line):
            assert part in comment, part
            assert part in page, part
    for line in text.splitlines()[:3]:
        assert line in comment
        assert line in page


def test_a_cause_is_told_in_the_words_of_lint(repo: Path) -> None:
    """What ends badly and has a new finding has one sentence, whoever tells it."""
    text = planned_there(repo).stdout
    changed, _ = text.split("\nElsewhere\n")
    assert "each pod needs a node of its own" not in changed
    cause = "its 6 pods fill all 6 nodes it can use, the extra pod finds none, and maxUnavailable is 0"
    assert f"rollout: likely ok → fails here (stuck): {cause}, unless an autoscaler adds a node" in text
    assert cause in called("lint", ".", cwd=repo).stdout.replace("\n  ", " ")


def test_what_becomes_of_an_unchanged_workload_is_told_once(repo: Path) -> None:
    """Its row has the cause; the finding about it is no second line."""
    nodes = json.loads((repo / "cluster/nodes.json").read_text())
    nodes["items"] = [n for n in nodes["items"] if n["metadata"]["labels"].get("pool") != "ingress"]
    (repo.parent / "fewer.json").write_text(json.dumps(nodes))
    ask = ("--cluster-before", "cluster/nodes.json", "-c", repo.parent / "fewer.json", "--events", "deploy,rollout")
    text = called("plan", "platform", *ask, cwd=repo).stdout
    assert text.count("none of the 7 nodes matches pool=ingress") == 1
    assert "help (nodeselector-matches-nothing): " in text


# --- the first sentence -----------------------------------------------------------------------------------------------


def apart(replicas: int, **strategy: Any) -> dict[str, Any]:
    """Each pod needs a zone of its own; the cluster has three."""
    value = web(replicas=replicas, **({"strategy": {"rollingUpdate": strategy}} if strategy else {}))
    term = {"labelSelector": {"matchLabels": {"app": "web"}}, "topologyKey": ZONE}
    affinity = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    value["spec"]["template"]["spec"]["affinity"] = affinity
    return value


def test_a_strategy_with_which_no_rollout_ends_fails_whatever_else_may_not(tmp_path: Path) -> None:
    before, after = apart(3, maxSurge=0, maxUnavailable=1), apart(3, maxSurge=1, maxUnavailable=0)
    plan = plan_of([before], [after])
    assert result(plan) == "after this change a later rollout can never end: shop/web"
    assert not plan.stuck, "the change starts no rollout"
    assert plan.is_worse
    (one,) = plan.never_end
    assert one.object.name == "web"


@pytest.mark.parametrize("gate", ["worse", "error", "warning", "note"])
def test_can_never_end_is_exit_1_but_for_never(tmp_path: Path, gate: str) -> None:
    for name, value in (
        ("a", apart(3, maxSurge=0, maxUnavailable=1)),
        ("b", apart(3, maxSurge=1, maxUnavailable=0)),
    ):
        (tmp_path / f"{name}.yaml").write_text(json.dumps(value))
    ask = ("plan", "a.yaml", "b.yaml", "-c", ZONES, "--events", "rollout", "--ignore", "rollout")
    assert called(*ask, "--fail-on", gate, cwd=tmp_path).returncode == 1
    assert called(*ask, "--fail-on", "never", cwd=tmp_path).returncode == 0


def test_pods_that_wait_are_counted() -> None:
    plan = plan_of([apart(2)], [apart(5)])
    assert result(plan) == "after this change 2 pods stay Pending: shop/web"
    assert as_text(plan).splitlines()[0] == result(plan)


def test_a_better_change_makes_nothing_worse_and_a_comment_is_green() -> None:
    plan = plan_of([apart(5)], [apart(2)])
    assert result(plan) == "this change makes nothing worse"
    assert "### ✅ this change makes nothing worse\n" in as_markdown(plan)


def test_a_set_whose_changed_workloads_are_unknown_is_not_called_harmless(repo: Path) -> None:
    value = web()
    value["spec"]["template"]["spec"]["resourceClaims"] = [{"name": "gpu", "resourceClaimTemplateName": "gpu"}]
    more = web(replicas=3)
    more["spec"]["template"]["spec"]["resourceClaims"] = [{"name": "gpu", "resourceClaimTemplateName": "gpu"}]
    template = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": "gpu", "namespace": "shop"},
        "spec": {"spec": {"devices": {"requests": [{"name": "g", "exactly": {"deviceClassName": "gpu.example.com"}}]}}},
    }
    plan = plan_of([value, template], [more, template])
    assert result(plan) == "nothing is known to get worse; 1 changed workload is unknown (shop/web)"
    assert "### ⚠️ nothing is known" in as_markdown(plan)


def named(value: dict[str, Any], name: str) -> dict[str, Any]:
    value = json.loads(json.dumps(value).replace('"web"', f'"{name}"'))
    assert value["metadata"]["name"] == name
    return value


def test_two_certain_ends_stand_in_the_first_line_and_a_workload_once() -> None:
    """A reader of a comment stopped at the first of two reasons for which the job failed."""
    hung = [apart(3, maxSurge=0, maxUnavailable=1), apart(3, maxSurge=1, maxUnavailable=0)]
    plan = plan_of([hung[0]], [hung[1], named(apart(5), "api")])
    first = result(plan)
    assert first == "after this change 2 pods stay Pending: shop/api; a later rollout can never end: shop/web"
    started = json.loads(json.dumps(hung[1]).replace("web:1", "web:2"))
    first = result(plan_of([hung[0], named(hung[0], "db")], [started, named(hung[1], "db"), named(apart(5), "api")]))
    assert first == "after this change 2 rollouts can never end: shop/web, shop/db; 2 pods stay Pending: shop/api"


def test_a_finding_stands_with_the_environment_that_ends_badly(tmp_path: Path) -> None:
    """It was told of staging, with the number of replicas of prod."""
    for folder, replicas in (("prod", 2), ("staging", 2)):
        (tmp_path / "overlays" / folder).mkdir(parents=True)
        (tmp_path / "overlays" / folder / "web.yaml").write_text(json.dumps(apart(replicas)))
    git(tmp_path, "init", "-q", "-b", "main")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-q", "-m", "base")
    for folder, replicas in (("prod", 5), ("staging", 3)):
        (tmp_path / "overlays" / folder / "web.yaml").write_text(json.dumps(apart(replicas)))
    text = called("plan", "main", ".", "-c", ZONES, "--events", "deploy", cwd=tmp_path).stdout
    prod, _, staging = text.partition("shop/web (staging)")
    assert "anti-affinity-exceeds-domains" in prod
    assert "anti-affinity-exceeds-domains" not in staging.partition("\n\n")[0]


def test_a_changed_workload_always_has_an_effect() -> None:
    """A row without one left open whether anybody had looked."""
    before = web()
    after = json.loads(json.dumps(before).replace("web:1", "web:2"))
    text = as_text(plan_of([before], [after, named(web(), "api")]))
    assert "    every event: as before\n" in text
    assert "    every event: ok\n" in text


# --- distributions ----------------------------------------------------------------------------------------------------


def spread(replicas: int) -> dict[str, Any]:
    value = web(replicas=replicas)
    selector = {"matchLabels": {"app": "web"}}
    constraint = {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": selector}
    value["spec"]["template"]["spec"]["topologySpreadConstraints"] = [constraint]
    return value


def test_the_pods_of_each_zone_are_shown_where_they_change() -> None:
    plan = plan_of([spread(21)], [spread(15)])
    (one,) = plan.workloads
    assert one.zones == ((7, 7, 7), (5, 5, 5))
    assert "pods per zone in one placement: 7/7/7 → 5/5/5" in as_text(plan)
    other = web(replicas=1)
    other["metadata"]["name"] = "other"
    other["spec"]["selector"]["matchLabels"] = other["spec"]["template"]["metadata"]["labels"] = {"app": "other"}
    assert "pods per zone" not in as_text(plan_of([spread(21)], [spread(21), other]))


def test_a_file_that_cannot_be_read_has_no_line() -> None:
    error = InputError("web.yaml", "cannot be read")
    plan = replace(plan_of([], [web()]), errors=(error,), errors_before=(error,))
    for text in (as_text(plan), as_markdown(plan), "".join(as_html(plan))):
        assert "web.yaml" in text
        assert ":0" not in text


# --- findings ---------------------------------------------------------------------------------------------------------


def test_a_finding_that_moves_to_another_object_is_neither_new_nor_gone() -> None:
    reports = [lint_report("a"), lint_report("b")]
    changes = finding_changes(*reports)
    assert (changes.changes, changes.unchanged) == ((), {Severity.WARNING: 1})


def test_the_same_mistake_in_another_object_is_new_even_if_its_message_names_none() -> None:
    reports = [replace(r, findings=(replace(r.findings[0], related=()),)) for r in map(lint_report, "ab")]
    changes = finding_changes(*reports)
    assert [change.finding.object.name for change in (*changes.gone, *changes.new)] == ["a", "b"]


def lint_report(name: str) -> Report:
    plan = plan_of([], [apart(5)])
    first: Finding = plan.findings.new[0].finding
    at = replace(first, object=replace(first.object, name=name), severity=Severity.WARNING)
    return Report(findings=(at,))


def test_what_moves_from_one_target_to_another_is_said_of_both(tmp_path: Path) -> None:
    shutil.copy(ZONES, tmp_path / "nodes.yaml")
    targets = (f'[[targets]]\nname = "{name}"\npaths = ["{name}"]\ncluster = "nodes.yaml"\n' for name in ("eu", "us"))
    (tmp_path / "kubesched.toml").write_text("".join(targets))
    for folder, replicas in (("eu", 5), ("us", 2)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "web.yaml").write_text(json.dumps(apart(replicas)))
    git(tmp_path, "init", "-q", "-b", "main")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-q", "-m", "base")
    for folder, replicas in (("eu", 2), ("us", 5)):
        (tmp_path / folder / "web.yaml").write_text(json.dumps(apart(replicas)))
    text = called("plan", "main", "--events", "deploy", cwd=tmp_path).stdout
    assert "shop/web (us)" in text.splitlines()[0]
    assert re.search(r"gone \(eu\)", text), text


# --- plan, lint and simulate ------------------------------------------------------------------------------------------


def test_rows_of_an_empty_plan_are_none() -> None:
    cluster: Cluster = read_stated(str(ZONES), ClusterOptions())
    rows = rows_of(planned(read([web()]), read([web()]), cluster))
    assert (rows.changed, rows.elsewhere, rows.findings, rows.lines) == ((), (), (), ())


def test_json_has_the_first_line(repo: Path) -> None:
    value = found(planned_there(repo, "--format", "json"))
    assert value["result"].startswith("after this change a later rollout cannot end")
    (edge,) = {one["mend"] for one in value["workloads"] if one["object"]["name"] == "edge-cache"}
    assert edge.startswith("set maxSurge: 0")


def test_rows_of_two_environments_that_share_all_but_an_event_are_one() -> None:
    """Eight lines stood twice, because in prod the deploy may fail, too."""
    stuck = Effect(WORSE, ("rollout",), "likely ok → fails here (stuck)", "the extra pod finds no node")
    waits = Effect(WORSE, ("deploy",), "likely ok → may fail (0–6/6)", "each pod needs a node of its own")
    row = Entry(ObjectRef("Deployment", "ops", "edge"), "ops/edge", "updated", "edge.yaml:8", "maxSurge 0 → 1")
    staging, prod = replace(row, effects=(stuck,)), replace(row, effects=(stuck, waits), direction=WORSE)
    rows = [(("staging",), staging), (("prod",), prod), (("test",), replace(row, fields="maxSurge 0 → 2"))]
    change = Plan("main", "the work tree", (), environments=("prod", "staging", "test"))
    both, other = once_each_workload(change, rows)
    assert (both.name, both.direction) == ("ops/edge (staging, prod)", WORSE)
    assert both.lines == (
        "maxSurge 0 → 1",
        "rollout: likely ok → fails here (stuck): the extra pod finds no node",
        "deploy (prod): likely ok → may fail (0–6/6): each pod needs a node of its own",
    )
    assert (other.name, other.lines) == ("ops/edge (test)", ("maxSurge 0 → 2",))


def test_what_scores_avoid_in_one_environment_only_is_one_effect_with_the_other() -> None:
    """In staging it may fail in some orders, in prod in any: the same reason stood in five lines instead of two."""
    cause = "each pod needs a node of its own"
    may = Effect(WORSE, ("deploy",), "likely ok → may fail (0–6/6)", cause)
    avoided = replace(may, cause=f"{cause}{IF_AVOIDED}")
    row = Entry(ObjectRef("Deployment", "ops", "edge"), "ops/edge", "updated", "edge.yaml:8")
    change = Plan("main", "the work tree", (), environments=("prod", "staging"))

    def lines(*each: Effect) -> tuple[str, ...]:
        rows = [((name,), replace(row, effects=(one,))) for name, one in zip(change.environments, each, strict=True)]
        (both,) = once_each_workload(change, rows)
        return both.lines

    assert lines(may, avoided) == lines(avoided, may) == (f"deploy: likely ok → may fail (0–6/6): {cause}",)
    assert lines(avoided, avoided) == (f"deploy: likely ok → may fail (0–6/6): {cause}{IF_AVOIDED}",)


def test_events_that_get_better_alike_need_no_reason_and_share_one_effect() -> None:
    """Losses were bad for several reasons, and stood in three lines of a workload that its change mends."""
    bad = Cell("deploy", BAD, 2, Range(0, 0, "bound"), proven=False)
    may = Cell("deploy", DEPENDS, 2, Range(0, 2, "bound"), why="nodes may be full")
    other = replace(may, why="each pod needs a node of its own")
    cells = [
        CellChange(event, replace(bad, event=event), replace(may, event=event)) for event in ("node-loss", "drain")
    ]
    cells.append(CellChange("zone-loss", replace(bad, event="zone-loss"), replace(other, event="zone-loss")))
    (effect,) = effects(WorkloadPlan(ObjectRef("Deployment", "shop", "web"), cells=tuple(cells)))
    assert effect.text() == "node loss, drain and zone loss: fails here → may fail"


def test_plan_says_of_what_the_default_scores_avoid_that_they_do() -> None:
    """ "drain: ok → may fail" stood alone where the cause had been told, and where it was in words of lint."""
    fine = Cell("deploy", "fine", 2, Range(2, 2, "bound"), proven=True)
    bad = Cell("deploy", BAD, 2, Range(0, 0, "bound"))
    may = Cell("deploy", DEPENDS, 2, Range(0, 2, "bound"), text="0–2/2", why="nodes may be full")
    by_scores = replace(may, verdict=BY_SCORES)

    def texts(*changes: tuple[str, Cell, Cell]) -> list[str]:
        cells = tuple(
            CellChange(event, replace(before, event=event), replace(after, event=event))
            for event, before, after in changes
        )
        change = ObjectChange(ObjectRef("Deployment", "shop", "web"), (UPDATED,))
        return [effect.text() for effect in effects(WorkloadPlan(change.object, change, cells=cells))]

    avoided = " (only in orders that the default scores avoid)"
    full = "nodes may be full"
    assert texts(("deploy", fine, by_scores)) == [f"deploy: ok → may fail (0–2/2): {full}{avoided}"]
    assert texts(("deploy", bad, by_scores), ("drain", bad, by_scores)) == [
        f"deploy and drain: fails here → may fail{avoided}"
    ]
    assert texts(("deploy", bad, by_scores), ("drain", bad, may)) == ["deploy and drain: fails here → may fail"]
    assert texts(("deploy", fine, may), ("drain", fine, by_scores)) == [
        f"deploy: ok → may fail (0–2/2): {full}",
        f"drain: ok → may fail (0–2/2){avoided}",
    ]


@pytest.mark.parametrize(("kind", "avoided"), [("proof", ""), ("witness", IF_AVOIDED)])
def test_what_lint_proves_is_not_avoided_by_scores(kind: str, avoided: str) -> None:
    """ "PDB web allows no eviction (only in orders that the default scores avoid)"."""
    ref = ObjectRef("Deployment", "shop", "web")
    evidence = Evidence(kind, event="drain")
    message = "draining a node never ends: PDB web allows no eviction"
    finding = Finding("drain-stuck", Severity.WARNING, message, "", evidence, ref, Location("m.yaml", Span(1, 1, 1, 1)))
    effect = Effect(WORSE, ("drain",), "ok → may fail", f"nodes may be full{IF_AVOIDED}")
    told = in_words_of_lint(effect, [FindingChange(None, finding)], ())
    assert told.cause == f"PDB web allows no eviction{avoided}"


def test_who_may_fail_by_other_scores_alone_has_a_line_of_its_own() -> None:
    """ "may fail now, though they do not change: 5 workloads" named those that the default scores spare, too."""
    fine = Cell("deploy", "fine", 2, Range(2, 2, "bound"), proven=True)
    may = Cell("deploy", DEPENDS, 2, Range(0, 2, "bound"), text="0–2/2", why="nodes may be full")
    refs = [ObjectRef("Deployment", "shop", name) for name in "abcd"]
    ends = (may, *[replace(may, verdict=BY_SCORES)] * 3)
    plans = [WorkloadPlan(ref, cells=(CellChange("deploy", fine, end),)) for ref, end in zip(refs, ends, strict=True)]
    assert list(that_may_fail(plans, {ref: ref.name for ref in refs})) == [
        "may fail now, though they do not change: 1 workload (a)",
        "may fail now, only in orders that the default scores avoid, though they do not change: 3 workloads (b, c, d)",
    ]


@pytest.mark.parametrize(("last", "told"), [
    ("likely", "drain: likely ok → may fail, too"),
    ("unknown", "drain: unknown → may fail"),
])  # fmt: skip
def test_the_other_events_of_an_unchanged_workload_say_how_they_end(last: str, told: str) -> None:
    """ "drain: end otherwise, too" stood below a zone loss that may fail for another reason."""
    before = Cell("zone-loss", "likely", 2, Range(0, 2, "bound"))
    may = Cell("zone-loss", DEPENDS, 2, Range(0, 2, "bound"), text="0–2/2", why="nodes may be full")
    drain = replace(may, event="drain", why="each pod needs a node of its own")
    cells = (
        CellChange("zone-loss", before, may),
        CellChange("drain", replace(before, event="drain", verdict=last), drain),
    )
    first, rest = effects(WorkloadPlan(ObjectRef("Deployment", "shop", "web"), cells=cells))
    assert first.text() == "zone loss: likely ok → may fail (0–2/2): nodes may be full"
    assert rest.text() == told


def test_an_unchanged_workload_that_only_gets_better_says_how() -> None:
    """A quota that was raised for a workload told of its rollout, and that "4 other events end otherwise"."""
    bad = Cell("deploy", BAD, 6, Range(3, 3, "bound"))
    fine = Cell("deploy", "fine", 6, Range(6, 6, "bound"), proven=True)
    stuck = replace(bad, event="rollout", stuck=True, proven=True, text="stuck")
    open_ = Cell("rollout", "unknown", 6, Range(6, 6, "bound"))
    cells = (CellChange("deploy", bad, fine), CellChange("rollout", stuck, open_))
    texts = [effect.text() for effect in effects(WorkloadPlan(ObjectRef("Deployment", "shop", "web"), cells=cells))]
    assert texts == ["rollout: fails (stuck) → unknown", "deploy: fails here → ok"]


def test_of_what_gets_better_the_deploy_stands_first() -> None:
    """A mended workload began with the loss of a zone, and its deploy was one of "5 other events"."""
    bad = Cell("deploy", BAD, 2, Range(0, 0, "bound"), proven=True)
    events = {"deploy": "fine", "rollout": "fine", "scale-down": "fine", "drain": "fine", "zone-loss": "likely"}
    cells = tuple(
        CellChange(e, replace(bad, event=e), Cell(e, verdict, 2, Range(2, 2, "bound"))) for e, verdict in events.items()
    )
    change = ObjectChange(ObjectRef("Deployment", "shop", "web"), (UPDATED,))
    texts = [effect.text() for effect in effects(WorkloadPlan(change.object, change, cells=cells))]
    assert texts[0].startswith("deploy, rollout, scale down and drain: fails → ok")


def test_a_finding_that_is_gone_stands_with_its_workload() -> None:
    """ "Elsewhere: 1 error gone" told of the workload in the row above it."""
    text = as_text(plan_of([apart(5)], [apart(2)]))
    assert "; 1 error gone: anti-affinity-exceeds-domains" in text
    assert "Elsewhere" not in text


def test_an_edit_is_known_of_a_commit_too(tmp_path: Path) -> None:
    """Its files are in a copy, which the search for an edit reads again."""
    repo = company(tmp_path / "company")
    git(repo, "commit", "-q", "-a", "-m", "feature")
    value = found(called("plan", "main~1..main", "platform", "--events", "rollout", "--format", "json", cwd=repo))
    (edge,) = {one["mend"] for one in value["workloads"] if one["object"]["name"] == "edge-cache"}
    assert edge.startswith("set maxSurge: 0")


def test_a_page_has_the_rows() -> None:
    page = "".join(as_html(plan_of([apart(2)], [apart(5)])))
    assert "<h1>after this change 2 pods stay Pending: shop/web</h1>" in page
