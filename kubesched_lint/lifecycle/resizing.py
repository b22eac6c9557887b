"""Every way in which a controller may choose the pods to delete when ReplicaSets shrink.

A Deployment has a ReplicaSet for each revision. A standalone ReplicaSet may have pods of several revisions (from
earlier templates, or adopted); all of them are ranked together.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from kubesched_lint.controllers.replicaset import draws, victims
from kubesched_lint.lifecycle.states import (
    FRESH,
    DesiredState,
    PodTypes,
    State,
    Step,
    tally,
    with_bound,
    with_leaving,
    with_waiting,
    without_waiting,
)

Change = tuple[tuple[int, ...], int]
"""(revisions, the newest last; the wanted number of pods of all of them together)."""
Left = tuple[State, tuple[int, ...]]
"""(state, slots of the deleted bound pods)."""


def resized(
    pod_types: PodTypes, desired: DesiredState, changes: Sequence[Change], state: State
) -> Iterator[tuple[Step, State, tuple[int, ...]]]:
    """Yield every way to reach these sizes; the ranks of pods are those in ``state``."""
    siblings = dict(state_siblings(pod_types, desired.workload, state))
    step = Step("delete", pod_types.slot(desired.workload, changes[-1][0][-1])) if changes else Step("delete")
    met: set[State] = set()
    for after, gone in _all_sized(pod_types, desired, changes, state, siblings):
        if after not in met:
            met.add(after)
            yield step, after, gone


def state_siblings(pod_types: PodTypes, workload: int, state: State) -> Iterator[tuple[int, int]]:
    """Yield (position, number of pods of any revision of the workload there)."""
    for position, held in enumerate(state.bound):
        yield position, sum(count for slot, count in held if pod_types.slots[slot].workload == workload)


def _all_sized(
    pod_types: PodTypes, desired: DesiredState, changes: Sequence[Change], state: State, siblings: Mapping[int, int]
) -> Iterator[Left]:
    """Yield the ways lazily, because there may be too many."""
    if not changes:
        yield state, ()
        return
    (revisions, size), *rest = changes
    for at, gone in _sized(pod_types, desired, revisions, size, state, siblings):
        for after, more in _all_sized(pod_types, desired, rest, at, siblings):
            yield after, (*gone, *more)


def _sized(
    pod_types: PodTypes,
    desired: DesiredState,
    revisions: Sequence[int],
    size: int,
    state: State,
    siblings: Mapping[int, int],
) -> Iterator[Left]:
    """Yield the ways to one size: waiting pods go first, then pods that are not ready."""
    counts = tally(state)
    twins = [pod_types.twins(desired.workload, revision) for revision in revisions]
    slots = [slot for pair in twins for slot in pair]
    excess = sum(counts.bound.get(s, 0) + counts.waiting.get(s, 0) for s in slots) - size
    if excess <= 0:
        yield with_waiting(state, twins[-1][desired.unready], FRESH, -excess) if excess else state, ()
        return
    unbound = [(i, sum(counts.waiting.get(s, 0) for s in pair)) for i, pair in enumerate(twins)]
    from_waiting = min(excess, sum(count for _, count in unbound))
    unready = [slot for _, slot in twins]
    from_unready = min(excess - from_waiting, sum(counts.bound.get(s, 0) for s in unready))
    from_ready = excess - from_waiting - from_unready
    for drawn in draws(unbound, from_waiting):
        after = state
        for i, count in drawn:
            after = _fewer_waiting(after, twins[i], count)
        for first, gone in _unbound(unready, from_unready, after, siblings):
            for last, more in _unbound([slot for slot, _ in twins], from_ready, first, siblings):
                yield last, (*gone, *more)


def _fewer_waiting(state: State, slots: Sequence[int], count: int) -> State:
    waiting = tally(state).waiting
    for slot in slots:
        gone = min(count, waiting.get(slot, 0))
        state, count = without_waiting(state, slot, gone), count - gone
    return state


def _unbound(slots: Sequence[int], count: int, state: State, siblings: Mapping[int, int]) -> Iterator[Left]:
    """Yield every way to delete ``count`` bound pods of some slots."""
    if not count:
        yield state, ()
        return
    held = [(position, slot, here) for position, held in enumerate(state.bound) for slot, here in held if slot in slots]
    standing = [(i, here, siblings[position]) for i, (position, _, here) in enumerate(held)]
    lost = [(slot, here) for slot, here in state.leaving if slot in slots]
    # The rank of pods on lost nodes is unknown.
    for left in range(min(count, sum(here for _, here in lost)) + 1):
        for drawn in draws(lost, left):
            for _, chosen in victims(0, standing, count - left):
                if sum(gone for _, gone in chosen) == count - left:
                    yield _without(state, drawn, [(*held[i][:2], gone) for i, gone in chosen])


def _without(state: State, lost: Sequence[tuple[int, int]], bound: Sequence[tuple[int, int, int]]) -> Left:
    for slot, gone in lost:
        state = with_leaving(state, slot, -gone)
    for position, slot, gone in bound:
        state = with_bound(state, position, slot, -gone)
    return state, tuple(dict.fromkeys((*(slot for slot, _ in lost), *(slot for _, slot, _ in bound))))
