"""``runs-only-by-eviction`` names whom the pods drive out, and speaks only where no trial does without."""

from __future__ import annotations

import pytest

from kubesched_lint import lint
from tests.events.simulated import asking, other, sketch, workload
from tests.events.test_guests import guest

HIGH = other("PriorityClass", "high", "scheduling.k8s.io/v1", value=1000)
RULE = "runs-only-by-eviction"


def said(*guests, nodes: int = 1, **spec) -> list[str]:
    web = workload("Deployment", "web", 1, asking("3", **{"priorityClassName": "high", **spec}))
    cluster = sketch(nodes, "a", "4", "110", *guests)
    found = lint(objects=[HIGH, web], cluster=cluster, select=[RULE]).findings
    assert all(f.severity.word == "warning" for f in found)
    return [f.message for f in found]


START = "Deployment default/web (priority 1000) runs only by evicting"


def test_whom_it_drives_out_is_named_by_the_owner():
    bare, owned = guest("old", "w"), guest("old-1", "w", owner="ReplicaSet old")
    assert said(bare) == [f"{START} 1 running pod: Pod default/old, which no controller recreates"]
    assert said(owned) == [f"{START} 1 running pod: 1 of ReplicaSet default/old"]
    three = [guest(f"old-{n}", "w", "1", owner="ReplicaSet old") for n in range(3)]
    assert said(*three) == [f"{START} 2 running pods: 2 of ReplicaSet default/old"]


@pytest.mark.parametrize(
    ("guests", "nodes", "spec"),
    [
        ((guest("old", "w-a-1"),), 2, {}),
        ((guest("old", "w", priority=1000),), 1, {}),
        ((guest("old", "w", "1"),), 1, {}),
        ((guest("old", "w"),), 1, {"schedulingGates": [{"name": "wait"}]}),
    ],
    ids=["another node", "as important", "room for both", "never scheduled"],
)
def test_nobody_is_named_where_nobody_has_to_go(guests, nodes, spec):
    assert said(*guests, nodes=nodes, **spec) == []
