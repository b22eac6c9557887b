"""A limit of work that ends a count of levels leaves nothing half counted behind."""

from __future__ import annotations

from contextlib import suppress

import pytest

from kubesched_lint.engine.base import work
from kubesched_lint.engine.cluster.nodes.index import NodeIndex
from kubesched_lint.engine.cluster.state import ClusterState
from kubesched_lint.engine.model.labels import Requirement, Selector
from kubesched_lint.engine.model.nodes.node import HOSTNAME, Node
from kubesched_lint.engine.model.pod import Pod, PodAffinityTerm, WeightedPodAffinityTerm
from kubesched_lint.engine.scheduler.scores.inter_pod_affinity import InterPodAffinity
from kubesched_lint.engine.scheduler.scoring import Scoring


def test_levels_that_were_not_counted_to_the_end_are_counted_again() -> None:
    nodes = tuple(Node(f"n{i}", allocatable={"cpu": 4000 + i, "memory": 8 << 30, "pods": 110}) for i in range(40))
    state = ClusterState(NodeIndex(nodes))
    scoring = Scoring(Pod("default", {}, requests={"cpu": 100, "memory": 1 << 20}), state)
    with pytest.raises(work.OutOfWorkError), work.within(1):
        scoring.scores(state.index.all)
    assert scoring.scores(state.index.all).best


@pytest.mark.parametrize("limit", range(1, 600, 29))
def test_pods_that_were_met_before_a_limit_are_not_met_twice(limit: int) -> None:
    """The limit may end the search for terms that select the pod, in the midst of them."""

    def pod(app: str, *apps: str) -> Pod:
        selector = Selector((Requirement("app", "In", apps),))
        term = WeightedPodAffinityTerm(7, PodAffinityTerm(HOSTNAME, selector))
        return Pod("default", {"app": app}, preferred_affinity=(term,))

    state = ClusterState(NodeIndex(tuple(Node(f"n{i}", {HOSTNAME: f"n{i}"}) for i in range(6))))
    others = [f"b{i}" for i in range(30)]
    for number, name in enumerate(others):
        state.place(pod(name, "new", name), number % 4)
    new = pod("new", *others[:20])
    affinity = InterPodAffinity(new, state)
    with suppress(work.OutOfWorkError), work.within(limit):
        affinity.levels(state.index.all)
    assert affinity.levels(state.index.all) == InterPodAffinity(new, state).levels(state.index.all)
