"""Which nodes courses lose where there are too many to try each."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from msgspec.structs import replace

from kubesched_lint.engine.answers.cells import DEPENDS
from kubesched_lint.engine.events.search.events import Timeline
from kubesched_lint.engine.events.start import lost_nodes
from kubesched_lint.engine.events.start.evictable_pods import guests_of
from kubesched_lint.engine.events.start.simulated_set import SimulatedSet
from kubesched_lint.engine.events.start.timelines import timeline_of
from kubesched_lint.engine.model.inventory import Inventory
from kubesched_lint.engine.model.labels import Requirement, Selector
from kubesched_lint.engine.model.node import HOSTNAME, ZONE, Node
from kubesched_lint.engine.model.pod import BoundPod, Owner, Pod, PodAffinityTerm
from kubesched_lint.engine.model.workload import Workload
from kubesched_lint.engine.runs import event_outcomes
from kubesched_lint.engine.runs.courses import Effort
from kubesched_lint.engine.verdicts.matrix import Matrix


@pytest.mark.parametrize(("kind", "lost"), [("Deployment", ["n3", "n0"]), ("DaemonSet", ["n3", "n0", "n1", "n2"])])
def test_one_node_without_pods_stands_for_all_such_nodes(
    kind: str, lost: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing moves where any of them is lost; but a DaemonSet wants a pod less."""
    nothing: Any = None
    monkeypatch.setattr(lost_nodes, "pods_by_node", lambda timeline: {"n3": 1})
    monkeypatch.setattr(lost_nodes, "_kinds", lambda setting: {f"n{i}": 0 for i in range(9)})
    timeline: Any = SimpleNamespace(desired_states={0: SimpleNamespace(spec=SimpleNamespace(kind=kind))})
    assert lost_nodes.nodes_to_lose(nothing, timeline, 4) == lost


@pytest.mark.parametrize(
    ("priority", "size", "telling"),
    [(0, 1, ["n0", "n1"]), (5, 1, ["n0", "n1", "n2"]), (0, 9, ["n0", "n1", "n2", "n3"])],
    ids=["its own, and one other", "whose lost pods may preempt its own", "some of its pods wait"],
)
def test_only_nodes_tell_whose_loss_may_move_pods_of_the_workload(priority: int, size: int, telling: list[str]) -> None:
    nodes = tuple(Node(f"n{i}", {"at": str(i)}, allocatable={"cpu": 1000, "pods": 9}) for i in range(4))
    web, db = (
        Workload("Deployment", "default", app, Pod("default", {"app": app}, requests={"cpu": 400}, **more), replicas=n)
        for app, n, more in (
            ("web", size, {"node_selector": {"at": "0"}}),
            ("db", 1, {"node_selector": {"at": "2"}, "priority": priority}),
        )
    )
    setting = SimulatedSet(nodes, Inventory(), (web, db))
    timeline = timeline_of(setting, (0, 1), expected=True, most_states=0, runs=1)
    assert lost_nodes.telling(setting.member(0), "drain", [timeline], [node.name for node in nodes]) == telling
    if size == 1:
        found = lost_nodes.telling(setting.member(0), "node-unreachable", [timeline], ["n3"])
        assert found == ["n0", "n3"], "one with its pods is always lost"


@pytest.mark.parametrize(
    ("event", "told"),
    [("node-loss", ["n0"]), ("drain", ["n0"]), ("node-unreachable", ["n0", "n1", "n2"])],
)
def test_one_node_tells_of_a_daemonset_whose_pods_move_nowhere(event: str, told: list[str]) -> None:
    """A pod ends with its deleted node, and a drain leaves it; on an unreachable node it stays without running."""
    nodes = tuple(Node(f"n{i}", allocatable={"cpu": 1000, "pods": 9}) for i in range(3))
    agent = Workload("DaemonSet", "default", "agent", Pod("default", {"app": "agent"}, requests={"cpu": 400}))
    web = Workload("Deployment", "default", "web", Pod("default", {"app": "web"}, requests={"cpu": 400}), replicas=2)
    setting = SimulatedSet(nodes, Inventory(), (agent, web))
    timeline = timeline_of(setting, (0, 1), expected=True, most_states=0, runs=1)
    assert lost_nodes.telling(setting.member(0), event, [timeline], [node.name for node in nodes]) == told


@pytest.mark.parametrize(("priority", "told"), [(0, ["n0", "n1"]), (5, ["n0", "n1", "n2"])], ids=["weak", "stronger"])
def test_running_pods_of_others_tell_of_a_loss_if_they_may_preempt_its_own(priority: int, told: list[str]) -> None:
    """db, weaker than all, makes the running pod one that a timeline follows."""
    nodes = tuple(Node(f"n{i}", {"at": str(i)}, allocatable={"cpu": 1000, "pods": 9}) for i in range(4))
    foreign = BoundPod("coredns-x", "n2", Pod("kube-system", {}, priority=priority), Owner("ReplicaSet", "coredns"))
    web, strong = (
        Workload("Deployment", "default", app, Pod("default", {"app": app}, node_selector={"at": at}, priority=rank))
        for app, at, rank in (("web", "0", 1), ("strong", "2", 9))
    )
    simulated = SimulatedSet(nodes, Inventory(pods=(foreign,)), (web, strong))
    hosted = guests_of(simulated).hosted
    assert hosted, "the timeline follows the pod of others"
    timeline = timeline_of(simulated, (0,), expected=True, most_states=0, runs=1, guests=hosted)
    assert lost_nodes.telling(simulated.member(0), "drain", [timeline], [node.name for node in nodes]) == told


@pytest.mark.parametrize("event", ["node-loss", "drain"])
def test_every_node_tells_where_stronger_pods_wait(event: str) -> None:
    """Two strong pods wait while keeper, weak and on a node without web, repels them: without it they preempt web."""

    def node(name: str, zone: str, *uses: str) -> Node:
        labels = {HOSTNAME: name, ZONE: zone, **dict.fromkeys(uses, "yes")}
        return Node(name, labels, allocatable={"cpu": 1000, "pods": 9})

    def made(app: str, replicas: int, cpu: int, **more: Any) -> Workload:
        pod = Pod("default", {"app": app}, requests={"cpu": cpu}, node_selector={app: "yes"}, **more)
        return Workload("Deployment", "default", app, pod, replicas=replicas)

    apart = PodAffinityTerm(ZONE, Selector((Requirement("app", "In", ("keeper",)),)))
    workloads = (
        made("web", 2, 900),
        made("keeper", 1, 900),
        made("crowd", 3, 100),
        made("strong", 2, 900, priority=5, required_anti_affinity=(apart,)),
    )
    nodes = (
        node("n0", "a", "web", "strong"),
        node("n1", "a", "web", "strong"),
        node("n2", "b", "crowd"),
        node("n3", "b", "web"),
        node("n4", "a", "keeper"),
    )
    setting = SimulatedSet(nodes, Inventory(), workloads)
    running = {
        number: tuple(BoundPod(f"{number}-{at}", at, setting.pods[number]) for at in places)
        for number, places in enumerate([("n0", "n1"), ("n4",), ("n2", "n2", "n2")])
    }
    setting = replace(setting, running=running, changes=dict.fromkeys(running, False))
    assert Matrix(setting, Effort()).cell(event, 0).verdict == DEPENDS
    assert Matrix(setting, Effort(states=1)).cell(event, 0).verdict == DEPENDS


def test_no_further_node_is_lost_once_some_ends_are_good_and_some_bad(monkeypatch: pytest.MonkeyPatch) -> None:
    lost: list[list[str]] = []
    original = event_outcomes.lose

    def losing(timeline: Timeline, names: list[str]) -> object:
        lost.append(names)
        return original(timeline, names)

    monkeypatch.setattr(event_outcomes, "lose", losing)
    nodes = tuple(Node(f"n{i}", {"at": str(i)}, allocatable={"cpu": 1000, "pods": 9}) for i in range(8))
    pod = Pod("default", {"app": "web"}, requests={"cpu": 900}, node_selector={"at": "0"})
    crowd = Pod("default", {"app": "crowd"}, requests={"cpu": 300})
    workloads = (
        Workload("Deployment", "default", "web", pod, replicas=1),
        Workload("Deployment", "default", "crowd", crowd, replicas=16),
    )
    found = Matrix(SimulatedSet(nodes, Inventory(), workloads), Effort(states=10)).courses("node-loss", 0)
    assert {end.lack for end in found} == {0, 1}
    assert len(lost) == 2


def test_a_lost_node_with_pods_of_a_statefulset_is_tried_wherever_most_pods_are() -> None:
    """Only the three nodes with the most pods are lost in a set of so many."""
    nodes = tuple(Node(f"n{i}", {"at": str(i)}, allocatable={"cpu": 9000, "pods": 300}) for i in range(6))
    alone = Pod("default", {"app": "alone"}, requests={"cpu": 10}, node_selector={"at": "5"})
    crowds = [
        Workload("Deployment", "default", f"c{i}", Pod("default", {"app": f"c{i}"}, node_selector={"at": str(i)}))
        for i in range(5)
    ]
    workloads = (
        Workload("StatefulSet", "default", "alone", alone, replicas=1),
        *(replace(crowd, replicas=60) for crowd in crowds),
    )
    matrix = Matrix(SimulatedSet(nodes, Inventory(), workloads), Effort(states=10))
    assert {end.lack for end in matrix.courses("node-unreachable", 0)} == {0, 1}
