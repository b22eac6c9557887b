"""What one sync of each controller does, as the v1.36 sources say."""

from __future__ import annotations

from random import Random

import pytest

from kubesched_lint.engine.cluster.nodeset import positions
from kubesched_lint.engine.controllers import daemonset, deployment, replicaset, statefulset
from kubesched_lint.engine.controllers.bounds import allowed_disruptions, daemon_bounds, rolling_bounds, scaled
from kubesched_lint.engine.controllers.daemonset import OnNode
from kubesched_lint.engine.controllers.deployment import ReplicaSetSize as Size
from kubesched_lint.engine.controllers.statefulset import OrdinalPod, StatefulSetSync
from kubesched_lint.engine.model.policy import DisruptionBudget
from kubesched_lint.engine.model.workloads.workload import Strategy, Workload
from tests.scheduler.small import pod

QUARTER = Strategy(max_surge="25%", max_unavailable="25%")
SURGE = Strategy(max_surge=1, max_unavailable=0)
IN_PLACE = Strategy(max_surge=0, max_unavailable=1)


# deployment/util/deployment_util.go, ResolveFenceposts
@pytest.mark.parametrize(
    ("strategy", "replicas", "resolved"),
    [
        (QUARTER, 3, (1, 0)),
        (QUARTER, 4, (1, 1)),
        (QUARTER, 8, (2, 2)),
        (Strategy(max_surge="0%", max_unavailable="10%"), 3, (0, 1)),
    ],
)
def test_surge_rounds_up_and_unavailable_down_and_both_zero_is_one_unavailable(strategy, replicas, resolved):
    assert rolling_bounds(strategy, replicas) == resolved


# daemon/util/daemonset_util.go, SurgeCount and UnavailableCount
def test_both_percentages_of_a_daemonset_round_up():
    assert daemon_bounds(Strategy(max_surge="10%", max_unavailable="10%"), 3) == (1, 1)
    assert daemon_bounds(Strategy(max_surge=0, max_unavailable=0), 3) == (0, 1)
    assert scaled("nonsense", 10, up=True) == 0


# deployment/rolling.go
@pytest.mark.parametrize(
    ("strategy", "sets", "sizes"),
    [
        (SURGE, [], {1: 3}),
        (SURGE, [Size(0, 3, 3)], {1: 1}),
        (SURGE, [Size(0, 3, 3), Size(1, 1, 0)], {}),  # stuck: the new pod waits, no old one may go
        (SURGE, [Size(0, 3, 3), Size(1, 1, 1)], {0: 2}),
        (IN_PLACE, [Size(0, 3, 3)], {0: 2}),
        (SURGE, [Size(0, 3, 2)], {1: 1}),
        (SURGE, [Size(0, 3, 2), Size(1, 1, 0)], {}),
        (SURGE, [Size(0, 3, 2), Size(1, 1, 1)], {0: 2}),  # the unhealthy old pod, and no other
        (QUARTER, [Size(1, 3, 3)], {}),
        (SURGE, [Size(1, 5, 5)], {1: 3}),
        (Strategy("Recreate"), [Size(0, 3, 3)], {0: 0}),
        (Strategy("Recreate"), [Size(1, 1, 0)], {1: 3}),
    ],
)
def test_a_sync_of_a_deployment_of_three_scales_up_within_surge_and_else_down_within_unavailable(strategy, sets, sizes):
    assert deployment.sync(strategy, 3, 1, sets) == sizes


def test_unhealthy_pods_of_the_oldest_revision_are_cleaned_up_first():
    # 5 pods, at least 2 available, 1 new one that is not: 2 may go, and both that wait are of revision 0.
    assert deployment.sync(IN_PLACE, 3, 2, [Size(0, 2, 0), Size(1, 2, 2), Size(2, 1, 0)]) == {0: 0}


# deployment/sync.go, scale
def test_scaling_amid_a_rollout_keeps_the_proportions():
    # 10 replicas, surge 3: 8 old and 5 new pods; to 15 with surge 4 adds 6 pods, 4 and 2.
    strategy = Strategy(max_surge="25%", max_unavailable="25%")
    assert deployment.rescale(strategy, 10, 15, 1, [Size(0, 8, 8), Size(1, 5, 3)]) == {0: 12, 1: 7}
    assert deployment.rescale(strategy, 10, 0, 1, [Size(0, 8, 8), Size(1, 5, 3)]) == {0: 0, 1: 0}
    assert deployment.rescale(strategy, 4, 2, 0, [Size(0, 4, 4)]) == {0: 2}


# controller_utils.go, ActivePodsWithRanks
def test_waiting_pods_go_first_then_those_with_most_siblings_by_ranks_that_do_not_change():
    assert list(replicaset.victims(2, [(0, 3, 3)], 1, replicaset.draws)) == [(1, ())]
    assert list(replicaset.victims(0, [(0, 1, 1), (1, 3, 3)], 2, replicaset.draws)) == [(0, ((1, 2),))]
    drawn = {victims for _, victims in replicaset.victims(0, [(0, 3, 3), (1, 3, 3), (2, 3, 3)], 5, replicaset.draws)}
    assert ((0, 1), (1, 3), (2, 1)) in drawn, "3/3/3 scaled to 4 was seen to give 2/0/2"


# statefulset/stateful_set_control.go
@pytest.mark.parametrize(
    ("members", "ordered", "action"),
    [
        ({}, True, StatefulSetSync(create=(0,))),
        ({}, False, StatefulSetSync(create=(0, 1, 2))),
        ({0: OrdinalPod(1, False)}, True, StatefulSetSync()),
        (
            {0: OrdinalPod(0, False), 1: OrdinalPod(0, True), 2: OrdinalPod(0, True)},
            True,
            StatefulSetSync(),
        ),  # the stuck rule
        ({i: OrdinalPod(0, True) for i in range(3)}, True, StatefulSetSync(delete=(2,))),
        (
            {0: OrdinalPod(0, True), 1: OrdinalPod(0, True), 2: OrdinalPod(1, False)},
            False,
            StatefulSetSync(),
        ),
        (
            {0: OrdinalPod(0, True), 1: OrdinalPod(0, True), 2: OrdinalPod(0, False)},
            False,
            StatefulSetSync(delete=(2,)),
        ),
        ({i: OrdinalPod(1, True) for i in range(5)}, True, StatefulSetSync(delete=(4,))),
        ({i: OrdinalPod(1, True) for i in range(5)}, False, StatefulSetSync(delete=(4, 3))),
    ],
)
def test_a_statefulset_of_three_creates_upwards_and_deletes_downwards(members, ordered, action):
    assert statefulset.sync(members, 3, 1, ordered=ordered) == action


def test_ordinals_below_the_partition_keep_their_revision():
    members = {i: OrdinalPod(0, True) for i in range(3)}
    assert statefulset.sync(members, 3, 1, ordered=True, partition=3) == StatefulSetSync()


def pods(old: str) -> dict[int, OrdinalPod]:
    """One letter each: a new pod (n), an old one (o); in capitals if it is not ready."""
    return {i: OrdinalPod(int(one in "nN"), one.islower()) for i, one in enumerate(old)}


@pytest.mark.parametrize(
    ("version", "parallel", "members", "at_once", "gone"),
    [
        ("1.37", False, "ooooo", 2, (4, 3)),
        ("1.37", False, "ooooo", None, (4,)),
        ("1.37", False, "ooooo", "50%", (4, 3)),  # rounded down
        ("1.37", False, "ooooo", "10%", (4,)),  # and at least one
        ("1.37", False, "oonnn", 3, (1, 0)),
        ("1.37", False, "nnnnn", 3, ()),
        ("1.37", True, "oooon", 2, (3, 2)),
        ("1.37", True, "ooooN", 2, (3,)),
        ("1.37", True, "oooNN", 2, ()),
        ("1.37", True, "OoooN", 2, (0,)),  # an old pod that is not ready goes, although the budget is used up
        ("1.37", True, "OoooN", 3, (0, 3)),
        ("1.37", True, "OOOOO", 1, (4, 3, 2, 1, 0)),
        ("1.35.3", True, "OoooN", 2, ()),
        ("1.35.3", True, "Ooooo", 2, (4,)),
        ("1.35.3", False, "ooooo", 2, (4, 3)),
    ],
)
def test_a_statefulset_updates_as_many_pods_as_may_be_unavailable(version, parallel, members, at_once, gone):
    """updateStatefulSetAfterInvariantEstablished with the gate on; kubernetes#137666 for Parallel in 1.37."""
    policy = "Parallel" if parallel else "OrderedReady"
    web = Workload("StatefulSet", "d", "web", pod(), pod_management=policy, strategy=Strategy(max_unavailable=at_once))
    limits = statefulset.budget(web, 5, version)
    assert statefulset.sync(pods(members), 5, 1, ordered=not parallel, budget=limits).update == gone


@pytest.mark.parametrize("version", ["1.34", "1.35", "1.35.4", "1.36.9"])
def test_the_gate_of_max_unavailable_is_off_elsewhere(version):
    web = Workload("StatefulSet", "d", "web", pod(), strategy=Strategy(max_unavailable=2))
    assert statefulset.budget(web, 5, version) is None


def test_an_update_leaves_the_ordinals_below_the_partition():
    assert statefulset.updated(statefulset.Budget(9, broken_first=True), range(5), {0}, 3) == (4, 3)


# daemon/update.go
def test_a_daemonset_without_surge_replaces_waiting_old_pods_at_once_and_others_as_far_as_allowed():
    nodes = {OnNode(old=1): 0b011, OnNode(old_waiting=1): 0b100}
    sure, candidates, most = daemonset.update(nodes, 0b111, Strategy(max_surge=0, max_unavailable=1))
    assert sure.delete == ((2, "old"),)
    assert candidates == 0b011
    assert most == 0, "the waiting pod counts as the one that may be unavailable"
    assert daemonset.update(nodes, 0b111, Strategy(max_surge=0, max_unavailable=2))[2] == 1


def test_a_surging_daemonset_creates_beside_and_deletes_when_the_new_pod_runs():
    nodes = {OnNode(old=1): 0b001, OnNode(old=1, new=1): 0b010, OnNode(old=1, new_waiting=1): 0b100}
    sure, candidates, most = daemonset.update(nodes, 0b111, Strategy(max_surge=2, max_unavailable=0))
    assert sure.delete == ((1, "old"),)
    assert candidates == 0b001
    assert most == 1


@pytest.mark.parametrize("surge", [0, 2])
@pytest.mark.parametrize("seed", range(30))
def test_a_daemonset_of_many_nodes_is_told_by_kinds_as_node_by_node(surge, seed):
    draw = Random(seed)
    pods = [OnNode(*(draw.randrange(2) for _ in range(4))) for _ in range(20)]
    run = draw.getrandbits(20)
    stay = run | draw.getrandbits(20)
    strategy = Strategy(max_surge=surge, max_unavailable=0 if surge else 3)
    kinds: dict[OnNode, int] = {}
    for p, here in enumerate(pods):
        if run >> p & 1 or any(here):
            kinds[here] = kinds.get(here, 0) | 1 << p
    wanted = {p: here for p, here in enumerate(pods) if run >> p & 1 or any(here)}

    managed = daemonset.manage(kinds, run, stay, strategy)
    assert list(managed.create) == [p for p, here in wanted.items() if run >> p & 1 and not any(here)]
    gone = {p: "all" for p, here in wanted.items() if not stay >> p & 1 and any(here)}
    for p, (old, old_waiting, new, new_waiting) in wanted.items():
        if surge and stay >> p & 1 and (old or old_waiting) and (new or new_waiting) and (not old or new):
            gone[p] = "old"
    assert dict(managed.delete) == gone
    assert list(managed.delete) == sorted(managed.delete)

    many = {p for p, here in wanted.items() if here.old + here.old_waiting > 1 or here.new + here.new_waiting > 1}
    both = {p for p, here in wanted.items() if here.some_old and here.some_new and not surge}
    assert set(positions(daemonset.excess(kinds, stay, strategy))) == {p for p in many | both if stay >> p & 1}

    sure, candidates, _ = daemonset.update(kinds, run, strategy)
    wanted = {p: here for p, here in wanted.items() if p not in many}  # findUpdatedPodsOnNode: not ok
    only_old = [p for p, here in wanted.items() if here.old and not (here.new or here.new_waiting)]
    assert list(positions(candidates)) == [p for p in only_old if not surge or run >> p & 1]
    alone = [p for p, here in wanted.items() if here.some_old and not here.some_new and not here.old]
    if surge:
        assert list(sure.create) == [p for p in alone if run >> p & 1]
    else:
        assert list(sure.delete) == [(p, "old") for p in alone]


def test_nodes_with_too_many_pods_count_as_unavailable_until_the_manage_loop_has_cleaned_up():
    nodes = {OnNode(old=2): 0b001, OnNode(old=1): 0b110}
    assert daemonset.excess(nodes, 0b111, Strategy(max_surge=0, max_unavailable=1)) == 0b001
    assert daemonset.update(nodes, 0b111, Strategy(max_surge=0, max_unavailable=1))[1:] == (0b110, 0)
    assert daemonset.update(nodes, 0b111, Strategy(max_surge=0, max_unavailable=2))[1:] == (0b110, 1)
    assert daemonset.update(nodes, 0b111, Strategy(max_surge=2, max_unavailable=0))[1:] == (0b110, 1)


# disruption/disruption.go
@pytest.mark.parametrize(
    ("budget", "expected", "healthy", "allowed"),
    [
        ({"max_unavailable": 1}, 3, 3, 1),
        ({"max_unavailable": 1}, 3, 2, 0),
        ({"max_unavailable": 0}, 3, 3, 0),
        ({"min_available": 2}, 3, 3, 1),
        ({"min_available": "50%"}, 3, 3, 1),
        ({"min_available": "100%"}, 3, 3, 0),
        ({"max_unavailable": 1}, 0, 0, 0),
    ],
)
def test_a_budget_allows_what_is_healthy_beyond_what_it_desires(budget, expected, healthy, allowed):
    assert allowed_disruptions(DisruptionBudget("default", "b", **budget), expected, healthy) == allowed
