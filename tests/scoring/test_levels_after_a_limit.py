"""A limit of work that ends a count of levels leaves nothing half counted behind."""

from __future__ import annotations

import pytest

from kubesched_lint import work
from kubesched_lint.cluster.index import NodeIndex
from kubesched_lint.cluster.state import ClusterState
from kubesched_lint.model.node import Node
from kubesched_lint.model.pod import Pod
from kubesched_lint.scheduler.scoring import Scoring


def test_levels_that_were_not_counted_to_the_end_are_counted_again() -> None:
    nodes = tuple(Node(f"n{i}", allocatable={"cpu": 4000 + i, "memory": 8 << 30, "pods": 110}) for i in range(40))
    state = ClusterState(NodeIndex(nodes))
    scoring = Scoring(Pod("default", {}, requests={"cpu": 100, "memory": 1 << 20}), state)
    with pytest.raises(work.OutOfWorkError), work.within(1):
        scoring.scores(state.index.all)
    assert scoring.scores(state.index.all).best
