"""Waves of an upgrade: nodes are drained together, new nodes join, and drained nodes take pods again."""

from __future__ import annotations

from msgspec.structs import replace

from kubesched_lint.engine.events.answers.cells import NONE
from kubesched_lint.engine.events.search.events import Timeline
from kubesched_lint.engine.events.search.node_events import evict, join, uncordon
from kubesched_lint.engine.model.decode.objects import is_read
from kubesched_lint.linter.reading.manifest_set import manifest_set
from kubesched_lint.sources.manifests.loader import documents
from tests.events.simulated import asking, cell, other, report_of, sketch, workload

BUDGET = other(
    "PodDisruptionBudget", "keep", "policy/v1", spec={"maxUnavailable": 1, "selector": {"matchLabels": {"app": "web"}}}
)


def timeline(nodes, *objects):
    """The objects deployed on the first node; then the other nodes join."""
    import yaml

    text = "---\n".join(yaml.safe_dump(o) for o in objects)
    made = manifest_set(documents("set.yaml", text.encode(), is_read), "default").inventory
    found = Timeline(
        nodes[:1],
        replace(made, workloads=()),
        expected=False,
        foreseen=made.workloads,
        marks={n.name: n.name for n in nodes},
    )
    found.deploy(made.workloads, together=True)
    join(found, nodes[1:])
    return found


def counts(state):
    return [sum(n for _, n in held) for held in state.bound], sum(n for *_, n in state.waiting)


def test_a_budget_delays_a_drain_and_does_not_end_it():
    nodes = sketch(2, "a").inventory.nodes
    drained = timeline(nodes, workload("Deployment", "web", 3), BUDGET)
    phase = evict(drained, [nodes[0].name])
    assert phase.sound
    assert [counts(state) for state in drained.states] == [([0, 3], 0)]
    assert not all(node.unschedulable for node in drained.nodes)


def test_a_budget_that_allows_nothing_keeps_every_pod():
    nodes = sketch(2, "a").inventory.nodes
    never = {**BUDGET, "spec": {**BUDGET["spec"], "maxUnavailable": 0}}
    drained = timeline(nodes, workload("Deployment", "web", 3), never)
    evict(drained, [nodes[0].name])
    assert [counts(state) for state in drained.states] == [([3, 0], 0)]


def test_pods_without_room_wait_until_the_node_takes_pods_again():
    nodes = sketch(2, "a").inventory.nodes
    drained = timeline(nodes, workload("Deployment", "web", 2, asking("2")), workload("Deployment", "db", 0))
    evict(drained, [node.name for node in nodes])
    assert [counts(state) for state in drained.states] == [([0, 0], 2)]
    assert uncordon(drained, [nodes[1].name]) is not None
    assert [counts(state) for state in drained.states] == [([0, 2], 0)]
    assert [node.unschedulable for node in drained.nodes] == [True, False]


def test_a_daemonset_puts_a_pod_on_a_node_that_joins_and_keeps_those_of_drained_nodes():
    nodes = sketch(3, "a").inventory.nodes
    drained = timeline(nodes[:2], workload("DaemonSet", "agent", None))
    evict(drained, [nodes[0].name])
    join(drained, nodes[2:])
    assert uncordon(drained, [nodes[0].name]) is None
    assert not any(node.unschedulable for node in drained.nodes)
    assert [counts(state) for state in drained.states] == [([1, 1, 1], 0)]


def test_nobody_evicts_the_pods_of_a_spared_workload():
    nodes = sketch(2, "a").inventory.nodes
    drained = timeline(nodes, workload("Deployment", "web", 1), workload("Deployment", "db", 1))
    evict(drained, [nodes[0].name], spared=[drained.numbers["Deployment", "default", "db"]])
    assert [counts(state) for state in drained.states] == [([1, 1], 0)]


def test_a_random_course_evicts_as_the_search_does():
    nodes = sketch(2, "a").inventory.nodes
    drained = timeline(nodes, workload("Deployment", "web", 3), BUDGET)
    drained.runs = 2
    evict(drained, [nodes[0].name])
    assert [counts(state) for state in drained.states] == [([0, 3], 0)]


def test_the_loss_of_the_only_zone_is_no_workload_s_fault():
    """Nothing runs without any node; where some nodes have no zone, it says something."""
    web = workload("Deployment", "web", 2, asking("100m"))
    found = report_of(sketch(3, "a"), web, events=("zone-loss",))
    here = cell(found, "web", "zone-loss")
    assert (here.verdict, here.text, found.is_bad) == (NONE, "one zone", False)
    assert cell(report_of(sketch(3, "ab"), web, events=("zone-loss",)), "web", "zone-loss").verdict != NONE
