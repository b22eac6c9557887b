"""An index of changed nodes, made from the one before, answers as one that is built from those nodes."""

from __future__ import annotations

from random import Random

import pytest
from msgspec.structs import replace

from kubesched_lint.engine.cluster.nodes.index import NodeIndex
from kubesched_lint.engine.model.labels import Requirement
from kubesched_lint.engine.model.nodes.node import HOSTNAME, ZONE, Node, Taint
from kubesched_lint.engine.model.pod import NodeSelectorTerm
from kubesched_lint.engine.scheduler.tolerance import CORDON

KEYS = (HOSTNAME, ZONE, "pool", "absent")
RESOURCES = ("cpu", "gpu", "absent")
TERMS = [
    NodeSelectorTerm(expressions=(Requirement("pool", "NotIn", ("p0",)),)),
    NodeSelectorTerm(fields=(Requirement("metadata.name", "In", ("n2",)),)),
]


def drawn(seed: int) -> tuple[Node, ...]:
    draw = Random(seed)
    return tuple(
        Node(
            f"n{i}",
            {HOSTNAME: f"n{i}", ZONE: draw.choice("abc"), **({"pool": f"p{draw.randrange(3)}"} if i % 3 else {})},
            taints=tuple(Taint(key, "", "NoSchedule") for key in "xy" if draw.random() < 0.3),
            unschedulable=draw.random() < 0.2,
            allocatable=draw.choice([None, {"cpu": 1000 * i}, {"cpu": 500, "gpu": 1}]),
        )
        for i in range(draw.randrange(1, 9))
    )


def answers(index: NodeIndex) -> list[object]:
    effects = frozenset(["NoSchedule"])
    return [
        index.names,
        index.positions,
        index.all,
        index.cordoned,
        index.unknown_resources,
        list(index.taints.items()),
        index.taint_keys,
        index.tainted(effects),
        [index.taints_of(key) for key in "xy"],
        [list(index.domains(key).items()) for key in KEYS],
        [(index.one_node_each(key), index.with_key(key)) for key in KEYS],
        [(index.stated(name), index.allocatable(name), index.by_devices(name)) for name in RESOURCES],
        [index.short_of("cpu", 600), index.offered],
        [index.matching_term(term) for term in TERMS],
    ]


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("asked_before", [True, False])
def test_an_index_of_changed_nodes_answers_as_a_new_one(seed: int, asked_before: bool) -> None:
    nodes = drawn(seed)
    index = NodeIndex(nodes, ["gpu"])
    if asked_before:
        answers(index)
    for position, node in enumerate(nodes):
        cordoned = replace(node, unschedulable=True, taints=(*node.taints, CORDON))
        changed = index.with_taints({position: cordoned})
        assert answers(changed) == answers(NodeIndex(changed.nodes, ["gpu"]))
        assert changed.nodes == (*nodes[:position], cordoned, *nodes[position + 1 :])
    assert answers(index) == answers(NodeIndex(nodes, ["gpu"]))
