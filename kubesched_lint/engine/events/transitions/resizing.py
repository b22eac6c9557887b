"""Every way in which a controller may choose the pods to delete when ReplicaSets shrink.

A Deployment has a ReplicaSet for each revision. A standalone ReplicaSet may have pods of several revisions (from
earlier templates, or adopted); all of them are ranked together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import compress
from typing import NamedTuple

from kubesched_lint.engine.controllers.replicaset import Draws, victims
from kubesched_lint.engine.events.states.states import (
    FRESH,
    DesiredState,
    PodCounts,
    PodTypes,
    State,
    Step,
    with_bound,
    with_leaving,
    with_waiting,
    without_waiting,
)

Deletion = tuple[Step, State, tuple[int, ...]]
"""(the step, the state after it, the slots of the deleted bound pods)"""
Change = tuple[tuple[int, ...], int]
"""(revisions, the newest last; the wanted number of pods of all of them together)."""
_LOST, _STANDING = 0, 1


class Way(NamedTuple):
    """One way to reach the sizes."""

    waiting: tuple[tuple[tuple[int, ...], int], ...] = ()
    """(slots, change in the number of their waiting pods); of several slots, the pods of the first go first."""
    lost: tuple[tuple[int, int], ...] = ()
    """(slot, number of deleted pods) on lost nodes."""
    bound: tuple[tuple[int, int, int], ...] = ()
    """(position, slot, number of deleted pods)"""

    def joined(self, other: Way) -> Way:
        """Return both ways as one."""
        return Way(self.waiting + other.waiting, self.lost + other.lost, self.bound + other.bound)


def ways(
    pod_types: PodTypes, desired: DesiredState, changes: Sequence[Change], state: State, counts: PodCounts, among: Draws
) -> Iterator[Way]:
    """Yield every way to reach these sizes, or one, as ``among`` chooses between equal pods.

    Lazily, because there may be too many; the ranks of pods are those in ``state``, whose pods are ``counts`` when
    this is called.
    """
    own = pod_types.slots_of[desired.workload]
    counts = PodCounts(*({slot: of[slot] for slot in own if slot in of} for of in counts))
    siblings = state_siblings(pod_types, desired.workload, state)
    sized = [partial(_sized, pod_types, desired, *change, state, counts, siblings, among) for change in changes]
    return _all_sized(sized)


def taken(pod_types: PodTypes, desired: DesiredState, changes: Sequence[Change], state: State, way: Way) -> Deletion:
    """Return the step of a way, the state after it, and the slots of the deleted bound pods."""
    gone = dict.fromkeys((*(slot for slot, _ in way.lost), *(slot for _, slot, _ in way.bound)))
    for slots, change in way.waiting:
        state = with_waiting(state, slots[0], FRESH, change) if change > 0 else _fewer_waiting(state, slots, -change)
    for slot, count in way.lost:
        state = with_leaving(state, slot, -count)
    for position, slot, count in way.bound:
        state = with_bound(state, position, slot, -count)
    step = Step("delete", pod_types.slot(desired.workload, changes[-1][0][-1])) if changes else Step("delete")
    return step, state, tuple(gone)


def state_siblings(pod_types: PodTypes, workload: int, state: State) -> Mapping[int, int]:
    """Return position → number of pods of any revision of the workload there."""
    slots = pod_types.slots
    return {
        position: sum(count for slot, count in state.bound[position] if slots[slot].workload == workload)
        for position in compress(range(len(state.bound)), state.bound)
    }


def _all_sized(sized: Sequence[Callable[[], Iterator[Way]]]) -> Iterator[Way]:
    """Yield every combination of the ways of several changes, which concern different slots."""
    if not sized:
        yield Way()
        return
    first, *rest = sized
    for way in first():
        if not rest:
            yield way
        else:
            yield from map(way.joined, _all_sized(rest))


def _sized(
    pod_types: PodTypes,
    desired: DesiredState,
    revisions: Sequence[int],
    size: int,
    state: State,
    counts: PodCounts,
    siblings: Mapping[int, int],
    among: Draws,
) -> Iterator[Way]:
    """Yield the ways to one size: waiting pods go first, then pods that are not ready."""
    twins = [pod_types.twins(desired.workload, revision) for revision in revisions]
    slots = [slot for pair in twins for slot in pair]
    excess = sum(counts.bound.get(s, 0) + counts.waiting.get(s, 0) for s in slots) - size
    if excess <= 0:
        yield Way((((twins[-1][desired.unready],), -excess),) if excess else ())
        return
    unbound = [(i, sum(counts.waiting.get(s, 0) for s in pair)) for i, pair in enumerate(twins)]
    from_waiting = min(excess, sum(count for _, count in unbound))
    unready = [slot for pair in twins for slot in pair[1:]]
    from_unready = min(excess - from_waiting, sum(counts.bound.get(s, 0) for s in unready))
    from_ready = excess - from_waiting - from_unready
    ready = [pair[0] for pair in twins]
    for drawn in among(unbound, from_waiting):
        waiting = tuple((twins[i], -count) for i, count in drawn)
        for first in _unbound(unready, from_unready, state, siblings, among):
            for last in _unbound(ready, from_ready, state, siblings, among):
                yield Way(waiting, first.lost + last.lost, first.bound + last.bound)


def _fewer_waiting(state: State, slots: Sequence[int], count: int) -> State:
    for slot in slots:
        gone = min(count, sum(pods for s, _, pods in state.waiting if s == slot))
        state, count = without_waiting(state, slot, gone), count - gone
    return state


def _unbound(
    slots: Sequence[int], count: int, state: State, siblings: Mapping[int, int], among: Draws
) -> Iterator[Way]:
    """Yield the ways to delete ``count`` bound pods of some slots."""
    if not count:
        yield Way()
        return
    held = [(p, slot, pods) for p in siblings for slot, pods in state.bound[p] if slot in slots]
    standing = [(i, pods, siblings[position]) for i, (position, _, pods) in enumerate(held)]
    lost = [(slot, pods) for slot, pods in state.leaving if slot in slots]
    # The rank of pods on lost nodes is unknown.
    for split in among(
        [(_LOST, sum(pods for _, pods in lost)), (_STANDING, sum(pods for _, pods, _ in standing))], count
    ):
        numbers = dict(split)
        for drawn in among(lost, numbers.get(_LOST, 0)):
            for _, chosen in victims(0, standing, numbers.get(_STANDING, 0), among):
                yield Way((), drawn, tuple((*held[i][:2], gone) for i, gone in chosen))
