"""Counts brought from state to state are those of the state; a controller passed over has nothing to do."""

from __future__ import annotations

from itertools import islice
from random import Random

import pytest

from benchmarks.lifecycle import nodes, workload
from kubesched_lint.engine.controllers.replicaset import draws
from kubesched_lint.engine.events.search.node_events import lose
from kubesched_lint.engine.events.start.simulated_set import SimulatedSet
from kubesched_lint.engine.events.start.timelines import timeline_of
from kubesched_lint.engine.events.states.pods_by_node import PodsByNode
from kubesched_lint.engine.events.states.states import (
    PodCounts,
    PodTypes,
    State,
    empty,
    queued,
    tally,
    with_bound,
    with_pinned,
)
from kubesched_lint.engine.events.transitions.transitions import Transitions
from kubesched_lint.engine.model.inventory import Inventory
from kubesched_lint.engine.runs.event_outcomes import with_new_template


def check(transitions: Transitions, state: State) -> int:
    """How many controllers were passed over."""
    counts = transitions.counts(state)
    assert counts == tally(state)
    standing, passed = transitions.model.standing, 0
    for desired in transitions.desired_states:
        if standing.nothing_to_create.get(desired.workload) is desired:
            passed += 1
            assert transitions._created(desired, state, tally(state)) is state
        if standing.nothing_to_delete.get(desired.workload) is desired:
            passed += 1
            assert not list(transitions._asked(desired, state, tally(state), draws))
    return passed


@pytest.mark.parametrize("seed", range(6))
def test_whoever_is_passed_over_would_do_nothing(seed: int) -> None:
    """After a deployment, a rollout of each and the loss of a node, in every order in which the moves are asked for."""
    made = SimulatedSet(nodes(6), Inventory(), tuple(map(workload, range(4 * seed, 4 * seed + 4))))
    timeline = timeline_of(made, range(4), expected=True, most_states=0, runs=1, seed=seed)
    for one in made.workloads:
        timeline.rollout(with_new_template(one))
    lose(timeline, ["n0"])
    passed = 0
    for phase in timeline.phases:
        for state in phase.exploration.parents:
            passed += check(phase.transitions, state)
            list(islice(phase.transitions.moves(state), 30))
            passed += check(phase.transitions, state)
    assert passed > 50


def test_a_queue_keeps_the_objects_that_did_not_change() -> None:
    queue = queued(queued(queued((), 5, 1, 2), 3, 0, 1), 3, 1, 1)
    assert queue == ((3, 0, 1), (3, 1, 1), (5, 1, 2))
    more = queued(queue, 3, 1, 4)
    assert more == ((3, 0, 1), (3, 1, 5), (5, 1, 2))
    assert more[0] is queue[0]
    assert more[2] is queue[2]
    assert queued(more, 3, 1, -5) == ((3, 0, 1), (5, 1, 2))


def test_counts_follow_every_part_of_a_state() -> None:
    draw, standing, state = Random(4), PodsByNode(pod_types(6), 4), empty(4)
    for _ in range(300):
        slot, position, change = draw.randrange(6), draw.randrange(4), draw.choice([1, 1, 2])
        match draw.randrange(5):
            case 0:
                state = with_bound(state, position, slot, change)
            case 1:
                state = with_pinned(state, position, slot, draw.randrange(2), change)
            case 2:
                state = state._replace(waiting=queued(state.waiting, slot, draw.randrange(3), change))
            case 3:
                state = state._replace(orphans=queued(state.orphans, slot, 0, change))
            case _:
                state = state._replace(leaving=draw.choice([(), ((slot, change),)]), bound=((),) * 4)
        if draw.random() < 0.7:
            assert standing.show(state) == tally(state)
    assert standing.show(empty(4)) == PodCounts({}, {})


def pod_types(slots: int) -> PodTypes:
    found = PodTypes()
    for number in range(slots):
        found.slot(number, 0)
    return found


@pytest.mark.parametrize("seed", range(6))
def test_after_each_move_no_controller_has_a_pod_to_create(seed: int) -> None:
    """Also where a binding lets nobody create any, so that nobody is asked."""
    made = SimulatedSet(nodes(6), Inventory(), tuple(map(workload, range(4 * seed, 4 * seed + 4))))
    timeline = timeline_of(made, range(4), expected=True, most_states=0, runs=1, seed=seed)
    for one in made.workloads:
        timeline.rollout(with_new_template(one))
    lose(timeline, ["n0"])
    bound = 0
    for phase in timeline.phases:
        for state in phase.exploration.parents:
            for step, after in islice(phase.transitions.moves(state), 30):
                bound += step.what == "bind"
                assert phase.transitions.settle(after) == after
    assert bound > 50
