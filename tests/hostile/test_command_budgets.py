"""What the commands beside lint and simulate may cost on inputs made to be slow, in counted steps."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest
from msgspec.structs import replace
from typer.testing import CliRunner

import kubesched_lint
from benchmarks import hostile_shapes
from kubesched_lint.cli.app import app
from kubesched_lint.commands.audit import run as audit
from kubesched_lint.commands.drain import obstacles
from kubesched_lint.commands.drain import run as drain
from kubesched_lint.commands.fit import run as fit
from kubesched_lint.commands.fix import search
from kubesched_lint.commands.fix.proposals import remedies
from kubesched_lint.commands.fix.search import _FixSearch
from kubesched_lint.commands.lint.run import report_on
from kubesched_lint.commands.plan import judging
from kubesched_lint.commands.plan import run as plan
from kubesched_lint.commands.plan.version import Version
from kubesched_lint.commands.why import ask
from kubesched_lint.engine.base import work
from kubesched_lint.engine.cluster.cluster import Cluster
from kubesched_lint.engine.cluster.nodes.index import NodeIndex
from kubesched_lint.engine.cluster.state import ClusterState
from kubesched_lint.engine.events.answers.cells import UNKNOWN
from kubesched_lint.engine.model.decode.objects import is_read
from kubesched_lint.engine.model.nodes.node import Node
from kubesched_lint.engine.model.pod import HostPort, Pod
from kubesched_lint.engine.scheduler.framework import diagnose
from kubesched_lint.findings import Skip
from kubesched_lint.linter.options import Options
from kubesched_lint.linter.reading.manifest_set import ManifestSet, manifest_set
from kubesched_lint.project.finding_changes import finding_changes
from kubesched_lint.rulebook.library import Rulebook
from kubesched_lint.sources.manifests.loader import documents
from tests.hostile.shapes import SHAPES, Files, stream, workload
from tests.hostile.shapes.editing import edited
from tests.hostile.shapes.running import changed, running
from tests.share import every

MUCH = 1e12
RUNNING = {"ring": 40, "star": 30, "crowd": 30, "beside-all": 30, "own-zones": 40, "disruption": 20, "daemons": 60}
"""Shape → a size at which it runs."""
OTHERS = {"sizes": 30, "alone": 30, "pools": 8}
COMMANDS = ("drain", "drain-running", "audit", "plan", "why")


def set_of(text: str) -> ManifestSet:
    return manifest_set(documents("m.yaml", text.encode(), is_read), "default")


def cluster_of(name: str) -> Cluster:
    return kubesched_lint.load_cluster(text={"c.yaml": running(SHAPES[name].make(RUNNING[name]))})


@pytest.mark.parametrize("name", RUNNING)
def test_a_drain_plan_has_one_limit_for_all_its_searches(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drain, "MOST_STEPS", 30_000)
    monkeypatch.setattr(drain, "STEPS_EACH", 0)
    with work.within(MUCH) as meter:
        plan = drain.drain(ManifestSet(), cluster_of(name), Options())
    assert meter.spent < 2 * 30_000
    assert plan.verdict != "unknown" or plan.missing


def test_a_drain_does_not_tell_a_budget_again_for_each_pod_that_it_guards(monkeypatch: pytest.MonkeyPatch) -> None:
    told, tell = [], obstacles.of_budget
    monkeypatch.setattr(obstacles, "of_budget", lambda *given: told.append(given[:2]) or tell(*given))
    cluster = cluster_of("disruption")
    found = drain.drain(ManifestSet(), cluster, Options())
    assert len(found.obstacles) == RUNNING["disruption"]
    assert len(told) <= RUNNING["disruption"] * len(cluster.inventory.nodes)


@pytest.mark.parametrize("name", ["sizes", "daemons", "fitting-replicas"])
def test_a_drain_says_that_its_set_takes_too_many_steps_to_place(name: str) -> None:
    files = SHAPES[name].make(SHAPES[name].largest)
    manifests = set_of(files.manifests)
    cluster = kubesched_lint.load_cluster(text={"c.yaml": files.cluster})
    with work.within(MUCH) as meter:
        plan = drain.drain(manifests, cluster, Options())
    assert meter.spent <= drain.MOST_STEPS + drain.STEPS_EACH * len(manifests.documents)
    assert plan.verdict == "unknown"
    assert any("too many steps" in missing or work.WHY in missing for missing in plan.missing)


@pytest.fixture
def cuts(monkeypatch: pytest.MonkeyPatch) -> list[work.OutOfWorkError]:
    """Filled whenever a limit of work ends something, whether or not anybody notices."""
    found: list[work.OutOfWorkError] = []

    def noted(self: work.OutOfWorkError, *_: object) -> None:
        if type(self) is work.OutOfWorkError:
            found.append(self)

    monkeypatch.setattr(work.OutOfWorkError, "__init__", noted)
    return found


@pytest.mark.parametrize("name", [*RUNNING, *OTHERS])
def test_a_plan_has_one_limit_for_both_sides(
    name: str, cuts: list[work.OutOfWorkError], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(judging, "MOST_STEPS", 30_000)
    monkeypatch.setattr(judging, "STEPS_EACH", 0)
    files = SHAPES[name].make((RUNNING | OTHERS)[name])
    sides = [Version(text[:9], set_of(text), Options()) for text in (changed(files), files.manifests)]
    cluster = kubesched_lint.load_cluster(text={"c.yaml": files.cluster})
    with work.within(MUCH) as meter:
        found = plan.plan(*sides, cluster, Rulebook.shipped())
    assert meter.spent < 2 * 30_000
    assert not cuts or work.WHY in " ".join(found.notes) or _is_open(found)


def _is_open(found: plan.Plan) -> bool:
    cells = [
        cell for workload in found.workloads for change in workload.cells for cell in (change.before, change.after)
    ]
    return bool(found.unknown) or any(cell is not None and cell.verdict == UNKNOWN for cell in cells)


def test_what_a_rule_did_not_look_at_on_one_side_is_neither_new_nor_gone() -> None:
    blanket = stream([workload("blanket", {"tolerations": [{"operator": "Exists"}]})])
    options = Options(profile="strict")
    some = report_on(set_of(blanket), None, (), options, Rulebook.shipped())
    none = report_on(set_of(stream([workload("blanket")])), None, (), options, Rulebook.shipped())
    cut = replace(none, skipped=(Skip("toleration-blanket", work.WHY, True),))
    for before, after in ((cut, some), (some, cut)):
        rules = [
            one.finding.rule for one in judging._established(finding_changes(before, after), before, after).changes
        ]
        assert "toleration-blanket" not in rules
        assert "toleration-blanket" in " ".join(judging._uncompared([before, after]))
    assert any(one.finding.rule == "toleration-blanket" for one in finding_changes(none, some).changes)


@pytest.mark.parametrize("name", RUNNING)
def test_an_audit_has_one_limit_for_all_its_sections(
    name: str, cuts: list[work.OutOfWorkError], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audit, "MOST_STEPS", 5_000)
    monkeypatch.setattr(audit, "STEPS_EACH", 0)
    with work.within(MUCH) as meter:
        found = audit.audit(cluster_of(name), Options(), Rulebook.shipped())
    assert meter.spent < 2 * 5_000
    assert not cuts or found.unfollowed or name in ("crowd", "beside-all", "own-zones")


def test_an_editor_waits_for_a_few_trials_of_a_fix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each misspelt taint is like all the others, and each was tried."""
    trials, lint = [], _FixSearch.linted
    monkeypatch.setattr(_FixSearch, "linted", lambda *a: trials.append(a) or lint(*a))
    _write(SHAPES["misspelt-taints"].make(30), tmp_path)
    asked = [what for what, _ in edited(str(tmp_path / "m.yaml"), str(tmp_path / "c.yaml"))]
    fixes = [what for what in asked if what.startswith("fix of ")]
    assert 0 < len(trials) <= 10 * len(fixes)


@pytest.mark.parametrize("unsafe", [False, True])
def test_a_fix_has_one_limit_for_all_its_trials(unsafe: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each trial lints the set, and each of these findings has a remedy for each of the others."""
    trials, looks, lint = [], [], _FixSearch.linted
    monkeypatch.setattr(_FixSearch, "linted", lambda *a: trials.append(a) or lint(*a))
    monkeypatch.setattr(search, "remedies", lambda *a: (looks.append(one) or one for one in remedies(*a)))
    monkeypatch.setattr(search, "MOST_STEPS", 20_000)
    monkeypatch.setattr(search, "STEPS_EACH", 0)
    files, options, rulebook = SHAPES["misspelt-taints"].make(60), Options(), Rulebook.shipped()
    cluster = kubesched_lint.load_cluster(text={"c.yaml": files.cluster})
    manifests = set_of(files.manifests)
    report = report_on(manifests, cluster, (), options, rulebook)
    mended = search.mend(manifests, cluster, options, rulebook, report, unsafe=unsafe)
    assert len(trials) < 5
    assert len(looks) <= 3 * 60 * search.MOST_REMEDIES
    assert any(f"stopped after {len(trials)} trial" in words for words in mended.refused)


def test_a_hover_says_that_the_work_reached_its_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kubesched_lint.session.asking.MOST_STEPS", 5)
    _write(SHAPES["chain"].make(10), tmp_path)
    assert "hover" in [what for what, _ in edited(str(tmp_path / "m.yaml"), str(tmp_path / "c.yaml"))]


def test_why_says_that_the_work_reached_its_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ask, "MOST_STEPS", 5)
    _write(SHAPES["chain"].make(10), tmp_path)
    args = ["why", "w0", str(tmp_path / "m.yaml"), "-c", str(tmp_path / "c.yaml"), "--no-config"]
    ended = CliRunner().invoke(app, args)
    assert ended.exit_code == 2
    assert f"w0 is not explained: {work.WHY}" in ended.output


@pytest.mark.parametrize("steps", [100, 4_000, 30_000])
@pytest.mark.parametrize("name", ["ring", "star", "own-zones", "group-names", "spreads", "apart-from-many", "pools"])
def test_fit_answers_within_one_limit_and_says_what_it_left_out(
    name: str, steps: int, cuts: list[work.OutOfWorkError], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fit, "MOST_STEPS", steps)
    hostile_shapes.write("fit", files := SHAPES[name].make(70), tmp_path)
    args = list(hostile_shapes.arguments("fit", files, tmp_path))[3:]
    with work.within(MUCH) as meter:
        ended = CliRunner().invoke(app, args)
    assert meter.spent < 2 * steps
    if steps == 100:
        refused = "the API server refuses" in ended.output
        assert (ended.exit_code, refused or work.WHY in ended.output) == (2, True), "nothing is known"
    elif ended.exit_code < 2:
        assert not cuts or f": {work.WHY.split(',')[0]}" in ended.output or "certain in every order" in ended.output


@pytest.mark.parametrize(("name", "command"), every(2, [*product(("crowd", "daemons"), COMMANDS), ("crowd", "fit")]))
def test_each_command_reports_on_a_hostile_shape(name: str, command: str, tmp_path: Path) -> None:
    files = SHAPES[name].make(2)
    hostile_shapes.write(command, files, tmp_path)
    ended = CliRunner().invoke(app, list(hostile_shapes.arguments(command, files, tmp_path))[3:])
    assert ended.exit_code in (0, 1, 3), ended.output[-500:]
    assert hostile_shapes.REPORTS[command].search(ended.output)


def _write(files: Files, folder: Path) -> None:
    hostile_shapes.write("lint", files, folder)


def test_a_pod_pays_for_each_of_its_host_ports() -> None:
    """Placing one takes as long as they are many: a drain of 60 Deployments of 200 ports took more than 20 s."""
    state = ClusterState(NodeIndex((Node("n", allocatable={"pods": 110}),)))
    spent = []
    for count in (1, 201):
        pod = Pod("default", {}, host_ports=tuple(HostPort(port + 1, "TCP") for port in range(count)))
        with work.within(MUCH) as meter:
            diagnose(pod, state)
        spent.append(meter.spent)
    assert spent[1] - spent[0] >= 2 * 200
