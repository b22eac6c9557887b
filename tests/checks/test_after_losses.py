"""What a set lacks as a whole after a loss: no end of that loss has fewer pods without a node."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from hypothesis import assume
from msgspec.structs import replace

from kubesched_lint import load_cluster
from kubesched_lint.engine.cluster.cluster import Cluster
from kubesched_lint.engine.events.answers.cells import outcome
from kubesched_lint.engine.events.start.timelines import timeline_of
from kubesched_lint.engine.model.decode.objects import is_read
from kubesched_lint.engine.placing.from_scenario import simulated_set_of
from kubesched_lint.engine.placing.together.after_losses import short_after_losses
from kubesched_lint.engine.runs.event_outcomes import EventOutcomes, FinalState
from kubesched_lint.engine.scenario.scenario import Scenario
from kubesched_lint.linter.reading.manifest_set import manifest_set
from kubesched_lint.report.simulation.report import as_json, as_text
from kubesched_lint.sources.manifests.loader import documents
from tests import drawn as st
from tests.drawn import given
from tests.events.enclosed import thorough
from tests.events.simulated import ZONE, asking, other, report_of, sketch, workload
from tests.events.test_guests import guest
from tests.hostile.shapes import stream

CLASSES = [other("PriorityClass", name, "scheduling.k8s.io/v1", value=rank) for name, rank in (("top", 9), ("low", -9))]


def scenario_of(cluster: Cluster, *objects: dict) -> Scenario:
    found = manifest_set(documents("set.yaml", stream([*CLASSES, *objects]).encode(), is_read), "default")
    return Scenario(found.inventory, cluster)


def ends_of(scenario: Scenario, event: str, lost: str) -> Iterator[FinalState]:
    """Yield ends of traces of the whole set, and of every scheduler where a search is small and nobody preempts."""
    setting = simulated_set_of(scenario)
    everybody, names = range(len(setting.workloads)), [n.name for n in setting.nodes]
    timelines = [timeline_of(setting, everybody, expected=False, most_states=0, runs=4, preempting=True)]
    if len({pod.priority for pod in setting.pods}) == 1:
        search = timeline_of(setting, everybody, expected=False, most_states=600)
        timelines += [search] * search.sound
    for number in everybody:
        ends = EventOutcomes(setting, everybody, timelines, names).ends(event, number) or ()
        yield from (end for end in ends if end.where == lost)


def missing(end: FinalState) -> int:
    """Return how many pods of all workloads lack in the state of an end."""
    transitions = end.phase.transitions
    counts = transitions.counts(end.state)
    ended = (outcome(transitions, desired, counts) for desired in end.timeline.desired_states.values())
    return sum(max(one.wanted - one.bound, 0) for one in ended)


@st.composite
def scenarios(draw) -> Scenario:
    """Two workloads and one that takes most of what room is left, of several priorities, beside pods of others."""
    zones, each = draw(st.sampled_from(["a", "ab", "abc"])), draw(st.integers(1, 2))
    guests = [guest(f"g{i}", f"w-{draw(st.sampled_from(zones))}-1", "200m") for i in range(draw(st.integers(0, 2)))]
    nodes = len(zones) * each
    left, made = 10 * nodes - 2 * len(guests), []
    for name in ("web", "db", "etc"):
        size = draw(st.sampled_from([1, 3, 6]))
        spec = asking(f"{100 * size}m")
        if draw(st.integers(0, 3)) == 0:
            spec["priorityClassName"] = draw(st.sampled_from(["top", "low"]))
        if draw(st.integers(0, 5)) == 0:
            spec["nodeSelector"] = {ZONE: draw(st.sampled_from(zones))}
        kind = draw(st.sampled_from(["Deployment", "StatefulSet", "DaemonSet"] if name == "web" else ["Deployment"]))
        count = max(left // size, 1) if name == "etc" else draw(st.integers(1, 3))
        left -= size * (nodes if kind == "DaemonSet" else count)
        made.append(workload(kind, name, None if kind == "DaemonSet" else count, spec))
    return scenario_of(sketch(each, zones, "1", "110", *guests), *made)


@thorough
@given(scenarios())
def test_no_end_of_a_loss_lacks_fewer_pods_than_the_set_surely_does(scenario):
    told = short_after_losses(scenario)
    assume(told)
    for short in told:
        for lost in short.lost:
            for end in ends_of(scenario, short.event, lost):
                assert missing(end) >= short.waiting, (short.event, lost, short.because)


def test_one_line_above_the_matrix_says_how_many_wait_whichever_they_are():
    """Six pods of two workloads on three nodes for two each: four stay where one is lost."""
    cluster = sketch(1, "abc", "2")
    made = (workload("Deployment", name, 3, asking("900m")) for name in ("web", "db"))
    found = report_of(cluster, *made, events=("node-loss", "zone-loss"))
    head = as_text(found).splitlines()
    wait = "is lost, at least 2 of the 6 pods of 2 workloads wait for cpu; the order decides which"
    assert head[:2] == [f"whichever of the 3 nodes {wait}", f"whichever of the 3 zones {wait}"]
    node, zone = json.loads(as_json(found))["shortAfterLosses"]
    assert (node["event"], node["waiting"], zone["event"], len(zone["lost"])) == ("node-loss", 2, "zone-loss", 3)
    assert node["because"] == f"6 pods > 4, the most by cpu without {node['lost'][0]}"
    assert not found.is_bad


def test_the_proof_names_the_loss_that_its_numbers_are_of():
    """After the loss of the large node three pods wait, after that of the small one two."""
    nodes = sketch(1, "abc", "2")
    large = replace(nodes.inventory.nodes[0], allocatable={**nodes.inventory.nodes[0].allocatable, "cpu": 3000})
    cluster = replace(nodes, inventory=replace(nodes.inventory, nodes=(large, *nodes.inventory.nodes[1:])))
    made = (workload("Deployment", name, count, asking("900m")) for name, count in (("web", 4), ("db", 3)))
    (short,) = report_of(cluster, *made, events=("node-loss",)).short_after_losses
    assert (short.lost[0], short.waiting) == (large.name, 2)
    assert short.because == "7 pods > 5, the most by cpu without w-b"


@pytest.mark.parametrize(
    ("events", "count", "cpu"),
    [(("deploy", "drain"), 3, "900m"), (("node-loss",), 2, "900m"), (("node-loss",), 3, "1100m")],
    ids=["nothing is lost", "they fit", "too large without a loss"],
)
def test_nothing_is_said_where_a_loss_leaves_no_set_short(events, count, cpu):
    made = (workload("Deployment", name, count, asking(cpu)) for name in ("web", "db"))
    assert not report_of(sketch(1, "abc", "2"), *made, events=events).short_after_losses


def test_a_line_above_the_matrix_says_of_which_nodes_it_speaks():
    """ "Whichever of the 3 nodes" of a cluster with six; and "any of 2 nodes" in place of their names."""
    made = [workload("Deployment", name, 3, {**asking("900m"), "nodeSelector": {ZONE: "a"}}) for name in ("web", "db")]
    (some,) = report_of(sketch(3, "ab", "2"), *made, events=("node-loss",)).short_after_losses
    assert some.message.startswith("whichever of the 3 nodes that they may use is lost, at least 2 of the 6 pods")
    nodes = sketch(1, "abc", "3")
    small = replace(nodes.inventory.nodes[0], allocatable={**nodes.inventory.nodes[0].allocatable, "cpu": 1000})
    cluster = replace(nodes, inventory=replace(nodes.inventory, nodes=(small, *nodes.inventory.nodes[1:])))
    made = [workload("Deployment", name, 3, asking("900m")) for name in ("web", "db")]
    (named,) = report_of(cluster, *made, events=("node-loss",)).short_after_losses
    assert named.message.startswith("after node w-b or w-c is lost, at least 2 of the 6 pods")


def test_what_one_workload_lacks_its_row_says():
    assert not report_of(sketch(1, "abc", "2"), workload("Deployment", "web", 6, asking("900m"))).short_after_losses


def test_an_autoscaler_may_add_what_is_short():
    room = {"cpu": "2", "memory": "16Gi", "pods": "110"}
    nodes = [other("Node", f"n{i}", status={"allocatable": room}) for i in range(3)]
    cluster = load_cluster(objects=nodes, elastic=True)
    found = report_of(cluster, *(workload("Deployment", name, 3, asking("900m")) for name in ("web", "db")))
    assert (
        as_text(found)
        .splitlines()[0]
        .endswith("wait for cpu, unless an autoscaler adds a node; the order decides which")
    )
