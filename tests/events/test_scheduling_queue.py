"""The queue of a course has the waiting pods of each state, in the order of precedence."""

from __future__ import annotations

from random import Random

import pytest

from kubesched_lint.engine.events.states.states import FRESH, SETTLED, PodTypes, State, empty, with_pinned, with_waiting
from kubesched_lint.engine.events.transitions.scheduling_queue import SchedulingQueue
from kubesched_lint.engine.model.decode.workloads import decode_workload
from tests.events.simulated import workload

NODES, WORKLOADS = 4, 5


def types() -> PodTypes:
    found = PodTypes()
    for number in range(WORKLOADS):
        made = decode_workload(workload("Deployment", f"w{number}", 1), "default", None, number)
        found.join(made, made.pod, None)
        for revision in range(2):
            found.slot(number, revision)
    return found


def waiting(state: State) -> set[tuple[int, int, int]]:
    """Slot, status and node of each entry that the scheduler may try."""
    queues = [(-1, state.waiting), *enumerate(state.pinned)]
    return {(slot, status, position) for position, queue in queues for slot, status, _ in queue if status <= FRESH}


def changed(state: State, random: Random) -> State:
    slot, status = random.randrange(2 * WORKLOADS), random.choice([SETTLED, FRESH, FRESH, 2])
    if random.random() < 0.5:
        return with_waiting(state, slot, status, 1)
    return with_pinned(state, random.randrange(NODES), slot, status, 1)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("is_ordered", [False, True])
def test_it_has_the_pods_of_each_state_once(seed: int, is_ordered: bool) -> None:
    random, found = Random(seed), types()
    precedence = {number: random.choice([-1, 0, 1]) for number in range(0, WORKLOADS, 2)} if is_ordered else {}
    queue = SchedulingQueue(found, precedence, NODES)
    states = [empty(NODES)]
    for _ in range(30):
        states.append(changed(random.choice(states), random))
    for state in random.sample(states, len(states)):
        order = list(queue.in_turn(state, random))
        assert len(order) == len(set(order))
        assert set(order) == waiting(state)
        ranks = [precedence.get(found.slots[slot].workload, 0) for slot, _, _ in order]
        assert ranks == sorted(ranks)


def test_each_of_equal_pods_may_be_first() -> None:
    state = empty(NODES)
    for slot in range(3):
        state = with_pinned(with_waiting(state, slot, FRESH, 1), slot, slot, FRESH, 1)
    queue, random = SchedulingQueue(types(), {}, NODES), Random(1)
    assert {next(queue.in_turn(state, random)) for _ in range(100)} == waiting(state)
