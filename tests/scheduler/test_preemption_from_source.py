"""Preemption and budgets beyond what is recorded, held against the sources of v1.36."""

from __future__ import annotations

from typing import Any

import pytest

from kubesched_lint.engine.cluster.state import ClusterState
from kubesched_lint.engine.model.nodes.node import ZONE
from kubesched_lint.engine.model.pod import BoundPod, Owner, Pod, SpreadConstraint
from kubesched_lint.engine.model.policy import DisruptionBudget
from kubesched_lint.engine.scheduler.framework import diagnose, message
from kubesched_lint.engine.scheduler.preemption.preemption import Preemption, allowed_disruptions, preempt
from tests.scheduler.small import bound, node, pod, selecting, state

SMALL = {"cpu": 2000, "pods": 10}


def filler(name: str, where: str, cpu: int = 1000, priority: int = 0, **fields: Any) -> BoundPod:
    app = fields.pop("app", "filler")
    return bound(name, where, pod(app=app, requests={"cpu": cpu}, priority=priority), **fields)


def tried(what: Pod, where: ClusterState) -> Preemption:
    return preempt(what, diagnose(what, where), where)


def outcome(what: Pod, where: ClusterState) -> tuple[str, list[str]] | None:
    chosen = tried(what, where).chosen
    if chosen is None:
        return None
    return where.index.names[chosen.position], [p.bound.name for p in chosen.victims if p.bound]


WANTING = pod(requests={"cpu": 2000}, priority=1000)
NODES = (node("n0", allocatable=SMALL), node("n1", allocatable=SMALL))


@pytest.mark.parametrize(
    ("pods", "expected"),
    [
        # 2. the lowest of the highest priorities
        ((filler("b0", "n0", 2000, 100), filler("b1", "n1"), filler("b2", "n1")), ("n1", ["b1", "b2"])),
        # 3. the smallest sum
        ((filler("b0", "n0", 1000, 9), filler("b1", "n0", 1000, 1), filler("b2", "n1", 2000, 9)), ("n1", ["b2"])),
        # 4. fewer victims: a negative priority does not make up for one more
        (
            (filler("b0", "n0", 1000, -5), filler("b1", "n0", 1000, -9), filler("b2", "n1", 2000, -5)),
            ("n1", ["b2"]),
        ),
        # 5. the latest of the earliest starts
        (
            (
                filler("b0", "n0", 2000, start_time="2026-01-01T00:00:01Z"),
                filler("b1", "n1", 2000, start_time="2026-01-01T00:00:02Z"),
            ),
            ("n1", ["b1"]),
        ),
        # a pod without a start time starts now
        ((filler("b0", "n0", 2000, start_time="2026-01-01T00:00:01Z"), filler("b1", "n1", 2000)), ("n1", ["b1"])),
    ],
)
def test_nodes_compete_criterion_by_criterion(pods: tuple[BoundPod, ...], expected: tuple[str, list[str]]) -> None:
    """framework/preemption/preemption.go, pickOneNodeForPreemption."""
    assert outcome(WANTING, state(NODES, *pods)) == expected


@pytest.mark.parametrize(
    ("version", "said"),
    [
        ("1.36", ""),
        ("1.37", "preemption: found a potential placement for pod on node n0, preempting 2 victims"),
    ],
)
def test_a_preemption_that_succeeds_says_so_from_1_37_on(version: str, said: str) -> None:
    """kubernetes#140180, with the words of its release note."""
    where = state(NODES[:1], filler("b0", "n0"), filler("b1", "n0"), version=version)
    assert tried(WANTING, where).message == said


def test_equal_nodes_are_all_named() -> None:
    found = tried(WANTING, state(NODES, filler("b0", "n0", 2000), filler("b1", "n1", 2000)))
    assert [c.position for c in found.equals] == [0, 1]
    assert not found.sampled


def test_only_lower_priorities_go_and_the_least_important_first() -> None:
    """defaultpreemption/default_preemption.go, SelectVictimsOnNode: the longer a pod runs the later it goes."""
    pods = (
        filler("young", "n0", 500, start_time="2026-01-01T00:00:09Z"),
        filler("old", "n0", 500, start_time="2026-01-01T00:00:01Z"),
        filler("dear", "n0", 500, priority=500),
        filler("equal", "n0", 500, priority=1000),
    )
    where = state(NODES[:1], *pods)
    assert outcome(pod(requests={"cpu": 500}, priority=1000), where) == ("n0", ["young"])
    assert outcome(pod(requests={"cpu": 1000}, priority=1000), where) == ("n0", ["old", "young"])
    assert outcome(pod(requests={"cpu": 1000}, priority=100), where) == ("n0", ["old", "young"])
    assert outcome(pod(requests={"cpu": 2000}, priority=1000), where) is None


def test_pods_under_a_budget_go_last() -> None:
    """filterPodsWithPDBViolation: what a budget keeps is given back first."""
    pods = (filler("kept", "n0", app="db"), filler("free", "n0", priority=5))
    one = pod(requests={"cpu": 1000}, priority=1000)
    assert outcome(one, state(NODES[:1], *pods)) == ("n0", ["kept"])
    none_allowed = DisruptionBudget("shop", "b", selecting(app="db"), disruptions_allowed=0)
    assert outcome(one, state(NODES[:1], *pods, budgets=(none_allowed,))) == ("n0", ["free"])


def test_a_node_without_violations_goes_before_everything_else() -> None:
    pods = (filler("b0", "n0", 2000, app="db"), filler("b1", "n1", 2000, priority=900))
    none_allowed = DisruptionBudget("shop", "b", selecting(app="db"), disruptions_allowed=0)
    assert outcome(WANTING, state(NODES, *pods)) == ("n0", ["b0"])
    assert outcome(WANTING, state(NODES, *pods, budgets=(none_allowed,))) == ("n1", ["b1"])


def test_a_budget_counts_down_over_the_victims_of_a_node() -> None:
    pods = [filler(f"b{i}", "n0", 500, app="db", start_time=f"2026-01-01T00:00:0{i}Z") for i in range(4)]
    one_allowed = DisruptionBudget("shop", "b", selecting(app="db"), disruptions_allowed=1)
    found = tried(WANTING, state(NODES[:1], *pods, budgets=(one_allowed,)))
    assert found.chosen is not None
    assert found.chosen.violations == 3


def test_a_pod_that_never_preempts_says_so() -> None:
    shy = pod(requests={"cpu": 2000}, priority=1000, preemption_policy="Never")
    where = state(NODES[:1], filler("b0", "n0"))
    assert message(diagnose(shy, where), tried(shy, where).message) == (
        "0/1 nodes are available: 1 Insufficient cpu. no new claims to deallocate, "
        "preemption: not eligible due to preemptionPolicy=Never."
    )


def test_before_dynamic_resources_only_preemption_speaks() -> None:
    where = state(NODES[:1], filler("b0", "n0", priority=2000), version="1.33")
    assert tried(WANTING, where).message == (
        "preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod."
    )


def test_taking_pods_away_may_not_help_for_a_reason_of_its_own() -> None:
    nodes = (node("n0", allocatable=SMALL), node("n1", unschedulable=True))
    where = state(nodes, filler("b0", "n0", 500, priority=2000), filler("b1", "n0", 500))
    assert tried(WANTING, where).message == (
        "no new claims to deallocate, preemption: 0/2 nodes are available: "
        "1 Insufficient cpu, 1 Preemption is not helpful for scheduling."
    )


def test_trying_leaves_no_trace() -> None:
    where = state(NODES, filler("b0", "n0"), filler("b1", "n0"), filler("b2", "n1", 2000))
    before = [where.pods_on(i) for i in range(2)]
    tried(WANTING, where)
    assert [where.pods_on(i) for i in range(2)] == before
    assert where.requested(0, "cpu") == 2000
    assert where.removed_in_cycle == []


def test_more_than_a_hundred_candidates_are_tried_only_in_part() -> None:
    """GetOffsetAndNumCandidates: from a random start, a tenth and at least 100."""
    many = [node(f"n{i}", allocatable=SMALL) for i in range(101)]
    pods = [filler(f"b{i}", f"n{i}") for i in range(101)]
    where = state(many, *pods)
    some = tried(WANTING, where)
    assert some.sampled
    assert [c.position for c in some.equals] == list(range(100))
    later = preempt(WANTING, diagnose(WANTING, where), where, offset=50)
    assert [c.position for c in later.equals] == [*range(50, 101), *range(49)]
    assert not tried(WANTING, state(many[:100], *pods[:100])).sampled


def test_the_search_goes_on_until_a_candidate_violates_no_budget() -> None:
    many = [node(f"n{i}", allocatable=SMALL) for i in range(103)]
    pods = [filler(f"b{i}", f"n{i}", app="db" if i < 102 else "free") for i in range(103)]
    none_allowed = DisruptionBudget("shop", "b", selecting(app="db"), disruptions_allowed=0)
    assert outcome(WANTING, state(many, *pods, budgets=(none_allowed,))) == ("n102", ["b102"])


def test_spread_subtracts_even_pods_it_had_not_counted() -> None:
    """podtopologyspread/filtering.go, updateWithPod does not ask whether the pod it takes away is terminating.

    Zone a counts the two pods of n2, zone b none, so that a is out of bounds: 2 + 1 - 0 > 1. The two terminating pods
    of n0 were not counted, yet taking them away brings a to 0.
    """
    hard = (SpreadConstraint(1, ZONE, "DoNotSchedule", selecting(app="web")),)
    nodes = (
        node("n0", "a", allocatable=SMALL),
        node("n1", "b", allocatable={"pods": 10}),
        node("n2", "a", allocatable=SMALL),
    )
    staying = [filler(f"s{i}", "n2", app="web", priority=2000) for i in range(2)]
    leaving = [filler(f"t{i}", "n0", app="web", terminating=True) for i in range(2)]
    what = pod(app="web", requests={"cpu": 2000}, priority=1000, spread=hard)
    assert outcome(what, state(nodes, *staying, *leaving)) == ("n0", ["t0", "t1"])
    others = [filler(f"t{i}", "n0", app="db") for i in range(2)]
    assert outcome(what, state(nodes, *staying, *others)) is None


# --- budgets --------------------------------------------------------------------------------------------------------


def covered(name: str, owned: bool = True, **fields: Any) -> BoundPod:
    owner = Owner(fields.pop("kind", "ReplicaSet"), "rs") if owned else None
    return bound(name, fields.pop("where", "n0"), pod(app="db"), owner=owner, **fields)


@pytest.mark.parametrize(
    ("bounds", "pods", "allowed"),
    [
        ({"max_unavailable": 1}, [covered("a"), covered("b")], 1),
        ({"max_unavailable": 1}, [covered("a"), covered("b", ready=False)], 0),
        ({"max_unavailable": 1}, [covered("a"), covered("b", terminating=True)], 0),
        ({"max_unavailable": 1}, [covered("a"), covered("b", where="")], 0),
        ({"max_unavailable": 1}, [covered("a", owned=False)], 0),  # no controller, no scale
        ({"max_unavailable": 1}, [covered("a"), covered("b", owned=False)], 2),
        ({"max_unavailable": 1}, [covered("a"), covered("b", kind="Job")], 0),  # no scale subresource: it allows none
        ({"min_available": "50%"}, [covered("a"), covered("b", kind="DaemonSet")], 0),
        ({"min_available": 1}, [covered("a"), covered("b", kind="Job")], 1),
        ({"max_unavailable": 0}, [covered("a"), covered("b")], 0),
        ({"max_unavailable": "50%"}, [covered(c) for c in "abc"], 2),  # rounded up
        ({"min_available": 1}, [covered("a", owned=False), covered("b", owned=False)], 1),
        ({"min_available": 3}, [covered("a"), covered("b")], 0),
        ({"min_available": "50%"}, [covered(c) for c in "abc"], 1),
        ({"min_available": "50%"}, [covered("a", owned=False)], 0),
        ({}, [covered("a")], 0),
        ({"min_available": 1}, [], 0),
        ({"min_available": 1, "disruptions_allowed": 7}, [], 7),  # what the snapshot says goes
    ],
)
def test_budgets_without_status_are_computed(bounds: dict[str, Any], pods: list[BoundPod], allowed: int) -> None:
    """pkg/controller/disruption/disruption.go, getExpectedPodCount and updatePdbStatus."""
    budget = DisruptionBudget("shop", "b", selecting(app="db"), **bounds)
    assert allowed_disruptions(budget, [*pods, bound("x", "n0", pod(app="web"))]) == allowed
