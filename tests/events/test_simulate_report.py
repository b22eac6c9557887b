"""What ``simulate`` prints: evidence under every cell that is not fine, each course once, terms explained."""

from __future__ import annotations

import re

import pytest

from kubesched_lint.commands.simulate.simulation_report import SimulationReport
from kubesched_lint.engine.answers.cells import BAD, DEPENDS
from kubesched_lint.engine.events.search.picture import Box, Picture
from kubesched_lint.engine.verdicts.matrix import EVENTS
from kubesched_lint.report.cells import width
from kubesched_lint.report.palette import Palette
from kubesched_lint.report.simulation.cluster_picture import drawn, letter
from kubesched_lint.report.simulation.report import as_text
from kubesched_lint.sources.clusters.read import cluster_from
from tests.events.simulated import HOSTNAME, apart, asking, cell, other, report_of, sketch, workload


@pytest.fixture(scope="module")
def zones() -> SimulationReport:
    """Six that must each have a zone, of three; a budget that lets none go; one that fits."""
    scaler = other(
        "HorizontalPodAutoscaler",
        "cache",
        "autoscaling/v2",
        spec={
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "cache"},
            "minReplicas": 5,
            "maxReplicas": 7,
        },
    )
    budget = other(
        "PodDisruptionBudget",
        "keep",
        "policy/v1",
        spec={"maxUnavailable": 0, "selector": {"matchLabels": {"app": "db"}}},
    )
    return report_of(
        sketch(),
        workload("Deployment", "cache", 6, apart("cache")),
        workload("StatefulSet", "db", 3),
        workload("Deployment", "fine", 1),
        scaler,
        budget,
    )


@pytest.mark.parametrize("event", EVENTS)
def test_a_bad_cell_of_any_event_has_proof_course_message_and_line(zones, event):
    here = cell(zones, "cache", event)
    assert here.verdict == BAD
    assert here.proven
    assert "of its own" in here.why
    assert here.worst is not None
    assert "didn't match pod anti-affinity rules" in here.message
    place = zones.place(here)
    assert place is not None
    assert place.path == "set.yaml"
    assert here.assumes


def test_a_drain_that_a_budget_blocks_quotes_the_eviction_and_blames_the_budget(zones):
    here = cell(zones, "db", "drain")
    assert here.verdict in (BAD, DEPENDS)
    assert here.message == "Cannot evict pod as it would violate the pod's disruption budget."
    assert zones.place(here) is not None
    assert here.at == ("spec", "maxUnavailable")
    assert "the eviction is refused: Cannot evict" in as_text(zones, verbose=True)


def test_two_budgets_are_refused_in_their_own_words():
    spec = {"minAvailable": 1, "selector": {"matchLabels": {"app": "db"}}}
    budgets = [other("PodDisruptionBudget", name, "policy/v1", spec=spec) for name in ("one", "two")]
    result = report_of(sketch(), workload("StatefulSet", "db", 3), *budgets, events=("drain",))
    assert "more than one PodDisruptionBudget" in cell(result, "db", "drain").message


def test_a_budget_of_the_snapshot_is_named_but_no_line_of_it_is_blamed():
    spec = {"maxUnavailable": 0, "selector": {"matchLabels": {"app": "db"}}}
    budget = other("PodDisruptionBudget", "keep", "policy/v1", spec=spec)
    budget["metadata"]["namespace"] = "default"
    result = report_of(sketch(2, "abc", "4", "110", budget), workload("StatefulSet", "db", 3), events=("drain",))
    here = cell(result, "db", "drain")
    assert "PDB keep" in here.text
    assert result.place(here) is None


def test_where_no_course_can_be_followed_message_and_line_are_there_still():
    agent = workload("DaemonSet", "agent", None, asking("64"))
    result = report_of(sketch(80), agent, events=("deploy",))
    here = cell(result, "agent", "deploy")
    assert (here.verdict, here.bound.most, here.worst) == (BAD, 0, None)
    assert "Insufficient cpu" in here.message
    assert result.place(here) is not None


def test_a_course_that_cells_share_is_printed_once(zones):
    text = as_text(zones, verbose=True)
    numbers = re.findall(r"trace (\d+):", text)
    assert numbers
    assert len(numbers) == len(set(numbers))
    assert all(re.search(rf"trace {number}(, then|\n)", text) for number in numbers)
    deploys = [line for line in text.splitlines() if line.strip().startswith("deploy: ") and "→" in line]
    assert len(deploys) == len(set(deploys))


def test_what_is_bad_for_one_reason_is_told_together(zones):
    text = as_text(zones, verbose=True)
    assert "deploy 3/6!, rollout stuck!" in text
    assert text.count("because: each pod needs a zone of its own, and 3 zones can hold one\n") == 1


def test_the_legend_explains_what_is_printed_and_nothing_else(zones):
    lines = as_text(zones, verbose=True).splitlines()
    assert "fails (3/6!, stuck!) every order of events ends badly, with any scheduler" in [
        " ".join(line.split()) for line in lines
    ]
    assert any(line.strip().startswith("stuck ") for line in lines)
    assert any(line.strip().startswith("u  ") for line in lines)
    assert not any(line.strip().startswith("OnDelete") for line in lines)
    fine = as_text(report_of(sketch(), workload("Deployment", "web", 2), events=("deploy", "node-loss")), verbose=True)
    assert "ok (ok)" in fine
    assert "fail" not in fine
    assert "never ends" not in fine
    assert "unreachable" not in fine
    assert "random trace" not in fine
    tight = report_of(
        sketch(1, "ab", "1"), workload("Deployment", "a", 2, asking("1")), workload("Deployment", "b", 2, asking("1"))
    )
    assert "may fail (0–2/2, 0–1/1)  one order of events ends badly, another may not" in as_text(tight, verbose=True)
    big = [workload("Deployment", "a", 60, asking("700m")), workload("Deployment", "b", 70, asking("900m"))]
    open_ = as_text(report_of(sketch(10), *big, events=("deploy", "node-loss")), verbose=True)
    assert re.search(r"likely ok \(ok~\) +every simulated order ends well", open_)


def test_the_premises_are_said_in_text_with_whose_they_are(zones):
    text = as_text(zones, verbose=True)
    assert "these verdicts assume that\n  - pods become ready as soon as they are bound\n" in text


def test_what_is_passing_is_a_premise():
    from kubesched_lint.sources.clusters.read import cluster_from

    nodes = (
        "{apiVersion: v1, kind: List, items: [{apiVersion: v1, kind: Node, metadata: {name: n1},"
        " spec: {unschedulable: true, taints: [{key: node.kubernetes.io/unschedulable, effect: NoSchedule}]}}]}"
    )
    cluster = cluster_from([("nodes.yaml", nodes.encode())], "nodes.yaml")
    text = as_text(report_of(cluster, workload("Deployment", "web", 1), events=("deploy",)), verbose=True)
    assert "default/web      ok" in text
    assert "today's transient states are over: " in text


def test_a_narrow_terminal_gets_the_events_in_blocks_and_no_line_beyond_its_edge(zones):
    text = as_text(zones, verbose=True, room=80)
    assert text.count("default/cache  ") == 1
    # A path or a name that is longer than a line stays whole.
    assert [line for line in text.splitlines() if width(line) > 80] == []


def test_a_strategy_that_waits_for_deletions_is_not_called_stuck():
    manual = workload("StatefulSet", "db", 3, updateStrategy={"type": "OnDelete"})
    held = workload("StatefulSet", "held", 3, updateStrategy={"rollingUpdate": {"partition": 2}})
    result = report_of(sketch(), manual, held, events=("deploy", "rollout"))
    assert cell(result, "db", "rollout").text == "OnDelete"
    assert cell(result, "held", "rollout").text == "3/3 ok"
    assert "replaced only when somebody deletes them" in as_text(result, verbose=True)


# --- pictures -------------------------------------------------------------------------------------------------------


def test_equal_nodes_of_a_large_domain_are_drawn_once():
    boxes = [Box(f"n{i}", False, ((0, True, 2),) if i == 3 else ()) for i in range(13)]
    lines = list(drawn(Picture((("a", tuple(boxes)),), ()), Palette(False)))
    assert sum("n0" in line for line in lines) == 1
    assert any("× 12 nodes like this" in line for line in lines)
    assert any("AA" in line for line in lines)
    assert len(lines) == 1 + 5 + 4


def test_few_nodes_are_drawn_each():
    boxes = tuple(Box(f"n{i}", False, ()) for i in range(3))
    text = "\n".join(drawn(Picture((("a", boxes),), ()), Palette(False)))
    assert all(f"n{i}" in text for i in range(3))
    assert "like this" not in text


def test_domains_that_find_no_room_side_by_side_come_below():
    columns = tuple((f"zone-{i}", (Box(f"a-rather-long-name-{i}", False, ()),)) for i in range(9))
    for room in (60, 100, 0):
        lines = list(drawn(Picture(columns, ()), Palette(False), room))
        assert max(map(width, lines)) <= (room or 120)
        assert sum(line.count("zone-") for line in lines) == 9


def test_letters_are_painted_and_go_on_after_z():
    picture = Picture((("a", (Box("n", False, ((0, True, 2), (27, False, 1))),)),), ((1, True, 20),))
    plain, painted = ("\n".join(drawn(picture, Palette(on))) for on in (False, True))
    assert letter(27) == "B1"
    assert "AAb1×1" in plain
    assert "B×20" in plain
    assert "\x1b[" in painted


def test_the_picture_names_the_workloads_as_the_matrix_does():
    """Its courses may be of some workloads only, with numbers of their own."""
    free = [workload("Deployment", name, 2) for name in ("a", "b")]
    result = report_of(
        sketch(70),
        *free,
        workload("Deployment", "c", 60, apart("c", HOSTNAME)),
        events=("deploy", "rollout"),
        pictured="rollout",
    )
    text = as_text(result, verbose=True)
    assert "default/" in text.split("before rollout:")[0].splitlines()[-1]
    shown = {number for _, boxes in result.after.columns for box in boxes for number, _, _ in box.pods}
    assert shown <= {0, 1, 2}
    assert shown


def test_a_cluster_without_zones_says_so_and_how_to_lose_another_domain() -> None:
    """A cluster of kind names its zones by a label of its own."""
    head = "apiVersion: kubesched-lint/v1\nkind: ClusterSketch\nnodes:\n"
    size = "count: 2, zones: [null], allocatable: {cpu: '4', memory: 8Gi}"
    nodes = head + "".join(f"- {{name: {a}, labels: {{kind.zone: {a}}}, {size}}}\n" for a in ("zone-a", "zone-b"))
    known = cluster_from([("cluster.yaml", nodes.encode())], "cluster.yaml")
    spread = {"topologyKey": "kind.zone", "labelSelector": {"matchLabels": {"app": "web"}}}
    terms = {
        "podAntiAffinity": {
            "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "podAffinityTerm": spread}]
        }
    }
    report = report_of(known, workload("Deployment", "web", 2, {"affinity": terms}))
    why = "no node has the label topology.kubernetes.io/zone"
    instead = "--lose kind.zone=zone-a loses the nodes with this label"
    assert f"no zones: {why}; {instead}" in report.notes
    assert cell(report, "web", "zone-loss").text == "no zones"


def test_a_cluster_with_zones_says_nothing_about_them(zones: SimulationReport) -> None:
    assert not any("no zones" in note for note in zones.notes)
