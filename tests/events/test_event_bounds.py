"""The least pods of an event are counted only where somebody asks for them."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from msgspec.structs import replace

from kubesched_lint.engine.base import work
from kubesched_lint.engine.bounds import counted, counting
from kubesched_lint.engine.events.answers.cells import BAD
from kubesched_lint.engine.events.answers.event_bounds import Bound, EventBounds
from kubesched_lint.engine.events.start.simulated_set import SimulatedSet
from kubesched_lint.engine.model.inventory import Inventory
from kubesched_lint.engine.model.labels import Requirement, Selector
from kubesched_lint.engine.model.nodes.node import ZONE, Node
from kubesched_lint.engine.model.pod import BoundPod, Owner, Pod
from kubesched_lint.engine.model.policy import DisruptionBudget
from kubesched_lint.engine.model.workloads.workload import Workload
from kubesched_lint.engine.verdicts.matrix import Matrix


def _never() -> Bound:
    raise AssertionError("nobody needs the least pods here")


def test_too_few_pods_at_most_are_bad_without_the_least() -> None:
    bounds = EventBounds(3, _never, Bound(2, "room for 2"))
    assert bounds.is_bad
    assert not bounds.is_fine
    bounds.leave_least_out()
    assert bounds.is_bad
    assert (bounds.least.pods, bounds.never_stuck) == (0, False)


def test_a_stuck_rollout_is_bad_without_the_least() -> None:
    bounds = EventBounds(3, _never, Bound(3, "all that are wanted"))
    bounds.always_stuck, bounds.never_stuck = True, False
    assert bounds.is_bad


@pytest.mark.parametrize(("least", "is_fine"), [(3, True), (1, False)])
def test_enough_pods_at_most_ask_for_the_least_once(least: int, is_fine: bool) -> None:
    asked = []

    def count() -> Bound:
        asked.append(least)
        return Bound(least, "counted")

    bounds = EventBounds(3, count, Bound(3, "all that are wanted"))
    assert bounds.is_fine is is_fine
    assert bounds.never_stuck is is_fine
    bounds.leave_least_out()
    assert bounds.least == Bound(least, "counted")
    assert asked == [least]


def _web(replicas: int) -> SimulatedSet:
    """Return a set with room for two pods on each of two nodes."""
    nodes = tuple(Node(f"n{i}", allocatable={"cpu": 1000, "pods": 9}) for i in range(2))
    pod = Pod("default", {"app": "web"}, requests={"cpu": 400})
    other = Workload("Deployment", "default", "other", Pod("default", {"app": "other"}, requests={"cpu": 300}))
    return SimulatedSet(nodes, Inventory(), (Workload("Deployment", "default", "web", pod, replicas=replicas), other))


def test_a_proof_holds_where_no_steps_are_left_to_count_the_least(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counted, "_least", lambda *_: work.spend(10**12))
    with work.within(10**7):
        cell = Matrix(_web(replicas=5)).cell("deploy", 0)
    assert (cell.verdict, cell.proven, cell.bound.most) == (BAD, True, 4)


def test_an_open_rollout_asks_for_the_least_beside_old_pods_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked, least = [], counted._least
    monkeypatch.setattr(counted, "_least", lambda *of: asked.append(of) or least(*of))
    bounds = counted.count(_web(replicas=4).member(0), "rollout")
    assert not bounds.is_fine
    assert not bounds.is_bad
    assert bounds.least.why
    assert len({of[2:] for of in asked}) == len(asked)


@pytest.mark.parametrize(("replicas", "bounds", "asked"), [(5, (0, 2), 3), (1, (1, 1), 2)])
def test_no_zone_is_counted_after_one_that_decides(
    replicas: int, bounds: tuple[int, int], asked: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first of two zones leaves none of five pods for certain, so that only the most are counted of both."""
    calls: list[str] = []

    def counting(name: str) -> Callable[..., Bound]:
        original = getattr(counted, name)
        return lambda *of: calls.append(name) or original(*of)

    for name in ("least_placed", "most_placed"):
        monkeypatch.setattr(counted, name, counting(name))
    plain = _web(replicas)
    nodes = tuple(replace(node, labels={ZONE: node.name}) for node in plain.nodes)
    bounds_of = counted.count(replace(plain, nodes=nodes).member(0), "zone-loss")
    assert (bounds_of.least.pods, bounds_of.most.pods) == bounds
    assert len(calls) == asked


@pytest.mark.parametrize("event", ["deploy", "rollout", "scale-down", "hpa-max"])
@pytest.mark.parametrize("running", [0, 40])
def test_whoever_asks_for_a_proven_bad_end_counts_no_least_pods(
    event: str, running: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``lint`` asks so: the least pods, and the part of the set that decides a cell, only prove good ends."""
    nodes = tuple(Node(f"n{i}", allocatable={"cpu": 9000, "pods": 99}) for i in range(30))
    pods = {name: Pod("default", {"app": name}, requests={"cpu": 300}) for name in ("web", "other")}
    workloads = tuple(Workload("Deployment", "default", name, pod, replicas=40) for name, pod in pods.items())
    bound = tuple(BoundPod(f"web-{i}", f"n{i % 30}", pods["web"], Owner("ReplicaSet", "web-1")) for i in range(running))
    matrix = Matrix(SimulatedSet(nodes, Inventory(), workloads, running={0: bound} if bound else {}))
    monkeypatch.setattr(counted, "least_placed", lambda *_: _never())
    monkeypatch.setattr(counting, "sharpened", lambda *_: _never())
    assert matrix.proven_bad(event, 0) is None


def test_a_drain_that_a_budget_always_stops_asks_whether_all_pods_are_sure_to_run() -> None:
    """What budgets let go depends on the pods that are healthy."""
    nodes = tuple(Node(f"n{i}", allocatable={"cpu": 9000, "pods": 99}) for i in range(30))
    pod = Pod("default", {"app": "web"}, requests={"cpu": 300})
    everybody = Selector((Requirement("app", "In", ("web",)),))
    for allowed, is_bad in ((0, True), (1, False)):
        budget = DisruptionBudget("default", "keep", everybody, max_unavailable=allowed)
        workload = Workload("Deployment", "default", "web", pod, replicas=40)
        matrix = Matrix(SimulatedSet(nodes, Inventory(budgets=(budget,)), (workload,)))
        assert matrix.counting.proves_bad_end("drain", (0,), 0) is is_bad
