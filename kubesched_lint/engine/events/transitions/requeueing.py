"""Waiting pods that could run after an event but that it does not requeue."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from kubesched_lint.engine.events.states.states import FRESH, SETTLED, State, with_pinned, with_waiting
from kubesched_lint.engine.events.transitions.placement_model import PlacementModel
from kubesched_lint.engine.model.pod import Pod

Wakes = Callable[[Pod, frozenset[str]], bool]
"""Whether an event requeues a waiting pod that these plugins rejected."""


def not_requeued(
    model: PlacementModel,
    before: State,
    later: PlacementModel,
    after: State,
    wakes: Wakes,
    origin: Sequence[int] | None = None,
) -> Iterator[State]:
    """Yield ``after`` with a missed status for each waiting pod that could now run but that the event did not requeue.

    The scheduler may not have tried a fresh pod yet, so both states are possible. ``origin`` maps each position of
    the ``later`` model to the position before.
    """
    outcomes = [after]
    queues = [(-1, after.waiting), *enumerate(after.pinned)]
    for position, queue in queues:
        there = position if position < 0 or origin is None else origin[position]
        for slot, status, count in queue:
            if status > FRESH or not later.can_miss(slot, position):
                continue
            if model.may_run(before, slot, there) or not later.may_run(after, slot, position):
                continue
            rejected_by = model.diagnosis(before, slot, there).rejected_by
            if not rejected_by or wakes(model.pod(slot, there), rejected_by):
                continue
            missed = model.pod_types.missed(rejected_by)
            apart = [_restated(s, position, slot, status, missed, count) for s in outcomes]
            outcomes = apart if status == SETTLED else [*outcomes, *apart]
    yield from outcomes


def _restated(state: State, position: int, slot: int, status: int, other: int, count: int) -> State:
    if position < 0:
        return with_waiting(with_waiting(state, slot, status, -count), slot, other, count)
    return with_pinned(with_pinned(state, position, slot, status, -count), position, slot, other, count)
