"""The number of pods of each slot in a state, updated by the difference between two states.

The actions of a controller depend only on its desired and its own pods. So a controller with nothing to do stays idle
until one of its own pods comes, goes or moves, and can be skipped until then.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import compress, count
from operator import is_not
from typing import TypeVar

from kubesched_lint.engine.events.states.states import DesiredState, PodCounts, PodTypes, State, empty

T = TypeVar("T")
Pods = Sequence[tuple[int, ...]]
Nothing = dict[int, DesiredState]
"""Workload → its desired state, if that needs no action in the shown state."""


class PodsByNode:
    """The counts of the last shown state, on one set of nodes. Mutable."""

    def __init__(self, pod_types: PodTypes, nodes: int) -> None:
        self._pod_types = pod_types
        self._shown = empty(nodes)
        self._counts = PodCounts({}, {})
        self.nothing_to_create: Nothing = {}
        self.nothing_to_delete: Nothing = {}

    def show(self, state: State) -> PodCounts:
        """Return the counts of a state, valid until the next state is shown."""
        before = self._shown
        if state is not before:
            self._shown = state
            slots = self._pod_types.slots
            for workload in {slots[slot].workload for slot in self._move(before, state)}:
                self.nothing_to_create.pop(workload, None)
                self.nothing_to_delete.pop(workload, None)
        return self._counts

    def _move(self, before: State, after: State) -> set[int]:
        """Update the counts to ``after`` and return the slots that changed."""
        touched: set[int] = set()
        bound, waiting = self._counts
        for p in differing(before.bound, after.bound):
            _count(bound, before.bound[p], after.bound[p], touched)
        for p in differing(before.pinned, after.pinned):
            _count(waiting, before.pinned[p], after.pinned[p], touched)
        if before.leaving is not after.leaving:
            _count(bound, before.leaving, after.leaving, touched)
        if before.orphans is not after.orphans:
            _count(waiting, before.orphans, after.orphans, touched)
        if before.waiting is not after.waiting:
            _count(waiting, *between(before.waiting, after.waiting), touched)
        return touched


def differing(before: Sequence[object], after: Sequence[object]) -> Iterator[int]:
    """Yield the places at which two sequences of equal length hold different objects."""
    if before is after:
        return iter(())
    return compress(range(len(before)), map(is_not, before, after))


def between(before: Sequence[T], after: Sequence[T]) -> tuple[Sequence[T], Sequence[T]]:
    """Return both without their common start and end."""
    most = min(len(before), len(after))
    start = next(compress(count(), map(is_not, before, after)), most)
    end = next(compress(count(), map(is_not, reversed(before), reversed(after))), most)
    end = min(end, most - start)
    return before[start : len(before) - end], after[start : len(after) - end]


def _count(counts: dict[int, int], gone: Pods, come: Pods, touched: set[int]) -> None:
    """Add the new entries to ``counts`` and subtract the old; an entry starts with a slot and ends with a count."""
    if gone and come:
        before, after = set(gone), set(come)
        gone, come = tuple(before - after), tuple(after - before)
    for entry in come:
        touched.add(entry[0])
        counts[entry[0]] = counts.get(entry[0], 0) + entry[-1]
    for entry in gone:
        slot = entry[0]
        touched.add(slot)
        counts[slot] -= entry[-1]
        if not counts[slot]:
            del counts[slot]
