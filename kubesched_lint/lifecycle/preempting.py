"""Whom a waiting pod of the set may drive from which node, whatever the ages of the pods there.

The model forgets how old pods are, and upstream asks: among pods of equal priority the older ones stay. So every order
of a node's pods is tried, and a node may be chosen when for each other node some order makes that one no better
(``pickOneNodeForPreemption``, ``MoreImportantPod``; see scheduler.preemption). The victims go and the pod is bound in
one move: with two ranks only, nobody can take the place that is nominated for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, product
from typing import NamedTuple

from kubesched_lint.cluster.nodeset import NodeSet, positions
from kubesched_lint.cluster.state import ClusterState, Placement
from kubesched_lint.model.pod import Pod
from kubesched_lint.scheduler.preemption import cost, victims_on

MOST_ORDERS = 60
"""Orders of the pods of one node; beyond, nobody tries them all."""


class Eviction(NamedTuple):
    """A node, and by slot how many pods have to leave it."""

    position: int
    victims: tuple[tuple[int, int], ...]


Option = tuple[tuple[int, int, int, int], Eviction]


def evictions(
    pod: Pod, resolvable: NodeSet, standing: Mapping[int, Sequence[tuple[int, Placement]]], cluster: ClusterState
) -> list[Eviction] | None:
    """What the default preemption may do for a pod that fits nowhere; None when the orders are too many to try.

    ``standing`` has per position the pods of the set there, each with its slot; no others have a lower priority.
    """
    options: list[list[Option]] = []
    for position in positions(resolvable):
        weaker = [(s, p) for s, p in standing.get(position, ()) if (p.pod.priority or 0) < (pod.priority or 0)]
        orders = list(islice(_orders(weaker), MOST_ORDERS + 1)) if weaker else []
        if len(orders) > MOST_ORDERS:
            return None
        slots = {id(p): s for s, p in weaker}
        here = dict.fromkeys(o for order in orders if (o := _option(pod, position, order, slots, cluster)) is not None)
        if here:
            options.append(list(here))
    worst = [max(c for c, _ in here) for here in options]
    return [
        eviction
        for i, here in enumerate(options)
        for price, eviction in here
        if all(price <= other for j, other in enumerate(worst) if j != i)
    ]


def _option(
    pod: Pod, position: int, order: Sequence[Placement], slots: Mapping[int, int], cluster: ClusterState
) -> Option | None:
    found = victims_on(pod, position, order, cluster)
    if found is None or not found.victims:
        return None
    counts: dict[int, int] = {}
    for victim in found.victims:
        counts[slots[id(victim)]] = counts.get(slots[id(victim)], 0) + 1
    return cost(found), Eviction(position, tuple(sorted(counts.items())))


def _orders(weaker: Sequence[tuple[int, Placement]]) -> Iterator[list[Placement]]:
    """Orders by falling priority; among equals every one that pods of different slots can have."""
    ranks: dict[int, dict[int, list[Placement]]] = {}
    for slot, placement in weaker:
        ranks.setdefault(-(placement.pod.priority or 0), {}).setdefault(slot, []).append(placement)
    for parts in product(*(_interleaved([ranks[r][s] for s in ranks[r]]) for r in sorted(ranks))):
        yield [placement for part in parts for placement in part]


def _interleaved(runs: Sequence[Sequence[Placement]]) -> Iterator[list[Placement]]:
    left = [run for run in runs if run]
    if not left:
        yield []
        return
    for i, run in enumerate(left):
        for rest in _interleaved([*left[:i], run[1:], *left[i + 1 :]]):
            yield [run[0], *rest]
