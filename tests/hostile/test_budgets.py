"""Every run ends: what inputs made to be slow cost, in counted steps, and that reports say what was left out."""

from __future__ import annotations

import json
import pkgutil
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import pytest
from typer.testing import CliRunner

import kubesched_lint
from kubesched_lint.cli.app import app
from kubesched_lint.commands.simulate import run as simulate
from kubesched_lint.engine.base import work
from kubesched_lint.engine.bounds import least
from kubesched_lint.engine.bounds.competition.contention import Competitor
from kubesched_lint.engine.cluster.cluster import Cluster
from kubesched_lint.engine.cluster.nodes.index import NodeIndex
from kubesched_lint.engine.cluster.nodeset import positions
from kubesched_lint.engine.controllers.daemonset import OnNode
from kubesched_lint.engine.events.answers.cells import UNKNOWN
from kubesched_lint.engine.events.start import groups, rooms
from kubesched_lint.engine.events.start.coupling import joined
from kubesched_lint.engine.events.start.simulated_set import SimulatedMember
from kubesched_lint.engine.model import pod as pod_model
from kubesched_lint.engine.model.decode.objects import is_read
from kubesched_lint.engine.model.nodes.node import Node, Taint
from kubesched_lint.engine.model.pod import Toleration
from kubesched_lint.engine.model.workloads.workload import Workload
from kubesched_lint.engine.placing.reachability import Circles, blocked_workloads
from kubesched_lint.engine.scenario.quotas import drawing
from kubesched_lint.engine.scenario.scenario import Scenario
from kubesched_lint.engine.scenario.storage import claims
from kubesched_lint.engine.scheduler import tolerance, topology
from kubesched_lint.engine.verdicts import matrix
from kubesched_lint.explaining.crowding import beside
from kubesched_lint.explaining.objects import refused
from kubesched_lint.findings import Report, Skip
from kubesched_lint.linter import lint as linter
from kubesched_lint.linter.options import Options
from kubesched_lint.linter.reading.manifest_set import ManifestSet, manifest_set
from kubesched_lint.report.findings.context import RenderContext
from kubesched_lint.report.findings.formats import FORMATS, renderer
from kubesched_lint.sources.manifests.loader import documents
from kubesched_lint.sources.manifests.yaml import full_reader
from tests.hostile.shapes import SHAPES, Files, stream, workload
from tests.share import every

MUCH = 1e12


def cluster_of(files: Files) -> Cluster:
    return kubesched_lint.load_cluster(text={"c.yaml": files.cluster})


def set_of(files: Files) -> ManifestSet:
    return manifest_set(documents("m.yaml", files.manifests.encode(), is_read), "default")


def linted(files: Files) -> Report:
    return kubesched_lint.lint(text={"m.yaml": files.manifests}, cluster=cluster_of(files))


def test_what_could_not_be_afforded_is_not_begun_anew() -> None:
    attempts, begun = work.Attempts(), []

    def compute() -> int:
        begun.append(1)
        work.spend(50)
        return 7

    for most, times in ((20, 1), (20, 1), (10, 1), (30, 2), (60, 3)):
        with work.within(most):
            if most < 60:
                with pytest.raises(work.OutOfWorkError):
                    attempts.made(compute)
            else:
                assert attempts.made(compute) == 7
        assert len(begun) == times


def test_cells_do_not_begin_groups_that_an_earlier_one_could_not_afford(monkeypatch: pytest.MonkeyPatch) -> None:
    begun = []
    monkeypatch.setattr(groups, "_is_roomy", lambda *a: begun.append(a) or False)
    monkeypatch.setattr(simulate, "MOST_STEPS", 1_000)
    files = SHAPES["alone"].make(60)
    simulate.simulate(set_of(files), cluster_of(files), Options())
    assert len(begun) <= 10 * 60


def test_workloads_in_one_group_are_not_paired_any_further() -> None:
    taken = []
    pairs = ((taken.append(i) or 0, i % 9) for i in range(1_000))
    assert joined(9, pairs) == (tuple(range(9)),)
    assert len(taken) == 9


def test_each_definition_of_a_workload_is_validated_in_one_scenario(monkeypatch: pytest.MonkeyPatch) -> None:
    judged, validate = [], refused.refusals
    monkeypatch.setattr(refused, "refusals", lambda *a: judged.append(a) or validate(*a))
    linted(SHAPES["twins-of-many"].make(20))
    assert len(judged) <= 3 * 20


# --- the counter ------------------------------------------------------------------------------------------------------


def test_what_an_inner_limit_spends_is_spent_of_the_outer_one() -> None:
    with work.within(100) as outer:
        with work.within(60):
            work.spend(40)
        with work.within(90) as inner, pytest.raises(work.OutOfWorkError):
            work.spend(61)
        assert inner.spent == 60, "no more than the outer one had left"
        with pytest.raises(work.OutOfWorkError):
            work.spend()
    assert outer.spent == 100


def test_outside_of_all_limits_nothing_ends() -> None:
    work.spend(10**15)
    assert work.share(5) == float("inf")


def test_a_share_is_a_quarter_of_what_is_left_and_no_less_than_the_least() -> None:
    with work.within(100):
        assert work.share(5) == 25
        work.spend(96)
        assert work.share(5) == 5


def test_terms_of_anti_affinity_are_hashed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each course makes new pods from a template, for they get labels of their node: their terms are the same ones."""
    asked, said = [], pod_model._meaning
    monkeypatch.setattr(pod_model, "_meaning", lambda selector: asked.append(selector) or said(selector))
    files = SHAPES["apart"].make(6)
    simulate.simulate(set_of(files), cluster_of(files), Options(), ("deploy", "node-loss"))
    # 6 pods have 6 terms each, and each term two selectors.
    assert 0 < len(asked) <= 2 * 6 * 6


# --- how steps grow ---------------------------------------------------------------------------------------------------

LINTED = {
    "ring": 60,
    "chain": 12,
    "star": 30,
    "crowd": 16,
    "apart": 8,
    "node-terms": 60,
    "claims": 30,
    "disruption": 30,
}


@pytest.mark.parametrize("name", every(2, LINTED))
def test_linting_a_shape_costs_steps_in_proportion(name: str) -> None:
    """Twice the size costs little more than twice the steps, or four times where each object names all the others."""
    size, make = LINTED[name], SHAPES[name].make
    spent = []
    for times in (1, 2):
        files = make(size * times)
        with work.within(MUCH) as meter:
            linted(files)
        spent.append(meter.spent)
    most = 4.6 if name in ("apart", "crowd", "chain") else 2.4
    assert spent[1] <= most * spent[0] + 2_000, spent


ASKED: dict[str, tuple[int, str, str]] = {
    "spreads": (4, "kubesched_lint.explaining.spreading.skews", "skews"),
    "preferring": (8, "kubesched_lint.engine.scheduler.scores.inter_pod_affinity", "selects_pod"),
    "node-numbers": (40, "kubesched_lint.engine.cluster.selecting.labelled", "go_int"),
    "claims": (15, "kubesched_lint.engine.scenario.storage.volume_places", "_answerable"),
    "local-volumes": (20, "kubesched_lint.engine.scheduler.plugins.volume_reach", "reachable"),
    "disruption": (15, "kubesched_lint.explaining.disruption", "covers"),
    "ranges": (15, "kubesched_lint.engine.admission.limits", "in_resource_list"),
    "pools": (8, "kubesched_lint.engine.cluster.nodepools.templates.NodeTemplate", "node"),
    "cronjobs": (8, "kubesched_lint.engine.scenario.scenario.Scenario", "mutation_of"),
    "misspelt-values": (20, "kubesched_lint.engine.verdicts.refuting", "pods_wanted"),
}
"""Shape → a size, and the question of which each object once cost as many as there are others."""


@pytest.mark.parametrize("name", ASKED)
def test_what_is_known_is_not_asked_again(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    size, owner, question = ASKED[name]
    where = pkgutil.resolve_name(owner)
    answer, asked = getattr(where, question), []

    def counted(*given: Any, **named: Any) -> Any:
        asked[-1] += 1
        return answer(*given, **named)

    monkeypatch.setattr(where, question, counted)
    for times in (1, 2):
        asked.append(0)
        linted(SHAPES[name].make(size * times))
    # Of many constraints the deployment is tried once; twice as many pods have each twice as many preferred terms.
    most = {"spreads": 1.0, "preferring": 4.2}.get(name, 2.2)
    assert 0 < asked[1] <= most * asked[0], asked


def test_what_was_skipped_is_not_compared_with_all_other_skips(monkeypatch: pytest.MonkeyPatch) -> None:
    compared, equal = [], Skip.__eq__
    monkeypatch.setattr(Skip, "__eq__", lambda *both: compared.append(both) or equal(*both))
    assert len(linted(SHAPES["placeholders"].make(40)).skipped) >= 40
    assert len(compared) < 40


def test_the_fate_of_a_claim_is_found_once_in_a_scenario(monkeypatch: pytest.MonkeyPatch) -> None:
    asked, found = [], claims._fate
    monkeypatch.setattr(
        claims, "_fate", lambda scenario, claim: asked.append((scenario, claim)) or found(scenario, claim)
    )
    linted(SHAPES["loose-volumes"].make(8))
    assert 0 < len(asked) == len({(id(scenario), id(claim)) for scenario, claim in asked})


@pytest.mark.thorough
def test_of_workloads_alike_counting_asks_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Room on the nodes, and who repels the pods of each: all of a crowd are of one kind."""
    asked, rivals, copies, repelling = [], [], rooms.copies, least.repelling
    monkeypatch.setattr(rooms, "copies", lambda *a: asked.append(a) or copies(*a))

    def counted(member: SimulatedMember) -> list[tuple[str, Competitor, int]]:
        found = list(repelling(member))
        rivals.extend(found)
        assert sum(times for _, _, times in found) == 2 * (len(member.set.workloads) - 1)
        return found

    monkeypatch.setattr(least, "repelling", counted)
    counts = []
    for count in (60, 120):
        asked.clear()
        rivals.clear()
        files = SHAPES["crowd"].make(count)
        simulate.simulate(set_of(files), cluster_of(files), Options(), ("deploy",))
        counts.append((len(asked), len(rivals)))
    assert 0 < counts[1][0] <= counts[0][0], counts
    assert 0 < counts[1][1] <= 2.2 * counts[0][1], counts


def test_a_daemonset_is_followed_by_kinds_of_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pod that is bound changes one node: the others are not looked at again."""
    asked = []
    some_new = OnNode.some_new.fget
    assert some_new is not None
    monkeypatch.setattr(OnNode, "some_new", property(lambda pods: asked.append(pods) or some_new(pods)))
    counts = []
    for count in (30, 60):
        files = SHAPES["daemons"].make(count)
        asked.clear()
        simulate.simulate(set_of(files), cluster_of(files), Options(), ("rollout",))
        counts.append(len(asked))
    assert 0 < counts[1] <= 2.5 * counts[0], counts


def test_a_taint_is_held_against_tolerations_of_its_key_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    files = SHAPES["node-kinds"].make(40)
    index = NodeIndex(cluster_of(files).inventory.nodes)
    pod = set_of(files).inventory.workloads[0].pod
    asked = []
    real = tolerance.tolerates
    monkeypatch.setattr(tolerance, "tolerates", lambda *a, **k: asked.append(a) or real(*a, **k))
    assert not tolerance.repelled(index, pod.tolerations)
    assert len(asked) == 40


def test_a_toleration_is_held_against_taints_of_its_value_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each pool has a taint, each workload tolerates one of them: all differ in nothing but the value."""
    asked, real = [], tolerance.tolerates
    monkeypatch.setattr(tolerance, "tolerates", lambda *a, **k: asked.append(a) or real(*a, **k))
    counts = []
    for count in (2, 4):
        asked.clear()
        linted(SHAPES["pools"].make(count))
        counts.append(len(asked))
    assert 0 < counts[1] <= 2.2 * counts[0], counts


@pytest.mark.parametrize("seed", range(40))
def test_tolerations_are_held_against_all_nodes_at_once_as_against_each(seed: int) -> None:
    draw = Random(seed)

    def some(of: str) -> str:
        return draw.choice(of)

    effects = ("NoSchedule", "NoExecute", "PreferNoSchedule")
    nodes = [
        Node(f"n{i}", taints=tuple(Taint(some("abc"), some("123"), draw.choice(effects)) for _ in range(i % 4)))
        for i in range(12)
    ]
    tolerations = [
        Toleration(
            some(" abc").strip(), draw.choice(["", "Equal", "Exists", "Gt"]), some("12"), draw.choice(["", *effects])
        )
        for _ in range(draw.randrange(5))
    ]
    found = tolerance.repelled(NodeIndex(nodes), tolerations)
    one_by_one = [p for p, node in enumerate(nodes) if tolerance.first_untolerated(tolerations, node.taints)]
    assert list(positions(found)) == one_by_one


def test_blocked_workloads_are_found_at_once_however_long_the_chain() -> None:
    """The last of a chain is answered, so all are: a round for each would take as many rounds as there are links."""
    chain = list(set_of(SHAPES["chain"].make(400)).inventory.workloads)
    after = {one: (other,) for one, other in pairwise(chain)}
    asked = []

    def targets(workload: Workload) -> tuple[Workload, ...]:
        asked.append(workload)
        return after[workload]

    assert blocked_workloads(chain[:-1], targets, lambda workload: False) == {}
    assert len(asked) == len(chain) - 1


def test_two_circles_and_those_who_wait_for_them_are_told_apart() -> None:
    a, b, c, d, e, f = set_of(SHAPES["ring"].make(6)).inventory.workloads
    edges = {a: (b,), b: (a, c), c: (d,), d: (c,), e: (a,), f: ()}
    found = blocked_workloads([a, b, c, d, e, f], lambda workload: edges[workload], lambda workload: False)
    assert [found[w].cause for w in (a, b, c, d, e, f)] == ["cycle", "cycle", "cycle", "cycle", "waits", "nothing"]
    assert Circles(found).through(b) == (b, a)


def test_a_long_circle_is_searched_once_and_told_of_each_member() -> None:
    ring = list(set_of(SHAPES["ring"].make(300)).inventory.workloads)
    after = {one: (ring[(i + 1) % 300],) for i, one in enumerate(ring)}
    circles = Circles(blocked_workloads(ring, lambda workload: after[workload], lambda workload: False))
    with work.within(MUCH) as meter:
        ways = [circles.through(workload) for workload in ring]
    assert meter.spent < 20 * 300
    assert all(way[0] is workload and len(set(way)) == 300 for way, workload in zip(ways, ring, strict=True))


def test_a_finding_with_very_many_places_says_how_many_it_leaves_out() -> None:
    report = linted(SHAPES["ring"].make(90))
    cycle = next(f for f in report.findings if f.rule == "affinity-deadlock-cycle")
    assert len(cycle.related) < 60
    assert "more" in cycle.evidence.text
    assert "83 more" in cycle.message


# --- what was left out is said ----------------------------------------------------------------------------------------


@pytest.fixture
def few_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linter, "MOST_STEPS", 2_000)
    monkeypatch.setattr(linter, "STEPS_EACH", 0)
    monkeypatch.setattr(linter, "LEAST_STEPS", 250)
    monkeypatch.setattr(simulate, "MOST_STEPS", 20_000)
    monkeypatch.setattr(matrix, "LEAST_STEPS", 10)


@pytest.mark.usefixtures("few_steps")
def test_a_rule_that_runs_out_of_work_counts_as_skipped_and_the_others_still_run() -> None:
    files = SHAPES["crowd"].make(12)
    blanket = stream([workload("blanket", {"tolerations": [{"operator": "Exists"}]})])
    text = {"m.yaml": files.manifests, "n.yaml": blanket}
    report = kubesched_lint.lint(text=text, cluster=cluster_of(files), profile="strict")
    cut = {skip.rule for skip in report.skipped if skip.cut}
    assert "deploy-leaves-pending" in cut
    assert not report.errors
    assert "toleration-blanket" in {finding.rule for finding in report.findings} - cut


@pytest.mark.usefixtures("few_steps")
@pytest.mark.parametrize("name", FORMATS)
def test_every_format_says_which_rules_were_cut_short(name: str) -> None:
    report = linted(SHAPES["crowd"].make(12))
    assert "has a limit" in "".join(renderer(name)(report, RenderContext()))


@pytest.mark.usefixtures("few_steps")
def test_cells_that_run_out_of_work_are_unknown() -> None:
    files = SHAPES["crowd"].make(12)
    result = simulate.simulate(set_of(files), cluster_of(files), Options())
    cells = [cell for row in result.rows for cell in row.cells]
    cut = [cell for cell in cells if any(work.WHY in missing for missing in cell.missing)]
    assert cut
    assert {cell.verdict for cell in cut} == {UNKNOWN}
    assert not any(cell.proven for cell in cut)
    assert json.dumps([cell.text for cell in cut]).count("?") == len(cut)


def test_the_shipped_rules_do_not_need_the_limit_on_ordinary_manifests() -> None:
    files = SHAPES["many-nodes"].make(6)
    with work.within(MUCH) as meter:
        report = linted(files)
    assert not [skip for skip in report.skipped if skip.cut]
    assert meter.spent < linter.MOST_STEPS / 10


# --- reading ----------------------------------------------------------------------------------------------------------


def test_a_document_of_too_many_values_is_one_error_and_the_other_files_are_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(full_reader, "MOST_PARTS", 200)
    text = {"a.yaml": SHAPES["flow-list"].make(400).manifests, "b.yaml": stream([workload("fine")])}
    report = kubesched_lint.lint(text=text)
    (error,) = report.errors
    assert (error.path, error.line) == ("a.yaml", 12)
    assert "more than 200 keys, values and collections" in error.message
    assert report.summary.workloads == 1


# --- why, and quotas --------------------------------------------------------------------------------------------------


def test_why_says_when_the_rest_of_the_set_is_not_placed_to_the_end(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    files = SHAPES["chain"].make(20)
    (tmp_path / "m.yaml").write_text(files.manifests)
    (tmp_path / "c.yaml").write_text(files.cluster)
    asked = ["why", "w0", str(tmp_path / "m.yaml"), "--no-config", "--cluster", str(tmp_path / "c.yaml")]
    counts = CliRunner().invoke(app, asked).output
    monkeypatch.setattr(beside, "MOST_STEPS", 900)
    cut = CliRunner().invoke(app, asked).output
    assert "stopped at the limit of work" not in counts
    assert "stopped at the limit of work" in " ".join(cut.split())


def test_who_draws_on_a_quota_is_found_once_for_all_quotas() -> None:
    spent = []
    for size in (20, 40):
        files = SHAPES["quotas"].make(size)
        with work.within(MUCH) as meter:
            scenario = Scenario(set_of(files).inventory, cluster_of(files))
            groups = [drawing(quota, scenario) for quota in scenario.objects.quotas]
        assert {len(group) for group in groups} == {size}
        spent.append(meter.spent)
    assert spent[1] <= 4.2 * spent[0], "one look at each pair"


def test_outside_of_all_limits_nothing_is_counted() -> None:
    assert work.tried(lambda: work.spend(5), False) is None
    with work.within(10) as limit:
        work.spend(3)
    assert limit.spent == 3


def test_the_keys_of_all_spreads_of_a_pod_are_looked_up_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of its constraints asks for the nodes with the keys of all."""
    asked, look = [], topology.labelled_nodes
    monkeypatch.setattr(topology, "labelled_nodes", lambda *given: asked.append(given) or look(*given))
    spread = tuple(pod_model.SpreadConstraint(1, f"k{i}", "DoNotSchedule", None) for i in range(50))
    pod, index = pod_model.Pod("default", {}, spread=spread), NodeIndex([])
    assert {topology.counted_nodes(pod, one, index) for one in spread} == {0}
    assert len(asked) == 1
