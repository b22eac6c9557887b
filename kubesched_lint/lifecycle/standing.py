"""How many pods of each slot a state has, brought from one state to the next by what differs between them.

What a controller does follows from its wish and its own pods alone. So one that had nothing to do has nothing to do
until a pod of its own comes, goes or moves; it need not be asked before.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import compress, count
from operator import is_not
from typing import TypeVar

from kubesched_lint import work
from kubesched_lint.lifecycle.world import Cast, State, Tally, Wish, empty

T = TypeVar("T")
Pods = Sequence[tuple[int, ...]]
Nothing = dict[int, Wish]
"""By workload the wish of which nothing is to be done in the state that is shown."""


class Standing:
    """Mutable: the counts of the state that was shown last, on one set of nodes."""

    def __init__(self, cast: Cast, nodes: int) -> None:
        self._cast = cast
        self._shown = empty(nodes)
        self._counts = Tally({}, {})
        self.nothing_to_create: Nothing = {}
        self.nothing_to_delete: Nothing = {}

    def show(self, state: State) -> Tally:
        """The counts of a state; they stand until the next one is shown."""
        before = self._shown
        if state is not before:
            work.spend(2 + (len(state.bound) + len(state.waiting)) // 32)  # before anything is moved
            self._shown = state
            slots = self._cast.slots
            for workload in {slots[slot].workload for slot in self._move(before, state)}:
                self.nothing_to_create.pop(workload, None)
                self.nothing_to_delete.pop(workload, None)
        return self._counts

    def _move(self, before: State, after: State) -> set[int]:
        """The slots of which anything has changed; the counts are those of ``after`` then."""
        touched: set[int] = set()
        bound, waiting = self._counts
        for p in differing(before.bound, after.bound):
            _count(bound, before.bound[p], after.bound[p], touched)
        for p in differing(before.pinned, after.pinned):
            _count(waiting, before.pinned[p], after.pinned[p], touched)
        _count(bound, before.leaving, after.leaving, touched)
        _count(waiting, before.orphans, after.orphans, touched)
        _count(waiting, *_between(before.waiting, after.waiting), touched)
        return touched


def differing(before: Sequence[object], after: Sequence[object]) -> Iterator[int]:
    """The places at which two of one length do not hold the same object."""
    if before is after:
        return iter(())
    return compress(range(len(before)), map(is_not, before, after))


def _between(before: Sequence[T], after: Sequence[T]) -> tuple[Sequence[T], Sequence[T]]:
    """Both without what they share in the beginning and in the end."""
    most = min(len(before), len(after))
    start = next(compress(count(), map(is_not, before, after)), most)
    end = next(compress(count(), map(is_not, reversed(before), reversed(after))), most)
    end = min(end, most - start)
    return before[start : len(before) - end], after[start : len(after) - end]


def _count(counts: dict[int, int], gone: Pods, come: Pods, touched: set[int]) -> None:
    """Add what came and take away what went, of entries that begin with a slot and end with a number."""
    if gone is come:
        return
    before, after = set(gone), set(come)
    for sign, entries in ((1, after - before), (-1, before - after)):
        for slot, *_, number in entries:
            touched.add(slot)
            left = counts.get(slot, 0) + sign * number
            if left:
                counts[slot] = left
            else:
                del counts[slot]
