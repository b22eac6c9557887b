"""A score for many nodes at once: each occurring value with the set of nodes that have it.

A hundred values cover five thousand nodes, so sums and maxima are a few set operations.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeVar

from kubesched_lint.engine.cluster.nodeset import EMPTY, NodeSet, positions
from kubesched_lint.engine.cluster.topology import NodeCounter

Levels = Mapping[int, NodeSet]
"""Value → nodes, not empty. Every node has one value."""

MAX_NODE_SCORE = 100

_Value = TypeVar("_Value", int, float)
_Best = tuple[int, NodeSet] | None
"""The greatest sum so far, and the nodes that reach it."""


def level(value: int, nodes: NodeSet) -> Levels:
    """Return the same value for all of ``nodes``."""
    return {value: nodes} if nodes else {}


def among(levels: Mapping[_Value, NodeSet], nodes: NodeSet) -> dict[_Value, NodeSet]:
    """Return the levels of these nodes only."""
    return {value: common for value, members in levels.items() if (common := members & nodes)}


def plus(left: Mapping[_Value, NodeSet], right: Mapping[_Value, NodeSet]) -> dict[_Value, NodeSet]:
    """Return the sum per node, over the nodes that both have."""
    if len(left) == 1 == len(right):  # by far the most frequent case
        (a, nodes), (b, there) = next(iter(left.items())), next(iter(right.items()))
        return {a + b: both} if (both := nodes & there) else {}
    sums: dict[_Value, NodeSet] = {}
    for a, nodes in left.items():
        for b, there in right.items():
            both = nodes & there
            if both:
                sums[a + b] = sums.get(a + b, EMPTY) | both
                nodes ^= both
                if not nodes:
                    break
    return sums


def times(levels: Levels, factor: int) -> Levels:
    return levels if factor == 1 else {value * factor: nodes for value, nodes in levels.items()}


def raised(levels: Levels, nodes: NodeSet, amount: int) -> Levels:
    """Return the levels with ``amount`` added for the nodes in ``nodes``."""
    higher: dict[int, NodeSet] = {}
    for value, members in levels.items():
        for key, part in ((value + amount, members & nodes), (value, members & ~nodes)):
            if part:
                higher[key] = higher.get(key, EMPTY) | part
    return higher


def of_tally(tally: NodeCounter, nodes: NodeSet) -> Levels:
    """Return the counts of ``nodes``."""
    counts = level(0, nodes)
    for k, plane in enumerate(tally.planes):
        if plane & nodes:
            counts = raised(counts, plane, 1 << k)
    return counts


def by_position(levels: Levels) -> Iterator[tuple[int, int]]:
    """Yield ``(position, value)`` of every node, grouped by value."""
    for value, nodes in levels.items():
        for position in positions(nodes):
            yield position, value


def scaled(levels: Levels, *, reverse: bool = False) -> Levels:
    """Return values scaled to 0 to 100: the greatest becomes 100, or 0 with ``reverse``. Values must not be negative.

    Mirrors ``plugins/helper/normalize_score.go`` (v1.36), DefaultNormalizeScore.
    """
    most = max(levels, default=0)
    if not most:
        return {MAX_NODE_SCORE: levels[0]} if reverse and levels else levels
    by_score: dict[int, NodeSet] = {}
    for value, nodes in levels.items():
        value = MAX_NODE_SCORE * value // most
        if reverse:
            value = MAX_NODE_SCORE - value
        by_score[value] = by_score.get(value, EMPTY) | nodes
    return by_score


def highest(parts: Sequence[Levels], nodes: NodeSet) -> tuple[int, NodeSet]:
    """Return the greatest sum over all parts among ``nodes``, and the nodes that reach it.

    Every node must have a value in every part. The parts are not added up: the search goes from each part's best values
    downwards and stops when the rest cannot reach the best sum.
    """
    ranked = [sorted(part.items(), reverse=True) for part in sorted(parts, key=len)]
    reach = [0]  # the most that the parts from here on can add
    for part in reversed(ranked):
        reach.append(reach[-1] + (part[0][0] if part else 0))
    reach.reverse()
    return (_best(ranked, reach, 0, nodes, None) if nodes else None) or (0, EMPTY)


def _best(
    ranked: Sequence[Sequence[tuple[int, NodeSet]]], reach: Sequence[int], total: int, left: NodeSet, best: _Best
) -> _Best:
    """Return the better of ``best`` and of what the parts add to the ``total`` of some nodes.

    A function within ``highest`` that calls itself would leave a reference cycle for each decision of a scheduler.
    """
    if not ranked:
        return (total, left) if best is None or total > best[0] else (total, best[1] | left)
    for value, members in ranked[0]:
        if best is not None and total + value + reach[1] < best[0]:
            break
        both = left & members
        if both:
            best = _best(ranked[1:], reach[1:], total + value, both, best)
    return best
