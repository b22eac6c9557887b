"""Cache scores that depend on the node alone; only nodes whose numbers changed are scored again."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kubesched_lint import work
from kubesched_lint.cluster.nodeset import EMPTY, NodeSet, of, only
from kubesched_lint.cluster.state import Touched
from kubesched_lint.scheduler.scores.levels import Levels, among

Score = Callable[[float, float, int, int], int]
"""Allocatable cpu and memory (infinite if unknown), then the used amounts of both → the node's score."""


class PerNode:
    """Levels of one score for all nodes, updated from the log of touched nodes."""

    def __init__(
        self, allocatable: Sequence[Sequence[float]], taken: Sequence[list[int]], score: Score, touched: Touched
    ) -> None:
        self._cpu, self._memory = allocatable
        self._taken = taken
        self._score = score
        self._touched = touched
        self._epoch = -1
        self._at = 0
        self._known: dict[tuple[float, float, int, int], int] = {}
        self._values: list[int] = []
        self._levels: dict[int, NodeSet] = {}

    def levels(self, nodes: NodeSet) -> Levels:
        self._look()
        return among(self._levels, nodes)

    def _look(self) -> None:
        touched = self._touched
        if touched.epoch == self._epoch:
            for position in touched.positions[self._at :]:
                self._move(position)
        else:
            work.spend(len(self._cpu))
            self._values = [
                self._value(*numbers) for numbers in zip(self._cpu, self._memory, *self._taken, strict=True)
            ]
            members: dict[int, list[int]] = {}
            for position, value in enumerate(self._values):
                members.setdefault(value, []).append(position)
            self._levels = {value: of(at) for value, at in members.items()}
            self._epoch = touched.epoch
        self._at = len(touched.positions)

    def _move(self, position: int) -> None:
        cpu, memory = self._taken
        numbers = self._cpu[position], self._memory[position], cpu[position], memory[position]
        before, after = self._values[position], self._value(*numbers)
        if before == after:
            return
        bit = only(position)
        left = self._levels[before] ^ bit
        if left:
            self._levels[before] = left
        else:
            del self._levels[before]
        self._levels[after] = self._levels.get(after, EMPTY) | bit
        self._values[position] = after

    def _value(self, *numbers: *tuple[float, float, int, int]) -> int:
        value = self._known.get(numbers)
        if value is None:
            value = self._known[numbers] = self._score(*numbers)
        return value
