"""Nodes that repel a pod are those found pod by pod, also where terms select all pods but a few."""

from __future__ import annotations

from random import Random

import pytest

from kubesched_lint.cluster.index import NodeIndex
from kubesched_lint.cluster.nodeset import only
from kubesched_lint.cluster.state import ClusterState
from kubesched_lint.cluster.topology import sum_of
from kubesched_lint.model.labels import Requirement, Selector
from kubesched_lint.model.node import Node
from kubesched_lint.model.pod import Pod, PodAffinityTerm
from kubesched_lint.scheduler.plugins.inter_pod_affinity import selects_pod, unwelcoming_nodes

KEYS, VALUES = "ab", "123"


def drawn_term(dice: Random) -> PodAffinityTerm:
    def requirement() -> Requirement:
        operator = dice.choice(["In", "NotIn", "NotIn", "Exists", "DoesNotExist"])
        values = tuple(dice.choices(VALUES, k=dice.randint(1, 2))) if operator.endswith("In") else ()
        return Requirement(dice.choice(KEYS), operator, values)

    selector = Selector(tuple(requirement() for _ in range(dice.randint(0, 2))))
    own = dice.choice([(), (), ("x",), ("x", "y")])
    return PodAffinityTerm(dice.choice("hz"), selector, namespaces=own)


def drawn_pod(dice: Random) -> Pod:
    labels = {key: dice.choice(VALUES) for key in KEYS if dice.random() < 0.7}
    terms = tuple(drawn_term(dice) for _ in range(dice.choice([0, 1, 1, 2])))
    return Pod(namespace=dice.choice("xy"), labels=labels, required_anti_affinity=terms)


@pytest.mark.parametrize("seed", range(40))
def test_pods_that_come_and_go_repel_what_each_of_them_repels(seed: int) -> None:
    dice = Random(seed)
    index = NodeIndex([Node(f"n{i}", {"h": f"n{i}", **({"z": f"z{i % 3}"} if i else {})}) for i in range(7)])
    state, pods = ClusterState(index), [drawn_pod(dice) for _ in range(25)]
    for _ in range(60):
        there = list(state.placements())
        if there and dice.random() < 0.2:
            state.remove(dice.choice(there))
        elif dice.random() < 0.5:
            state.place(dice.choice(pods), dice.randrange(len(index)))
        elif dice.random() < 0.2:
            state.undo(dice.randint(0, state.mark()))
        else:
            pod, expected = dice.choice(pods), 0
            for one in there:
                for term in one.pod.required_anti_affinity:
                    if selects_pod(term, one.pod.namespace, pod, state):
                        expected |= index.spanned(term.topology_key, only(one.position))
            assert unwelcoming_nodes(pod, state) == expected
            few = 1 << dice.randrange(len(state.classes) + 1)
            most = state.classes.everything & ~few
            summed = sum_of(one.tally for one in state.classes.members(most))
            assert state.classes.tally_of(most).planes == summed.planes
            assert state.classes.nodes_of(most) == summed.nodes
