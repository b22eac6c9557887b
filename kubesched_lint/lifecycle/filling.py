"""How many groups of nodes a crowd of pods can fill at once, as tight as a linear programme bounds it.

Each way to fill a node is a pattern: so many pods of each kind, enough of one resource. What patterns are worth is
told by prices of pods: where every pattern costs 1 or more, no more groups are full than what all pods cost together.
Any prices give a bound; good ones are found by generating patterns (Gilmore and Gomory), so that inexact arithmetic
can only loosen it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil, gcd, inf
from typing import NamedTuple

from kubesched_lint import work

MOST_STEPS = 8_000
"""Of one question: a sharper bound for one cell is not worth the cells that come later, see ``work``."""
MOST_ROUNDS = 80
MOST_ROWS = 60
"""Kinds of pods and of groups together: beyond, the programme is not tried."""
_UNITS = 128
"""Amounts are rounded up to so many parts of what has to be filled."""
_CLOSE = 1e-6


class Filler(NamedTuple):
    """Pods that are alike: so many, so many on one node at most, and on which kinds of nodes."""

    amounts: Mapping[str, int]
    number: int
    on_each: int
    reach: frozenset[int]


class Group(NamedTuple):
    """So many groups that are alike, each with so many nodes of each kind: it is full when all of them are."""

    number: int
    nodes: tuple[tuple[int, int], ...]


Pattern = tuple[tuple[int, int], ...]
"""Which fillers, and how many of each."""
_NEVER: tuple[float, Pattern] = (inf, ())


def full_groups(
    kinds: Sequence[Mapping[str, float]],
    groups: Sequence[Group],
    fillers: Sequence[Filler],
    enough: int,
    spared: int = 0,
) -> int:
    """At most so many groups are full; no better bound is looked for below ``enough``, or where that can be reached.

    ``kinds`` has per kind of node what is missing of each resource; a node is full when nothing is missing of one.
    A group that has no more than ``spared`` nodes left is full as well.
    """
    most = sum(group.number for group in groups)
    if len(groups) + len(fillers) > MOST_ROWS:
        return most
    programme = _Programme([_Knapsack(i, missing, fillers) for i, missing in enumerate(kinds)], groups, fillers, spared)
    try:
        with work.within(min(MOST_STEPS, work.share(0, 100))):
            for _ in range(MOST_ROUNDS):
                bound, better = programme.priced()
                most = min(most, int(bound + _CLOSE))
                if most < enough or programme.reached >= enough - _CLOSE or better is None:
                    break
                programme.enter(*better)
    except work.OutOfWorkError:
        pass  # each round's bound holds by itself
    return most


class _Knapsack:
    """The cheapest pattern that fills a node of one kind."""

    def __init__(self, kind: int, missing: Mapping[str, float], fillers: Sequence[Filler]) -> None:
        self._free = any(cost <= 0 for cost in missing.values())
        self._tasks = []
        for resource, cost in missing.items():
            here = [(i, f.amounts.get(resource, 0), f.on_each) for i, f in enumerate(fillers) if kind in f.reach]
            here = [item for item in here if item[1]]
            if here and not self._free:
                unit = gcd(*(amount for _, amount, _ in here))
                unit = max(unit, ceil(cost / _UNITS))
                self._tasks.append((ceil(cost / unit), [(i, -(-amount // unit), most) for i, amount, most in here]))

    def cheapest(self, prices: Sequence[float]) -> tuple[float, Pattern]:
        """Its price is infinite where the node cannot be filled."""
        if self._free:
            return 0.0, ()
        found = (self._cover(target, items, prices) for target, items in self._tasks)
        return min(found, key=lambda each: each[0], default=_NEVER)

    def _cover(
        self, target: int, items: Sequence[tuple[int, int, int]], prices: Sequence[float]
    ) -> tuple[float, Pattern]:
        best: list[tuple[float, Pattern]] = [(0.0, ()), *[_NEVER] * target]
        """By units that are covered, at least."""
        for i, units, most in items:
            most = min(most, -(-target // units))
            several = 1
            while most > 0:
                several = min(several, most)
                most -= several
                step, price, used = several * units, several * prices[i], (i, several)
                work.spend(target // 8 + 1)
                for covered in range(target, 0, -1):
                    before = best[max(covered - step, 0)]
                    if before[0] + price < best[covered][0]:
                        best[covered] = (before[0] + price, (*before[1], used))
                several *= 2
        return best[target]


class _Programme:
    """The simplex method, revised: a row per kind of pod and of group, a column per pattern and per row's slack."""

    def __init__(
        self, knapsacks: Sequence[_Knapsack], groups: Sequence[Group], fillers: Sequence[Filler], spared: int
    ) -> None:
        self._spared = spared
        self._knapsacks = knapsacks
        self._groups = groups
        self._pods = len(fillers)
        self._limits = [float(f.number) for f in fillers] + [float(g.number) for g in groups]
        rows = range(len(self._limits))
        self._inverse = [[float(i == j) for j in rows] for i in rows]
        self._worth = [0.0 for _ in rows]
        """Of the column in each row: 1 for a pattern, 0 for slack."""
        self._values = list(self._limits)

    @property
    def reached(self) -> float:
        return sum(w * v for w, v in zip(self._worth, self._values, strict=True))

    def priced(self) -> tuple[float, tuple[int, Pattern] | None]:
        """A bound by the prices of this moment, and the column that gains the most, if one does."""
        columns = list(zip(*self._inverse, strict=True))
        duals = [sum(w * v for w, v in zip(self._worth, column, strict=True) if w) for column in columns]
        prices = [max(dual, 0.0) for dual in duals[: self._pods]]
        bound = sum(p * limit for p, limit in zip(prices, self._limits, strict=False))
        slack = min(range(len(duals)), key=duals.__getitem__)
        gain, better = -duals[slack], (-1 - slack, ())
        told = [knapsack.cheapest(prices) for knapsack in self._knapsacks]
        found: tuple[int, Pattern] = better
        for number, group in enumerate(self._groups):
            cost, pattern = self._whole(group, told)
            bound += group.number * max(0.0, 1 - cost)
            if 1 - cost - duals[self._pods + number] > gain:
                gain, found = 1 - cost - duals[self._pods + number], (number, pattern)
        return bound, found if gain > _CLOSE else None

    def _whole(self, group: Group, told: Sequence[tuple[float, Pattern]]) -> tuple[float, Pattern]:
        """What it costs to fill all nodes of a group but for the dearest ones, which are spared."""
        cost, used, spared = 0.0, list[tuple[int, int]](), self._spared
        for kind, times in sorted(group.nodes, key=lambda part: -told[part[0]][0]):
            filled = max(times - spared, 0)
            spared -= times - filled
            if filled:
                cost += told[kind][0] * filled
                used += [(i, n * filled) for i, n in told[kind][1]]
        return cost, tuple(used)

    def enter(self, which: int, pattern: Pattern) -> None:
        """Put a column into the basis: that of a group, or the slack of a row (below 0)."""
        size = len(self._limits)
        column = [0.0] * size
        if which < 0:
            column[-1 - which] = 1.0
        else:
            column[self._pods + which] = 1.0
            for i, n in pattern:
                column[i] += n
        work.spend(size * size // 4)
        turned = [sum(r * c for r, c in zip(row, column, strict=True) if c) for row in self._inverse]
        steps = [(value / t, i) for i, (value, t) in enumerate(zip(self._values, turned, strict=True)) if t > 1e-9]
        if not steps:
            return
        step, row = min(steps)
        pivot = self._inverse[row] = [r / turned[row] for r in self._inverse[row]]
        for i, t in enumerate(turned):
            if i != row and t:
                self._inverse[i] = [r - t * p for r, p in zip(self._inverse[i], pivot, strict=True)]
                self._values[i] = max(self._values[i] - t * step, 0.0)
        self._values[row] = step
        self._worth[row] = float(which >= 0)
