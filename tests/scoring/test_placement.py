"""Replicas go where the scheduler could put them, one after another."""

from __future__ import annotations

from random import Random

import pytest
from msgspec.structs import replace

from kubesched_lint.engine.cluster.nodes.index import NodeIndex
from kubesched_lint.engine.cluster.nodeset import first, of
from kubesched_lint.engine.cluster.state import ClusterState
from kubesched_lint.engine.model.labels import Requirement, Selector
from kubesched_lint.engine.model.nodes.node import HOSTNAME, ZONE, Node
from kubesched_lint.engine.model.pod import Container, NodeSelectorTerm, Pod, PodAffinityTerm, SpreadConstraint
from kubesched_lint.engine.placing.placing import Copies, Placing
from kubesched_lint.engine.scheduler.binding import bind
from kubesched_lint.engine.scheduler.framework import diagnose
from kubesched_lint.engine.scheduler.placement import Placer, in_turn, nodes_to_find
from kubesched_lint.engine.scheduler.scoring import score

GI = 1 << 30
WEB = Selector((Requirement("app", "In", ("web",)),))


def nodes(count, zones=3, cpu=4000):
    return [
        Node(
            f"n{i}",
            {HOSTNAME: f"n{i}", ZONE: f"z{i % zones}"},
            allocatable={"cpu": cpu, "memory": 16 * GI, "pods": 110},
        )
        for i in range(count)
    ]


def web(**more):
    asked = {"cpu": 500, "memory": GI}
    return replace(Pod("shop", {"app": "web"}, containers=(Container("c", asked),), requests=asked), **more)


def placed_on(state, pod, most, seed=0):
    return list(Placing([Copies(pod, None, most)], state, seed=seed).run().placed)


def test_how_many_nodes_are_scored_follows_the_size_of_the_cluster():
    # numFeasibleNodesToFind: all below 100; then 50 % less one for every 125 nodes, at least 5 %, at least 100 nodes.
    sizes = {5: 5, 99: 99, 100: 100, 150: 100, 250: 120, 1000: 420, 5000: 500, 6000: 300, 10000: 500}
    assert {size: nodes_to_find(size) for size in sizes} == sizes


def test_replicas_fill_up_the_cluster_and_no_more():
    state = ClusterState(NodeIndex(nodes(3)))
    placed = placed_on(state, web(), 100)
    assert len(placed) == 24  # eight of 500m on each of three nodes
    assert Placer(web(), state).choose() is None
    assert [state.pod_count(i) for i in range(3)] == [8, 8, 8]


def test_each_replica_takes_one_of_the_best_nodes_of_its_moment():
    state = ClusterState(NodeIndex(nodes(5)))
    placer = Placer(web(spread=(SpreadConstraint(1, ZONE, "ScheduleAnyway", WEB),)), state, seed=3)
    for _ in range(20):
        options = placer.options()
        assert options == score(placer.pod, state, diagnose(placer.pod, state).feasible).best
        position = placer.choose()
        assert position is not None
        assert options >> position & 1
        bind(placer.pod, position, state)


def test_equal_seeds_draw_alike_and_other_seeds_reach_other_ends():
    def ends(seed):
        state = ClusterState(NodeIndex(nodes(6)))
        return tuple(p.position for p in placed_on(state, web(), 6, seed))

    assert ends(1) == ends(1)
    assert len({ends(seed) for seed in range(5)}) > 1


def test_every_feasible_node_is_an_option_where_more_fit_than_are_scored():
    for count, expected in ((99, 98), (100, 99), (250, 249)):
        state = ClusterState(NodeIndex(nodes(count)))
        state.place(web(), 0)
        placer = Placer(web(), state)
        # 99 and 100 nodes are all scored, so the used one loses; of 250 only 120 are.
        assert placer.options().bit_count() == (expected if count <= 100 else count)


def test_a_sample_is_scored_where_there_are_more_nodes_than_the_scheduler_looks_for():
    state = ClusterState(NodeIndex([*nodes(240), *nodes(10, cpu=64000)]))
    chosen = {Placer(web(), state, seed=seed).choose() for seed in range(40)}
    # The ten big nodes are best; a sample of 120 of 250 from a random start holds them about half of the time.
    assert any(position >= 240 for position in chosen)
    assert any(position < 240 for position in chosen)


def test_nodes_that_a_prefilter_left_out_do_not_make_the_cluster_large():
    # findNodesThatFitPod goes through the named nodes only, so that of 120 it scores 100, and of 90 all.
    for named, expected in ((120, 120), (90, 89)):
        terms = tuple(NodeSelectorTerm(fields=(Requirement("metadata.name", "In", (f"n{i}",)),)) for i in range(named))
        state = ClusterState(NodeIndex(nodes(300)))
        state.place(web(), 0)
        assert Placer(web(required_node_terms=terms), state).options().bit_count() == expected


@pytest.mark.parametrize(
    ("members", "start", "most", "expected"),
    [
        ({0, 2, 5, 9}, 0, 2, {0, 2}),
        ({0, 2, 5, 9}, 3, 2, {5, 9}),
        ({0, 2, 5, 9}, 6, 3, {9, 0, 2}),
        ({0, 2, 5, 9}, 6, 9, {0, 2, 5, 9}),
        ({4}, 4, 1, {4}),
        (set(), 4, 1, set()),
    ],
)
def test_a_sample_goes_round_from_its_start(members, start, most, expected):
    assert in_turn(of(members), start, most) == of(expected)


def test_a_sample_is_what_counting_node_by_node_finds():
    random = Random(5)
    for _ in range(300):
        width = random.randrange(1, 200)
        members = random.getrandbits(width)
        start, most = random.randrange(width), random.randrange(1, width + 1)
        order = [(start + i) % width for i in range(width)]
        assert in_turn(members, start, most) == of([i for i in order if members >> i & 1][:most])


def test_other_pods_may_come_and_go_between_two_replicas():
    state = ClusterState(NodeIndex(nodes(4)))
    placer = Placer(web(), state)
    assert placer.options() == first(4)
    mark = state.mark()
    state.place(web(), 0)
    held = state.place(web(), 1)
    assert placer.options() == 0b1100
    state.remove(held)
    assert placer.options() == 0b1110
    state.undo(mark)
    assert placer.options() == first(4)


def test_self_anti_affinity_bounds_the_copies_by_the_domains():
    state = ClusterState(NodeIndex(nodes(9)))
    apart = web(required_anti_affinity=(PodAffinityTerm(ZONE, WEB),))
    assert len(placed_on(state, apart, 9)) == 3


def test_a_named_copy_is_bound_under_its_name():
    state = ClusterState(NodeIndex(nodes(2)))
    (placement,) = Placing([Copies(web(), None, 1, name="web-0")], state).run().placed
    assert placement.bound is not None
    assert (placement.bound.name, placement.bound.node) == ("web-0", f"n{placement.position}")
