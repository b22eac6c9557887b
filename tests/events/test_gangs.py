"""Pod groups: recorded ones, and small ones against every course of a plain scheduler."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest

from kubesched_lint.commands.verify.agreement import Agreement
from kubesched_lint.commands.verify.gangs import verify_gang
from kubesched_lint.commands.verify.recordings import kind_of, read_cases
from kubesched_lint.engine.cluster.state import ClusterState
from kubesched_lint.engine.events.transitions.gangs import orders, outcomes
from kubesched_lint.engine.model.feature_gates import GANGS, GROUPS, PREEMPTION, TOPOLOGY
from kubesched_lint.engine.model.nodes.node import ZONE
from kubesched_lint.engine.model.pod import BoundPod, PodAffinityTerm
from kubesched_lint.engine.model.policy import PodGroup
from kubesched_lint.engine.scheduler.pod_groups.pod_groups import NOWHERE, SHORT
from tests.events.plain_gangs import seen_counts
from tests.scheduler.small import bound, node, pod, selecting, state

RECORDED = Path(__file__).parents[2] / "fixtures" / "conformance" / "gangs.jsonl.gz"
ON = (GROUPS, GANGS, TOPOLOGY)
CASES = list(read_cases(str(RECORDED)))


def account_of(cases: Sequence[dict[str, Any]]) -> Agreement:
    account = Agreement("gangs")
    for case in cases:
        assert kind_of(case) == "gangs"
        for _ in verify_gang(case, account):
            pass
    return account


def room(cpu: int, pods: int = 10) -> dict[str, int]:
    return {"cpu": cpu, "memory": 1 << 33, "pods": pods}


def gang(least: int | None = None, key: str = "") -> PodGroup:
    return PodGroup("shop", "g", least, topology_key=key, is_constrained=bool(key))


def waiting(*cpus: int, **fields: Any) -> list[BoundPod]:
    return [bound(f"p{i}", "", pod(requests={"cpu": cpu}, group="g", **fields)) for i, cpu in enumerate(cpus)]


def counts(group: PodGroup, pods: Sequence[BoundPod], where: ClusterState, **more: Any) -> tuple[int, int]:
    found = outcomes(group, pods, where, ON, **more)
    return found.least, found.most


def test_every_recorded_group_agrees() -> None:
    account = account_of(CASES)
    assert [d for d in account.disagreements if not d.explained] == []
    assert account.questions["pods bound, inside the range"].agreed > 75
    assert account.questions["message"].agreed > 110


def test_a_pod_that_the_scheduler_still_counted_needs_evidence() -> None:
    """Without the record whose message names it, the difference stays open."""
    alone = [case for case in CASES if case["id"] == "gang1020-g0"]
    assert account_of(alone).open > 0
    assert account_of([case for case in CASES if case["id"] == "gang1002-g0"] + alone).open == 0


def test_predictions_do_not_read_the_answers() -> None:
    for case in CASES:
        (with_answers,) = verify_gang(case, Agreement("gangs"))
        (without,) = verify_gang({key: value for key, value in case.items() if key != "runs"}, Agreement("gangs"))
        assert with_answers == without


def test_recordings_would_notice_other_rules() -> None:
    """All or nothing, one domain, and the order of the pods each decide some record."""
    off = [{**case, "gates": [gate for gate in case["gates"] if gate != dropped]} for dropped in ON for case in CASES]
    assert account_of(off[len(CASES) : 2 * len(CASES)]).open > 0
    assert account_of(off[2 * len(CASES) :]).open > 0


def test_all_or_nothing() -> None:
    where = state([node("n0", allocatable=room(2000))])
    found = outcomes(gang(3), waiting(1000, 1000, 1000), where, ON)
    assert (found.least, found.most) == (0, 0)
    assert SHORT in {text for rest in found.rests for _, text in rest.messages}
    assert counts(gang(2), waiting(1000, 1000, 1000), where) == (2, 2)
    assert counts(gang(), waiting(1000, 1000, 1000), where) == (2, 2)


def test_a_gang_waits_for_its_pods_without_a_message() -> None:
    found = outcomes(gang(3), waiting(100, 100), state([node("n0")]), ON)
    assert found.most == 0
    assert found.rests[0].messages == (("p0", ""), ("p1", ""))


def test_bound_members_count() -> None:
    there = bound("old", "n0", pod(group="g"))
    assert counts(gang(3), waiting(100, 100), state([node("n0")], there), members=[there]) == (2, 2)


def test_one_domain() -> None:
    nodes = [node("n0", "a", allocatable=room(1000)), node("n1", "b", allocatable=room(1000))]
    assert counts(gang(2), waiting(1000, 1000), state(nodes)) == (2, 2)
    assert counts(gang(2, ZONE), waiting(1000, 1000), state(nodes)) == (0, 0)
    there = bound("old", "n1", pod(requests={"cpu": 500}, group="g"))
    assert counts(gang(1, ZONE), waiting(1000), state(nodes, there), members=[there]) == (0, 0)
    found = outcomes(gang(1, "rack"), waiting(100), state(nodes), ON)
    assert found.rests[0].messages == (("p0", NOWHERE),)


def test_the_pod_that_completes_the_quorum_is_tried_first() -> None:
    pods = waiting(100, 200, 300, 400)
    kinds = {b.name: i for i, b in enumerate(pods)}
    found = {tuple(b.name for b in order) for order in orders(pods, 3, lambda b: kinds[b.name])}
    assert found == {("p2", "p0", "p1", "p3"), ("p2", "p1", "p0", "p3")}
    urgent = [pods[0], with_priority(pods[1], 5), *pods[2:]]
    assert [b.name for b in next(orders(urgent, 3, lambda b: kinds[b.name]))] == ["p1", "p2", "p0", "p3"]


def with_priority(of: BoundPod, priority: int) -> BoundPod:
    return bound(of.name, "", pod(requests=dict(of.pod.requests), group="g", priority=priority))


def test_equal_pods_have_one_order() -> None:
    many = waiting(*[100] * 40)
    assert len(list(orders(many, 40, lambda b: 0))) == 1


def test_a_search_that_is_cut_claims_nothing() -> None:
    found = outcomes(gang(3), waiting(100, 200, 300), state([node("n0"), node("n1")]), ON, steps=50)
    assert found.is_cut
    assert (found.least, found.most) == (0, 3)


def test_a_search_pays_for_each_placement() -> None:
    """A step is about a microsecond: 20 different nodes and 2 pods make 400 ends, and each takes many steps."""
    nodes = [node(f"n{i}", images={f"i{i}": 1}) for i in range(20)]
    assert outcomes(gang(2), waiting(100, 200), state(nodes), ON, steps=10_000).is_cut
    assert not outcomes(gang(2), waiting(100, 200), state(nodes), ON, steps=100_000).is_cut


def test_equal_nodes_are_one_choice() -> None:
    """Else 40 nodes and 6 pods of three sizes make 40^6 courses."""
    nodes = [node(f"n{i}", allocatable=room(4000)) for i in range(40)]
    found = outcomes(gang(6), waiting(1000, 1000, 2000, 2000, 3000, 4000), state(nodes), ON, steps=1_000_000)
    assert (found.least, found.most, found.is_cut) == (6, 6, False)


def _drawn(random: Random) -> tuple[PodGroup, list[BoundPod], ClusterState]:
    """Nodes of which some are equal, apart from their zones, with pods that look at each other or at labels."""
    zones = [random.choice("ab") for _ in range(4)]
    nodes = [
        node(
            f"n{i}",
            labels={ZONE: zone, "disk": random.choice(["ssd", "hdd"])},
            allocatable=room(random.choice([2000, 3000])),
        )
        for i, zone in enumerate(zones)
    ]
    term = PodAffinityTerm(random.choice([ZONE, "kubernetes.io/hostname"]), selecting(app="web"))
    looks = random.choice([{}, {"required_anti_affinity": (term,)}, {"node_selector": {"disk": "ssd"}}])
    cpus = [random.choice([1000, 2000]) for _ in range(3)]
    pods = [bound(f"p{i}", "", pod(requests={"cpu": cpu}, group="g", **looks)) for i, cpu in enumerate(cpus)]
    resident = bound("r", "n0", pod(requests={"cpu": 1000}, labels={"app": random.choice(["web", "db"])}))
    least, key = random.choice([2, 3]), random.choice(["", "", ZONE])
    return gang(least, key), pods, state(nodes, *random.choice([[], [resident]]))


@pytest.mark.parametrize("seed", range(40))
def test_swapping_equal_nodes_changes_no_outcome(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    group, pods, where = _drawn(Random(seed))
    ours = outcomes(group, pods, where, ON, any_order=True)
    monkeypatch.setattr("kubesched_lint.engine.events.transitions.gangs.equal_nodes", lambda *_: None)
    plain = outcomes(group, pods, where, ON, any_order=True)
    assert (ours.least, ours.most) == (plain.least, plain.most)
    assert {rest.messages for rest in ours.rests} == {rest.messages for rest in plain.rests}


def test_a_gang_evicts_pods_of_lower_priority() -> None:
    low = bound("low", "n0", pod(requests={"cpu": 2000}, priority=0))
    where = state([node("n0", allocatable=room(2000))], low)
    assert counts(gang(2), waiting(1000, 1000, priority=9), where) == (2, 2)
    assert counts(gang(2), waiting(1000, 1000), where) == (0, 0)
    assert [p.bound for p in where.placements()] == [low]


def test_preemption_by_the_whole_group_is_not_followed() -> None:
    """The group may then evict pods that none of its pods could: the answer claims nothing."""
    low = bound("low", "n0", pod(requests={"cpu": 2000}, priority=0))
    where = state([node("n0", allocatable=room(2000))], low)
    found = outcomes(gang(2), waiting(1000, 1000, priority=9), where, (*ON, PREEMPTION))
    assert (found.least, found.most, found.is_cut) == (0, 2, True)
    empty = state([node("n0", allocatable=room(2000))])
    assert not outcomes(gang(2), waiting(1000, 1000), empty, (*ON, PREEMPTION)).is_cut


APART = PodAffinityTerm("kubernetes.io/hostname", selecting(app="web"))


def made(random: Random) -> tuple[PodGroup, list[BoundPod], ClusterState]:
    nodes = [
        node(f"n{i}", random.choice("ab"), allocatable=room(random.choice([1000, 2000, 3000]), random.choice([2, 9])))
        for i in range(random.randint(1, 4))
    ]
    running = [
        bound(f"b{i}", random.choice(nodes).name, pod(requests={"cpu": 500})) for i in range(random.randint(0, 2))
    ]
    fields: dict[str, Any] = {"required_anti_affinity": (APART,)} if random.random() < 0.3 else {}
    cpus = [random.choice([500, 1000, 1000, 1500]) for _ in range(random.randint(1, 4))]
    group = gang(random.choice([None, 1, 2, 3]), random.choice(["", "", ZONE]))
    return group, waiting(*cpus, **fields), state(nodes, *running)


@pytest.mark.parametrize("seed", range(24))
def test_the_outcomes_are_those_of_a_plain_scheduler(seed: int) -> None:
    group, pods, where = made(Random(seed))
    found = outcomes(group, pods, where, ON)
    wide = found.least < found.most
    assert seen_counts(group, pods, where, rounds=200 if wide else 10) == {len(rest.on) for rest in found.rests}
