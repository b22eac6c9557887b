"""The pods of a StatefulSet in a State: by ordinal, or by pool where the pods are created in parallel.

A Parallel StatefulSet creates its pods at once, so any of them may land on any node. Pods that were created together
are exchangeable until their controller selects one. They share one slot, a pool of ordinals, and a deletion chooses the
ordinal. That is exact, because only the controller reads ordinals
(``pkg/controller/statefulset/stateful_set_control.go``, allowsBurst). Sets with claims have no pools.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import product
from typing import NamedTuple

from kubesched_lint.engine.base import work
from kubesched_lint.engine.controllers.replicaset import Drawn, Draws, draws
from kubesched_lint.engine.controllers.statefulset import Budget, OrdinalPod, StatefulSetSync, budget, sync, updated
from kubesched_lint.engine.events.states.states import (
    FRESH,
    DesiredState,
    PodCounts,
    PodTypes,
    State,
    Step,
    tally,
    with_bound,
    with_leaving,
    with_waiting,
)

Change = tuple[Step, State, tuple[int, ...]]
"""(the step, the state after it, the slots of the deleted bound pods)."""

_LEAVING = -1
"""Stands for the position of a lost node."""


class Pool(NamedTuple):
    slot: int
    revision: int
    ordinals: tuple[int, ...]
    bound: int
    waiting: int
    ended: int = 0
    """Further pods of it, on nodes that are unreachable."""

    @property
    def missing(self) -> int:
        return len(self.ordinals) - self.bound - self.waiting - self.ended


def is_pooled(desired: DesiredState) -> bool:
    workload = desired.spec
    return workload.pod_management == "Parallel" and not workload.claim_templates and not desired.each_known


def pools(pod_types: PodTypes, workload: int, state: State) -> list[Pool]:
    counts = tally(state)
    pools_by_slot: dict[int, Pool] = {}
    for slot in dict.fromkeys((*counts.bound, *counts.waiting)):
        owner, revision, _ = pod_types.slots[slot]
        if owner != workload:
            continue
        bound, waiting, ordinals = counts.bound.get(slot, 0), counts.waiting.get(slot, 0), pod_types.ordinals(slot)
        own = pod_types.pool(workload, revision, ordinals) if pod_types.ended[slot] else slot
        known = pools_by_slot.get(own, Pool(own, revision, ordinals, 0, 0))
        if own != slot:
            pools_by_slot[own] = known._replace(ended=known.ended + bound)
        else:
            pools_by_slot[own] = known._replace(bound=bound, waiting=waiting)
    return list(pools_by_slot.values())


def created(pod_types: PodTypes, desired: DesiredState, state: State) -> State:
    """Return the state with missing pods recreated, except in pools of an older revision (see ``deletions``)."""
    work.spend(desired.replicas // 8)
    have: set[int] = set()
    old = False
    for pool in pools(pod_types, desired.workload, state):
        have.update(pool.ordinals)
        old = old or pool.revision != desired.revision
        if pool.missing and pool.revision == desired.revision:
            state = with_waiting(state, pool.slot, FRESH, pool.missing)
    fresh = tuple(o for o in range(desired.replicas) if o not in have)
    if not fresh:
        return state
    old = old or desired.revision_of(fresh[0]) != desired.revision
    # During an update the controller compares ordinals of both revisions, so each pod gets its own.
    for ordinals in [(o,) for o in fresh] if old else [fresh]:
        revision = desired.revision_of(ordinals[0])
        state = with_waiting(state, pod_types.pool(desired.workload, revision, ordinals), FRESH, len(ordinals))
    return state


def deletions(
    pod_types: PodTypes, desired: DesiredState, state: State, counts: PodCounts, version: str, among: Draws
) -> Iterator[Change]:
    """Yield each deletion that the controller of a version may make; ``among`` chooses between equal pods."""
    if is_pooled(desired):
        yield from _pooled_deletions(pod_types, desired, state, version, among)
        return
    synced_pods = synced(pod_types, desired, counts, version)
    for ordinals in [*((o,) for o in synced_pods.delete), *filter(None, [synced_pods.update])]:
        yield _without_ordinals(pod_types, desired.workload, ordinals, state)


def _pooled_deletions(
    pod_types: PodTypes, desired: DesiredState, state: State, version: str, among: Draws
) -> Iterator[Change]:
    present = pools(pod_types, desired.workload, state)
    torn = next((p for p in present if p.missing and p.revision != desired.revision), None)
    if torn is not None:
        for lost in _choices(torn.ordinals, torn.missing, among):
            yield Step("delete", torn.slot), _renamed(pod_types, state, torn, lost), ()
        return
    condemned = [p for p in present if p.ordinals[-1] >= desired.replicas]
    if condemned:
        yield from _condemned(pod_types, desired, state, condemned, among)
        return
    workload = desired.spec
    if workload.strategy.type == "OnDelete":
        return
    limits = budget(workload, desired.replicas, version)
    if limits is None:
        yield from _updated(pod_types, desired, state, present, among)
    else:
        yield from _updated_within(limits, pod_types, desired, state, present, among)


def is_torn_apart(pod_types: PodTypes, desired: DesiredState, state: State) -> bool:
    """Whether its controller has to choose between ordinals of a pool, some of which terminate."""
    present = pools(pod_types, desired.workload, state)
    return any(pool.ended for pool in present) and any(
        pool.revision != desired.revision or pool.ordinals[-1] >= desired.replicas for pool in present
    )


def _choices(ordinals: Sequence[int], count: int, among: Draws) -> Iterator[tuple[int, ...]]:
    for drawn in among([(ordinal, 1) for ordinal in ordinals], count):
        yield tuple(ordinal for ordinal, _ in drawn)


def _condemned(
    pod_types: PodTypes, desired: DesiredState, state: State, condemned: list[Pool], among: Draws
) -> Iterator[Change]:
    doomed = [_Doomed(p, frozenset(o for o in p.ordinals if o >= desired.replicas)) for p in condemned]
    yield from _each_once(condemned[0].slot, _without_doomed(pod_types, state, doomed, among))


def _each_once(slot: int, changes: Iterable[tuple[State, tuple[int, ...]]]) -> Iterator[Change]:
    met: set[State] = set()
    for after, gone in changes:
        if after not in met:
            met.add(after)
            yield Step("delete", slot), after, gone


class _Doomed(NamedTuple):
    """The ordinals of a pool that are deleted, and how many of them wait; None: any of them may."""

    pool: Pool
    ordinals: frozenset[int]
    waiting: int | None = None


def _without_doomed(
    pod_types: PodTypes, state: State, doomed: Sequence[_Doomed], among: Draws
) -> Iterator[tuple[State, tuple[int, ...]]]:
    if not doomed:
        yield state, ()
        return
    (pool, ordinals, waiting), *others = doomed
    for at, gone in _without(state, pool.slot, len(ordinals), among, waiting):
        for after, more in _without_doomed(pod_types, _renamed(pod_types, at, pool, ordinals), others, among):
            yield after, (*gone, *more)


def _updated_within(
    limits: Budget, pod_types: PodTypes, desired: DesiredState, state: State, present: Sequence[Pool], among: Draws
) -> Iterator[Change]:
    """Yield the deletions of one sync, each once."""
    old = [p for p in present if p.revision != desired.revision]
    if old:
        idle = {o for p in present if p.revision == desired.revision for o in p.ordinals[: p.waiting]}
        choices = _doomed_choices(limits, old, idle, desired.spec.strategy.partition, among)
        changes = (after for doomed in choices if doomed for after in _without_doomed(pod_types, state, doomed, among))
        acts = False
        for change in _each_once(old[0].slot, changes):
            acts = True
            yield change
        if not acts and among is not draws:  # with the drawn ordinals nothing goes, with others something may
            yield from _updated_within(limits, pod_types, desired, state, present, draws)


def _doomed_choices(
    limits: Budget, old: Sequence[Pool], waiting: Collection[int], partition: int, among: Draws
) -> Iterator[list[_Doomed]]:
    """Yield what one sync deletes for each choice of the ordinals that wait in old pools: which they are is open.

    ``waiting``: as many ordinals as new pods wait.
    """
    every = [o for p in old for o in p.ordinals]
    for choice in product(*(_idle_choices(p, partition, among, is_alike=limits.broken_first) for p in old)):
        idle = {o for ordinals in choice for o in ordinals}
        gone = frozenset(updated(limits, every, idle.union(waiting), partition))
        yield [_Doomed(p, ours, len(ours & idle)) for p in old if (ours := gone.intersection(p.ordinals))]


def _idle_choices(pool: Pool, partition: int, among: Draws, *, is_alike: bool) -> Iterator[tuple[int, ...]]:
    """Yield one choice of waiting ordinals for each way that an update may tell apart; a course draws any of them.

    That is how many of them are not below the partition; unless all of those go (``is_alike``), also how high they are.
    """
    if among is not draws:
        yield from _choices(pool.ordinals, pool.waiting, among)
        return
    below = [o for o in pool.ordinals if o < partition]
    above = pool.ordinals[len(below) :]
    for count in range(max(0, pool.waiting - len(below)), min(pool.waiting, len(above)) + 1):
        for start in range(1 if is_alike else len(above) - count + 1):
            yield (*below[: pool.waiting - count], *above[start : start + count])


def _updated(
    pod_types: PodTypes, desired: DesiredState, state: State, present: list[Pool], among: Draws
) -> Iterator[Change]:
    """Yield the deletion of the highest ordinal with an old revision, unless a newer pod above it is not ready."""
    owner = {o: pool for pool in present for o in pool.ordinals}
    for ordinal in sorted(owner, reverse=True):
        pool = owner[ordinal]
        if ordinal < desired.spec.strategy.partition:
            return
        if pool.revision != desired.revision:
            for after, gone in _without(state, pool.slot, 1, among):
                yield Step("delete", pool.slot), _renamed(pod_types, after, pool, (ordinal,)), gone
            return
        if pool.waiting:
            return


def _without(
    state: State, slot: int, count: int, among: Draws, idle: int | None = None
) -> Iterator[tuple[State, tuple[int, ...]]]:
    """Yield the ways to delete ``count`` pods of a slot, ``idle`` of which wait (None: any number)."""
    bound = [(position, amount) for position, held in enumerate(state.bound) for s, amount in held if s == slot]
    waiting = [(status, amount) for s, status, amount in state.waiting if s == slot]
    leaving = [(_LEAVING, amount) for s, amount in state.leaving if s == slot]
    places = [*((position, True) for position, _ in (*bound, *leaving)), *((status, False) for status, _ in waiting)]
    amounts = list(enumerate(amount for _, amount in (*bound, *leaving, *waiting)))
    first = len(amounts) - len(waiting)
    parts = [(amounts, count)] if idle is None else [(amounts[:first], count - idle), (amounts[first:], idle)]
    for drawn in _drawn(parts, among):
        after, gone = state, False
        for number, taken in drawn:
            at, is_bound = places[number]
            gone = gone or is_bound
            if at == _LEAVING:
                after = with_leaving(after, slot, -taken)
            else:
                after = with_bound(after, at, slot, -taken) if is_bound else with_waiting(after, slot, at, -taken)
        yield after, (slot,) if gone else ()


def _drawn(parts: Sequence[tuple[Sequence[tuple[int, int]], int]], among: Draws) -> Iterator[Drawn]:
    """Yield the draws of several parts, each as one."""
    if not parts:
        yield ()
        return
    (group, count), *others = parts
    for drawn in among(group, count):
        for more in _drawn(others, among):
            yield (*drawn, *more)


def _renamed(pod_types: PodTypes, state: State, pool: Pool, gone: Collection[int]) -> State:
    """Return the state with a pool that lost some ordinals, whose pods are already deleted."""
    left = tuple(o for o in pool.ordinals if o not in gone)
    if not left:
        return state
    slot = pod_types.pool(pod_types.slots[pool.slot].workload, pool.revision, left)
    for position, held in enumerate(state.bound):
        for s, count in held:
            if s == pool.slot:
                state = with_bound(with_bound(state, position, s, -count), position, slot, count)
    for s, count in state.leaving:
        if s == pool.slot:
            state = with_leaving(with_leaving(state, s, -count), slot, count)
    for s, status, count in state.waiting:
        if s == pool.slot:
            state = with_waiting(with_waiting(state, s, status, -count), slot, status, count)
    return state


# --- The pods by ordinal ---------------------------------------------------------------------------------------------


def pods_by_ordinal(pod_types: PodTypes, workload: int, counts: PodCounts) -> dict[int, OrdinalPod]:
    """Return ordinal → pod of a StatefulSet."""
    by_ordinal = {}
    for slot, (ordinal, bound, waiting) in pod_types.ordinal_pods.get(workload, {}).items():
        if counts.waiting.get(slot):
            by_ordinal[ordinal] = waiting
        elif counts.bound.get(slot):
            by_ordinal[ordinal] = bound
    return by_ordinal


def synced(pod_types: PodTypes, desired: DesiredState, counts: PodCounts, version: str) -> StatefulSetSync:
    """Return what the controller of a Kubernetes version does next, pod by pod, given the counts of its own pods."""
    workload = desired.spec
    return sync(
        pods_by_ordinal(pod_types, desired.workload, counts),
        desired.replicas,
        desired.revision,
        ordered=workload.pod_management != "Parallel",
        partition=workload.strategy.partition,
        on_delete=workload.strategy.type == "OnDelete",
        budget=budget(workload, desired.replicas, version),
    )


def _without_ordinals(pod_types: PodTypes, workload: int, ordinals: Sequence[int], state: State) -> Change:
    """Return the deletion of these pods at once."""
    first, state, gone = _without_ordinal(pod_types, workload, ordinals[0], state)
    for ordinal in ordinals[1:]:
        _, state, more = _without_ordinal(pod_types, workload, ordinal, state)
        gone += more
    return first, state, gone


def _without_ordinal(pod_types: PodTypes, workload: int, ordinal: int, state: State) -> Change:
    """Return the deletion of one pod: ``(step, state after, slots of the deleted bound pods)``."""

    def is_it(slot: int) -> bool:
        return pod_types.slots[slot].workload == workload and pod_types.slots[slot].ordinal == ordinal

    for position, held in enumerate(state.bound):
        for slot, _ in held:
            if is_it(slot):
                return Step("delete", slot, position), with_bound(state, position, slot, -1), (slot,)
    for slot, _ in state.leaving:
        if is_it(slot):
            return Step("delete", slot), with_leaving(state, slot, -1), (slot,)
    slot, status, _ = next(q for q in state.waiting if is_it(q[0]))
    return Step("delete", slot), with_waiting(state, slot, status, -1), ()
