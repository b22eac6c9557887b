"""A bound, by a linear programme, on how many groups of nodes a set of pods can fill at once.

A pattern is one way to fill a node: a number of pods of each kind that exhausts one resource. Give each pod a price: if
every pattern costs 1 or more, at most as many groups are full as all pods cost together. Any prices give a bound;
column generation (Gilmore and Gomory) finds good ones, so inexact arithmetic can only loosen it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain, repeat
from math import ceil, gcd, inf
from typing import NamedTuple

from kubesched_lint.engine.base import work
from kubesched_lint.engine.events.limits import MOST_PROGRAMMED, STEPS_OF_FILLING

_UNITS = 128
"""Number of units into which the amount to fill is divided; amounts are rounded up to units."""
_CLOSE = 1e-6


class Filler(NamedTuple):
    """Identical pods: requests by resource, number of pods, most on one node, and kinds of nodes they may use."""

    amounts: Mapping[str, int]
    number: int
    on_each: int
    reach: frozenset[int]


class Group(NamedTuple):
    """Identical groups: their number, and (kind, number of nodes) in each. A group is full when all its nodes are."""

    number: int
    nodes: tuple[tuple[int, int], ...]


Pattern = tuple[tuple[int, int], ...]
"""(place of a filler, number of its pods) pairs."""
_NEVER: tuple[float, Pattern] = (inf, ())


class Filling:
    """The groups that a set of pods can fill. Each question goes on where the last one stopped."""

    def __init__(
        self,
        kinds: Sequence[Mapping[str, float]],
        groups: Sequence[Group],
        fillers: Sequence[Filler],
        spared: int = 0,
    ) -> None:
        """``kinds`` has, per kind of node, the amount of each resource to fill; a node is full when one resource is
        filled. A group with no more than ``spared`` nodes left is full as well.
        """
        self._most = sum(group.number for group in groups)
        """The least bound that is known."""
        self._programme: _Programme | None = None
        # Without the programme all groups may be full: true, but it proves nothing.
        if len(groups) + len(fillers) <= MOST_PROGRAMMED:
            knapsacks = [_Knapsack(i, missing, fillers) for i, missing in enumerate(kinds)]
            self._programme = _Programme(knapsacks, groups, fillers, spared)

    def most(self, enough: int) -> int:
        """Return an upper bound on full groups; stop below ``enough``, or when ``enough`` can be reached."""
        programme = self._programme
        if programme is None or self._most < enough or programme.reached >= enough - _CLOSE:
            return self._most
        try:
            with work.within(min(STEPS_OF_FILLING, work.share(0, 100))):
                for _ in range(MOST_PROGRAMMED):
                    bound, better = programme.priced()
                    self._most = min(self._most, int(bound + _CLOSE))
                    if better is None:
                        break
                    programme.enter(*better)
                    if self._most < enough or programme.reached >= enough - _CLOSE:
                        break
        except work.OutOfWorkError:
            pass  # each round's bound holds by itself
        return self._most


class _Item(NamedTuple):
    """The pods of a filler for one resource: units of each, and the most on one node."""

    filler: int
    units: int
    most: int


class _Knapsack:
    """Finds the cheapest pattern that fills a node of one kind."""

    def __init__(self, kind: int, missing: Mapping[str, float], fillers: Sequence[Filler]) -> None:
        self._free = any(cost <= 0 for cost in missing.values())
        self._tasks = []
        for resource, cost in missing.items():
            amounts = [(i, f.amounts.get(resource, 0), f.on_each) for i, f in enumerate(fillers) if kind in f.reach]
            amounts = [item for item in amounts if item[1]]
            if amounts and not self._free:
                unit = gcd(*(amount for _, amount, _ in amounts))
                unit = max(unit, ceil(cost / _UNITS))
                items = [_Item(i, -(-amount // unit), most) for i, amount, most in amounts]
                largest_first = sorted(items, key=lambda item: -item.units)
                self._tasks.append((ceil(cost / unit), items, largest_first))

    def cheapest(self, prices: Sequence[float]) -> tuple[float, Pattern]:
        """Return (price, pattern); the price is infinite if the node cannot be filled."""
        if self._free:
            return 0.0, ()
        covers = [self._cover(*task, prices) for task in self._tasks]
        return min(covers, key=lambda each: each[0], default=_NEVER)

    def _cover(
        self, target: int, items: Sequence[_Item], largest_first: Sequence[_Item], prices: Sequence[float]
    ) -> tuple[float, Pattern]:
        work.spend(len(items) // 4 + 1)
        target, free = _with_free_ones(target, largest_first, prices)
        if not target:
            return 0.0, free
        cost, used = self._bought(target, [item for item in items if prices[item.filler]], prices)
        return cost, (*free, *used) if cost < inf else ()

    def _bought(self, target: int, items: Sequence[_Item], prices: Sequence[float]) -> tuple[float, Pattern]:
        best = [0.0, *[inf] * target]
        """The lowest price to cover at least so many units."""
        offers: list[_Offer] = []
        for i, units, most in items:
            if most * units >= target:  # there are as many as may be useful
                work.spend(target // 4 + 1)
                offers.append(_Offer(units, (i, 1), best, again=True))
                best = _with_any_number(best, units, prices[i])
                continue
            several = 1
            while most > 0:
                several = min(several, most)
                most -= several
                step, price = several * units, several * prices[i]
                work.spend(target // 8 + 1)
                offers.append(_Offer(step, (i, several), best, again=False))
                without = chain(repeat(0.0, step), best)
                best = [old if old <= less + price else less + price for old, less in zip(best, without, strict=False)]
                several *= 2
        return best[target], _used(target, best, offers) if best[target] < inf else ()


def _with_free_ones(target: int, largest_first: Sequence[_Item], prices: Sequence[float]) -> tuple[int, Pattern]:
    """Return the units left to cover after the items without a price, and how many of each are used."""
    used = []
    for filler, units, most in largest_first:
        if prices[filler]:
            continue
        several = min(most, -(-target // units))
        if several:
            used.append((filler, several))
            target -= several * units
            if target <= 0:
                return 0, tuple(used)
    return target, tuple(used)


def _with_any_number(best: Sequence[float], units: int, price: float) -> list[float]:
    """Return the lowest prices if any number of an item may be used besides."""
    cheapest = list(best)
    for covered in range(1, len(cheapest)):
        cost = price + (cheapest[covered - units] if covered > units else 0.0)
        if cost < cheapest[covered]:
            cheapest[covered] = cost
    return cheapest


class _Offer(NamedTuple):
    units: int
    item: tuple[int, int]
    without: Sequence[float]
    """The lowest prices before it."""
    again: bool
    """Whether it may be used any number of times."""


def _used(covered: int, best: Sequence[float], offers: Sequence[_Offer]) -> Pattern:
    """Return the items that lowered the price of ``covered`` units."""
    used: list[tuple[int, int]] = []
    for offer in reversed(offers):
        while best[covered] < offer.without[covered]:
            used.append(offer.item)
            covered = max(covered - offer.units, 0)
            if not offer.again:
                break
        best = offer.without
    return tuple(reversed(used))


class _Programme:
    """The revised simplex method: a row per kind of pods and of groups, a column per pattern and per slack of a row."""

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
        """Per row, the objective of its basic column: 1 for a pattern, 0 for slack."""
        self._values = list(self._limits)

    @property
    def reached(self) -> float:
        return sum(w * v for w, v in zip(self._worth, self._values, strict=True))

    def priced(self) -> tuple[float, tuple[int, Pattern] | None]:
        """Return a bound by the current prices, and the column that gains the most, or None if none gains."""
        of_patterns = [row for row, worth in zip(self._inverse, self._worth, strict=True) if worth]
        duals: list[float] = [*map(sum, zip(*of_patterns, strict=True))] or [0.0] * len(self._limits)
        prices = [max(dual, 0.0) for dual in duals[: self._pods]]
        bound = sum(p * limit for p, limit in zip(prices, self._limits, strict=False))
        slack = min(range(len(duals)), key=duals.__getitem__)
        gain, better = -duals[slack], (-1 - slack, ())
        cheapest = [knapsack.cheapest(prices) for knapsack in self._knapsacks]
        improving: tuple[int, Pattern] = better
        for number, group in enumerate(self._groups):
            cost, pattern = self._whole(group, cheapest)
            bound += group.number * max(0.0, 1 - cost)
            if 1 - cost - duals[self._pods + number] > gain:
                gain, improving = 1 - cost - duals[self._pods + number], (number, pattern)
        return bound, improving if gain > _CLOSE else None

    def _whole(self, group: Group, cheapest: Sequence[tuple[float, Pattern]]) -> tuple[float, Pattern]:
        """Return (cost, pattern) to fill all nodes of a group except the most expensive ones, which are spared."""
        cost, used, spared = 0.0, list[tuple[int, int]](), self._spared
        for kind, times in sorted(group.nodes, key=lambda part: -cheapest[part[0]][0]):
            filled = max(times - spared, 0)
            spared -= times - filled
            if filled:
                cost += cheapest[kind][0] * filled
                used += [(i, n * filled) for i, n in cheapest[kind][1]]
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
