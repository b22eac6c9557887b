"""A waiting pod that is not tried again would find no node, and trying it again is what most of a course once cost."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

from benchmarks.lifecycle import nodes, workload
from kubesched_lint.engine.events.search.events import Timeline
from kubesched_lint.engine.events.search.node_events import lose
from kubesched_lint.engine.events.start.simulated_set import SimulatedSet
from kubesched_lint.engine.events.start.timelines import timeline_of
from kubesched_lint.engine.events.states.states import State
from kubesched_lint.engine.events.transitions import placement_model, preempting
from kubesched_lint.engine.events.transitions.placement_model import PlacementModel
from kubesched_lint.engine.model.decode.workloads import decode_workload
from kubesched_lint.engine.model.inventory import Inventory
from kubesched_lint.engine.model.pod import Pod
from kubesched_lint.engine.model.storage import StorageClass
from kubesched_lint.engine.runs.event_outcomes import with_new_template
from kubesched_lint.engine.scheduler.framework import diagnose
from tests.events import simulated
from tests.events.simulated import ZONE, apart, asking


def waiting(state: State) -> Iterator[tuple[int, int]]:
    """Slot and node, if it is pinned to one, of each pod that waits."""
    yield from ((slot, -1) for slot, _, _ in state.waiting)
    yield from ((slot, position) for position, queue in enumerate(state.pinned) for slot, _, _ in queue)


def check(timeline: Timeline) -> int:
    """How often no pod was tried."""
    passed = 0
    for phase in timeline.phases:
        model = phase.transitions.model
        for state in phase.exploration.parents:
            for slot, position in waiting(state):
                decisions, candidate_nodes = model.decisions, model.candidate_nodes(state, slot, position)
                passed += model.decisions == decisions
                model.show(state)
                assert bool(candidate_nodes) == bool(diagnose(model.pod(slot, position), model.cluster).feasible)
    return passed


@pytest.mark.parametrize("seed", range(6))
def test_whoever_is_not_tried_finds_no_node(seed: int) -> None:
    made = SimulatedSet(nodes(6), Inventory(), tuple(map(workload, range(4 * seed, 4 * seed + 4))))
    timeline = timeline_of(made, range(4), expected=True, most_states=0, runs=1, seed=seed)
    for one in made.workloads:
        timeline.rollout(with_new_template(one))
    lose(timeline, ["n0"])
    check(timeline)


def near(app: str, key: str = ZONE):
    term = {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": key}
    return {"affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}


def even(app: str):
    rule = {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule"}
    return {"topologySpreadConstraints": [{**rule, "labelSelector": {"matchLabels": {"app": app}}}]}


def crowd(seed: int, priority: int = 0) -> Timeline:
    """Pods that wait for company, for evenness, for others to keep away, and for room.

    With a ``priority``, those that wait for company or evenness preempt others.
    """
    strong = {"priority": priority} if priority else {}
    manifests = [
        simulated.workload("DaemonSet", "agent", None, {**asking("1"), **near("web"), **strong}),
        simulated.workload("DaemonSet", "large", None, asking("3")),
        simulated.workload("Deployment", "web", 9, {**asking("1"), **even("web"), **strong}),
        simulated.workload("Deployment", "one", 5, {**asking("500m"), **apart("one")}),
        simulated.workload("Deployment", "shy", 3, {**asking("500m"), **apart("one")}),
        simulated.workload("Deployment", "guest", 4, {**asking("1"), **near("shy"), **strong}),
    ]
    cluster = simulated.sketch(4)
    made = SimulatedSet(cluster.inventory.nodes, Inventory(), tuple(decode_workload(m, "default") for m in manifests))
    run = {"expected": True, "most_states": 0, "runs": 2, "seed": seed, "preempting": bool(priority)}
    return timeline_of(made, range(len(manifests)), **run)


@pytest.mark.parametrize("seed", range(8))
def test_what_comes_and_goes_opens_nodes_to_those_that_it_concerns(seed: int) -> None:
    timeline = crowd(seed)
    for kind, name in (("Deployment", "web"), ("Deployment", "one"), ("Deployment", "shy")):
        timeline.scale(kind, "default", name, 1)
        timeline.scale(kind, "default", name, 6)
    lose(timeline, [timeline.nodes[0].name])
    assert check(timeline) > 100


def test_a_daemonset_that_waits_for_room_is_not_tried_at_each_step() -> None:
    """Of 30 nodes with room for one, pods of a DaemonSet and 30 others: each of the losers is tried about once."""
    manifests = [
        simulated.workload("DaemonSet", "large", None, asking("3")),
        simulated.workload("Deployment", "web", 30, asking("3")),
    ]
    made = SimulatedSet(
        simulated.sketch(10).inventory.nodes, Inventory(), tuple(decode_workload(m, "default") for m in manifests)
    )
    timeline = timeline_of(made, range(2), expected=True, most_states=0, runs=1, seed=1)
    assert timeline.phases[0].transitions.model.decisions < 150


def test_whom_no_departure_helps_is_not_tried_when_pods_go(monkeypatch: pytest.MonkeyPatch) -> None:
    """Too large for every node, with and without a volume; drawn to nobody; spread over a label that no node has."""
    claim = {"metadata": {"name": "data"}, "spec": {"storageClassName": "local"}}
    spread = {"maxSkew": 1, "topologyKey": "rack", "whenUnsatisfiable": "DoNotSchedule"}
    stuck = [
        simulated.workload("Deployment", "huge", 2, asking("5")),
        simulated.workload("StatefulSet", "held", 2, asking("5"), volumeClaimTemplates=[claim]),
        simulated.workload("Deployment", "lonely", 2, {**asking("1"), **near("nobody")}),
        simulated.workload("Deployment", "odd", 2, {**asking("1"), "topologySpreadConstraints": [spread]}),
    ]
    web = simulated.workload("Deployment", "web", 9, asking("1"))
    made = tuple(decode_workload(m, "default") for m in (*stuck, web))
    classes = Inventory(storage_classes=(StorageClass("local", "any", "WaitForFirstConsumer"),))
    timeline = timeline_of(
        SimulatedSet(simulated.sketch(4).inventory.nodes, classes, made),
        range(5),
        expected=True,
        most_states=0,
        runs=1,
        seed=1,
    )
    tried, original = list[str](), PlacementModel._feasible

    def counting(self: PlacementModel, state: State, slot: int, position: int) -> Any:
        tried.append(self.pod_types.revisions[self.pod_types.slots[slot].workload][0].name)
        return original(self, state, slot, position)

    monkeypatch.setattr(PlacementModel, "_feasible", counting)
    for size in (1, 9, 1, 9):
        timeline.scale("Deployment", "default", "web", size)
    assert set(tried) == {"web"}
    check(timeline)


def test_whom_no_eviction_helps_asks_again_when_one_may(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pods that a spread or an affinity counts may come, and others leave: else the same evictions would be in vain."""
    asked, tries, original, trying = [], [], PlacementModel.any_eviction, preempting.any_eviction

    def counting(*of: Any) -> Any:
        tries.append(of)
        return trying(*of)

    def checked(self: PlacementModel, state: State, slot: int, position: int, *more: Any) -> Any:
        before, found = len(tries), original(self, state, slot, position, *more)
        asked.append(found)
        if found is None and len(tries) == before and self.preempting:
            resolvable, standing = self._resolvable(state, slot, position), self._standing(state)
            assert trying(self.pod(slot, position), resolvable, standing, self.cluster, (), Random(1)) is None
        return found

    monkeypatch.setattr(placement_model, "any_eviction", counting)
    monkeypatch.setattr(PlacementModel, "any_eviction", checked)
    for seed in range(4):
        timeline = crowd(seed, priority=5)
        for size in (1, 9):
            timeline.scale("Deployment", "default", "web", size)
            lose(timeline, [timeline.nodes[0].name])
    assert any(asked), "some preempt"
    assert len(tries) < len(asked)


def test_whom_no_eviction_helps_is_not_tried_at_each_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """A third pod of web has no node, whoever goes: none of the 40 that come is one that its spread counts."""
    tries, trying = [], preempting.any_eviction

    def counting(*of: Any) -> Any:
        tries.append(of)
        return trying(*of)

    monkeypatch.setattr(placement_model, "any_eviction", counting)
    manifests = [
        simulated.workload("Deployment", "web", 3, {**asking("3"), **even("web"), "priority": 5}),
        simulated.workload("Deployment", "small", 40, asking("10m")),
    ]
    nodes = simulated.sketch(1, "ab").inventory.nodes
    made = SimulatedSet(nodes, Inventory(), tuple(decode_workload(m, "default") for m in manifests))
    timeline = timeline_of(made, range(2), expected=True, most_states=0, runs=1, seed=1, preempting=True)
    assert len(timeline.states[0].waiting) == 1
    assert 0 < len(tries) < 6


def test_a_pod_that_comes_is_compared_with_kinds_not_with_each_pod_of_a_daemonset(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Pods of the DaemonSet fit no node, whoever goes: that is known of 30 of them when each of 40 pods comes."""
    compared, helps = [], placement_model.may_help

    def counting(come: Pod, pod: Pod) -> bool:
        compared.append(pod)
        return helps(come, pod)

    monkeypatch.setattr(placement_model, "may_help", counting)
    manifests = [
        simulated.workload("DaemonSet", "large", None, {**asking("3500m"), "priority": 5}),
        simulated.workload("Deployment", "small", 40, {**asking("1"), "priority": 9}),
        simulated.workload("Deployment", "weak", 1, asking("1m")),
    ]
    nodes = simulated.sketch(10).inventory.nodes
    made = SimulatedSet(nodes, Inventory(), tuple(decode_workload(m, "default") for m in manifests))
    timeline_of(made, range(3), expected=True, most_states=0, runs=1, seed=1, preempting=True)
    assert 0 < len(compared) <= 80
