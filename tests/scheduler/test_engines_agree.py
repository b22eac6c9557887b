"""The bitset engine and the plain one agree on every cluster that is drawn."""

from __future__ import annotations

from random import Random

from hypothesis import HealthCheck, settings

from kubesched_lint.engine.cluster.nodes.index import NodeIndex
from kubesched_lint.engine.cluster.state import ClusterState
from kubesched_lint.engine.model.inventory import Inventory
from kubesched_lint.engine.model.node import HOSTNAME
from kubesched_lint.engine.model.pod import PodAffinityTerm, SpreadConstraint
from kubesched_lint.engine.scheduler.framework import (
    Diagnosis,
    diagnose,
    filter_node,
    message,
    static_feasible,
)
from kubesched_lint.engine.scheduler.preemption import preempt
from tests import drawn as st
from tests.drawn import given
from tests.scheduler import plain_engine, plain_preemption
from tests.scheduler.made_clusters import NAMESPACES, Made, clusters, crowded, pods
from tests.scheduler.small import bound, node, pod, selecting, state
from tests.share import examples

# EXAMPLES=3000 pytest tests/scheduler/test_engines_agree.py looks longer.
thorough = settings(max_examples=examples(100), deadline=None, suppress_health_check=[HealthCheck.too_slow])


def state_of(made: Made) -> ClusterState:
    return ClusterState(
        NodeIndex(made.nodes),
        Inventory(
            pods=made.pods,
            namespaces=made.namespaces,
            claims=made.claims,
            volumes=made.volumes,
            storage_classes=made.classes,
            budgets=made.budgets,
        ),
    )


def plain_of(made: Made) -> plain_engine.Cluster:
    return plain_engine.Cluster.of(made.nodes, made.pods, NAMESPACES, made.claims, made.volumes, made.classes)


@thorough
@given(clusters())
def test_the_same_nodes_are_feasible_and_the_message_is_the_same(made: Made) -> None:
    diagnosis, plain = diagnose(made.pod, state_of(made)), plain_engine.attempt(made.pod, plain_of(made))
    index = NodeIndex(made.nodes)
    assert index.names_of(diagnosis.feasible) == plain.feasible
    if diagnosis.kubelet_of:  # the scheduler does not see a pod that names its node
        assert message(diagnosis).startswith((f"the kubelet of {made.pod.node_name} refuses it: ", "there is no node "))
    else:
        assert message(diagnosis) == plain.message


@thorough
@given(crowded())
def test_preemption_nominates_the_same_nodes_and_takes_the_same_victims(made: Made) -> None:
    state = state_of(made)
    diagnosis, plain = diagnose(made.pod, state), plain_engine.attempt(made.pod, plain_of(made))
    if diagnosis.feasible:
        return
    ours = preempt(made.pod, diagnosis, state)
    allowed = [(b, b.disruptions_allowed or 0) for b in made.budgets]
    text, candidates = plain_preemption.preempt(made.pod, plain, plain_of(made), allowed)
    assert ours.message == text
    assert [
        (state.index.names[c.position], [p.bound.name for p in c.victims if p.bound], c.violations) for c in ours.equals
    ] == [(c.node, [p.name for p in c.pods], c.violations) for c in candidates]


@thorough
@given(clusters(), st.randoms())
def test_what_is_undone_never_was(made: Made, random: Random) -> None:
    """After any mixture of placing and removing, undo leaves a state that answers as a fresh one does."""
    state, fresh = state_of(made), state_of(made)
    before = picture(state)
    mark = state.mark()
    for _ in range(random.randint(1, 6)):
        present = list(state.placements())
        if present and random.random() < 0.5:
            state.remove(random.choice(present))
        elif random.random() < 0.3:
            some = random.sample(range(len(made.nodes)), random.randint(1, len(made.nodes)))
            state.place_many(pods(rich=False).draw(random), {at: random.randint(1, 3) for at in some})
        else:
            state.place(pods(rich=False).draw(random), random.randrange(len(made.nodes)))
        diagnose(made.pod, state)  # answers that are memoised on the way must not outlive the undo
    moved = ClusterState(state.index, Inventory(namespaces=made.namespaces))
    moved.storage = state.storage
    for placement in state.placements():
        moved.place(placement.bound or placement.pod, placement.position)
    assert answer(diagnose(made.pod, state)) == answer(diagnose(made.pod, moved))
    state.undo(mark)
    assert picture(state) == before
    assert answer(diagnose(made.pod, state)) == answer(diagnose(made.pod, fresh))


@thorough
@given(clusters())
def test_what_holds_for_all_nodes_holds_for_each(made: Made) -> None:
    state = state_of(made)
    diagnosis = diagnose(made.pod, state)
    if diagnosis.refusal is not None:
        return
    seen = diagnosis.feasible | diagnosis.outside
    for rejection in diagnosis.rejections:
        seen |= rejection.nodes
    assert seen == state.index.all
    for position in range(len(state.index)):
        alone = filter_node(made.pod, state, position)
        if not diagnosis.outside >> position & 1:
            assert [(r.plugin, r.reason) for r in alone] == [(r.plugin, r.reason) for r in diagnosis.reasons(position)]
    assert diagnosis.feasible & ~static_feasible(made.pod, state.index) == 0


def test_the_kubelet_alone_looks_at_a_pod_that_names_its_node() -> None:
    """Once drawn by the test above: neither the own anti-affinity nor the spread of such a pod is checked."""
    apart = PodAffinityTerm(HOSTNAME, selecting(app="web"))
    even = SpreadConstraint(1, HOSTNAME, "DoNotSchedule", selecting(app="web"))
    named = pod(node_name="n0", required_anti_affinity=(apart,), spread=(even,))
    where = state([node("n0"), node("n1")], *(bound(f"web-{i}", "n0", pod()) for i in range(2)))
    diagnosis = diagnose(named, where)
    for position in range(2):
        assert filter_node(named, where, position) == list(diagnosis.reasons(position))
    assert [r.plugin for r in filter_node(named, where, 1)] == ["NodeName"]


def answer(diagnosis: Diagnosis) -> tuple[int, str]:
    return diagnosis.feasible, message(diagnosis)


def picture(state: ClusterState) -> object:
    return (
        [[id(p) for p in state.pods_on(i)] for i in range(len(state.index))],
        [c.tally.planes for c in state.classes.all if c.tally.planes],
        {r: list(state.ledger.requested(r)) for r in ("cpu", "memory", "pods", "example.com/gpu")},
        list(state.nonzero_cpu),
        list(state.nonzero_memory),
    )
