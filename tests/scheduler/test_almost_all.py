"""What running pods do to a pod is what each of them does, also where terms select all pods but a few."""

from __future__ import annotations

from random import Random

import pytest
from msgspec.structs import replace

from kubesched_lint.engine.cluster.nodes.index import NodeIndex
from kubesched_lint.engine.cluster.nodeset import only, positions
from kubesched_lint.engine.cluster.pods.classes import signed
from kubesched_lint.engine.cluster.state import ClusterState
from kubesched_lint.engine.cluster.topology import sum_of
from kubesched_lint.engine.model.labels import Requirement, Selector
from kubesched_lint.engine.model.nodes.node import Node
from kubesched_lint.engine.model.pod import Pod, PodAffinityTerm, WeightedPodAffinityTerm
from kubesched_lint.engine.scheduler.plugins.inter_pod_affinity import selects_pod, unwelcoming_nodes
from kubesched_lint.engine.scheduler.scores.inter_pod_affinity import InterPodAffinity, normalised

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


def drawn_preferring_pod(dice: Random) -> Pod:
    def terms() -> tuple[WeightedPodAffinityTerm, ...]:
        return tuple(WeightedPodAffinityTerm(dice.choice([1, 7]), drawn_term(dice)) for _ in range(dice.randint(0, 2)))

    return replace(
        drawn_pod(dice), required_anti_affinity=(), preferred_affinity=terms(), preferred_anti_affinity=terms()
    )


def drawn_state(dice: Random) -> ClusterState:
    return ClusterState(
        NodeIndex([Node(f"n{i}", {"h": f"n{i}", **({"z": f"z{i % 3}"} if i else {})}) for i in range(7)])
    )


def change(state: ClusterState, pods: list[Pod], dice: Random) -> None:
    there = list(state.placements())
    if there and dice.random() < 0.25:
        state.remove(dice.choice(there))
    elif dice.random() < 0.2:
        state.undo(dice.randint(0, state.mark()))
    elif dice.random() < 0.2:
        state.place_many(dice.choice(pods), {dice.randrange(len(state.index)): dice.randint(1, 3) for _ in range(3)})
    else:
        state.place(dice.choice(pods), dice.randrange(len(state.index)))


@pytest.mark.parametrize("seed", range(30))
def test_pods_that_come_and_go_repel_what_each_of_them_repels(seed: int) -> None:
    dice = Random(seed)
    state, pods = drawn_state(dice), [drawn_pod(dice) for _ in range(25)]
    for _ in range(40):
        change(state, pods, dice)
        pod, expected = dice.choice(pods), 0
        for one in state.placements():
            for term in one.pod.required_anti_affinity:
                if selects_pod(term, one.pod.namespace, pod, state):
                    expected |= state.index.spanned(term.topology_key, only(one.position))
        assert unwelcoming_nodes(pod, state) == expected
        most = state.classes.index.all & ~(1 << dice.randrange(len(state.classes) + 1))
        summed = sum_of(one.tally for one in state.classes.members(most))
        assert state.classes.tally_of(most).planes == summed.planes
        assert state.classes.nodes_of(most) == summed.nodes


def points_one_by_one(pod: Pod, state: ClusterState) -> list[int]:
    points = [0] * len(state.index)
    for one in state.placements():
        pairs = [(pod, one.pod, weighted, sign) for weighted, sign in terms_of(pod)]
        pairs += [(one.pod, pod, weighted, sign) for weighted, sign in terms_of(one.pod)]
        for holder, other, weighted, sign in pairs:
            if selects_pod(weighted.term, holder.namespace, other, state):
                for position in positions(state.index.domain_of(weighted.term.topology_key, one.position)):
                    points[position] += sign * weighted.weight
    return points


def terms_of(pod: Pod) -> list[tuple[WeightedPodAffinityTerm, int]]:
    return list(signed(pod.preferred_affinity, pod.preferred_anti_affinity))


@pytest.mark.parametrize("seed", range(30))
def test_pods_that_come_and_go_score_as_each_of_them_does(seed: int) -> None:
    dice = Random(seed)
    state, pods = drawn_state(dice), [drawn_preferring_pod(dice) for _ in range(12)]
    scorers = [InterPodAffinity(pod, state) for pod in pods]
    for _ in range(40):
        change(state, pods, dice)
        number = dice.randrange(len(pods))
        expected: dict[int, int] = {}
        for position, points in enumerate(points_one_by_one(pods[number], state)):
            expected[points] = expected.get(points, 0) | only(position)
        found = scorers[number].levels(state.index.all)
        assert (found or {0: state.index.all}) == normalised(expected)
