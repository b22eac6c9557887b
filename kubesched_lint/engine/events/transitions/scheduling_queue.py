"""The pods that the scheduler may try in a state, in the order in which a course tries them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, groupby
from typing import TYPE_CHECKING

from kubesched_lint.engine.events.states.pods_by_node import between, differing
from kubesched_lint.engine.events.states.states import FRESH, PodTypes, State, empty

if TYPE_CHECKING:
    from random import Random

Entry = tuple[int, int, int]
"""Slot, status, and the node that a DaemonSet's pod is made for, -1 for other pods."""
Waiting = Sequence[tuple[int, int, int]]
"""A part of a queue of a State: slot, status and count."""


class SchedulingQueue:
    """The waiting pods of the last shown state by slot, updated by the difference between two states. Mutable."""

    def __init__(self, pod_types: PodTypes, precedence: Mapping[int, int], nodes: int) -> None:
        """``precedence``: pods of the workloads with the lowest value are tried first."""
        self._pod_types = pod_types
        self._precedence = precedence
        self._shown = empty(nodes)
        self._entries: dict[int, dict[Entry, None]] = {}
        self._ranks: dict[int, int] = {}
        """Slot → precedence of its workload."""

    def in_turn(self, state: State, random: Random) -> Iterator[Entry]:
        """Yield the waiting pods by the precedence of their workloads, in a random order where that is equal."""
        self._show(state)
        if not self._precedence:
            yield from _shuffled(list(chain.from_iterable(self._entries.values())), random)
            return
        rank = self._ranks.__getitem__
        for _, slots in groupby(sorted(self._entries, key=rank), rank):
            yield from _shuffled([entry for slot in slots for entry in self._entries[slot]], random)

    def _show(self, state: State) -> None:
        before = self._shown
        self._shown = state
        if before.waiting is not state.waiting:
            self._move(*between(before.waiting, state.waiting), -1)
        for position in differing(before.pinned, state.pinned):
            self._move(before.pinned[position], state.pinned[position], position)

    def _move(self, gone: Waiting, come: Waiting, position: int) -> None:
        before = {(slot, status, position) for slot, status, _ in gone if status <= FRESH}
        after = {(slot, status, position) for slot, status, _ in come if status <= FRESH}
        for entry in sorted(after - before):
            slot = entry[0]
            if slot not in self._ranks:
                self._ranks[slot] = self._precedence.get(self._pod_types.slots[slot].workload, 0)
            self._entries.setdefault(slot, {})[entry] = None
        for entry in before - after:
            left = self._entries[entry[0]]
            del left[entry]
            if not left:
                del self._entries[entry[0]]


def _shuffled(entries: list[Entry], random: Random) -> Iterator[Entry]:
    """Yield entries in a random order; only those that are taken cost a draw. This changes the list."""
    for left in range(len(entries), 0, -1):
        drawn = int(random.random() * left)
        entries[drawn], entries[left - 1] = entries[left - 1], entries[drawn]
        yield entries[left - 1]
