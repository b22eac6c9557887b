"""Scores that depend on the node alone are kept, and only nodes whose numbers have changed are scored again."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kubesched_lint.cluster.nodeset import EMPTY, NodeSet, of, only
from kubesched_lint.scheduler.scores.levels import Levels, among

Score = Callable[[float, float, int, int], int]
"""Allocatable cpu and memory (infinite where unknown), then what is taken of both → the node's score."""


class PerNode:
    """Levels of one score for all nodes, kept up to date by looking at the numbers it is made from."""

    def __init__(self, allocatable: Sequence[Sequence[float]], taken: Sequence[list[int]], score: Score) -> None:
        self._cpu, self._memory = allocatable
        self._taken = taken
        self._seen: list[list[int]] = []
        self._score = score
        self._known: dict[tuple[float, float, int, int], int] = {}
        self._values: list[int] = []
        self._levels: dict[int, NodeSet] = {}

    def levels(self, nodes: NodeSet) -> Levels:
        self._look()
        return among(self._levels, nodes)

    def _look(self) -> None:
        if not self._seen:
            self._values = list(map(self._value, range(len(self._cpu))))
            members: dict[int, list[int]] = {}
            for position, value in enumerate(self._values):
                members.setdefault(value, []).append(position)
            self._levels = {value: of(at) for value, at in members.items()}
            self._seen = [list(numbers) for numbers in self._taken]
            return
        for now, then in zip(self._taken, self._seen, strict=True):
            if now != then:
                for position, number in enumerate(now):
                    if number != then[position]:
                        then[position] = number
                        self._move(position)

    def _move(self, position: int) -> None:
        before, after = self._values[position], self._value(position)
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

    def _value(self, position: int) -> int:
        cpu, memory = self._taken
        key = (self._cpu[position], self._memory[position], cpu[position], memory[position])
        value = self._known.get(key)
        if value is None:
            value = self._known[key] = self._score(*key)
        return value
