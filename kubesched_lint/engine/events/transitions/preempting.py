"""Which pods a waiting pod of the set may preempt on which node, whatever the ages of the pods there.

The model has no ages of pods, but upstream uses them: among pods of equal priority the older ones stay. So try every
order of a node's pods; a node may be chosen if for each other node some order makes that one no better
(``pickOneNodeForPreemption``, ``MoreImportantPod``; see scheduler.preemption). One move deletes the victims and binds
the pod: with only two ranks, no other pod can take its nominated node.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, product
from random import Random
from typing import NamedTuple

from kubesched_lint.engine.cluster.nodeset import NodeSet, positions
from kubesched_lint.engine.cluster.state import ClusterState, Placement
from kubesched_lint.engine.events.limits import MOST_TRIED
from kubesched_lint.engine.model.pod import Pod
from kubesched_lint.engine.model.policy import DisruptionBudget
from kubesched_lint.engine.scheduler.preemption.preemption import cost, victims_on


class Preemption(NamedTuple):
    """A node, and (slot, number of pods that must leave it) pairs."""

    position: int
    victims: tuple[tuple[int, int], ...]


Option = tuple[tuple[int, int, int, int], Preemption]


def evictions(
    pod: Pod, resolvable: NodeSet, standing: Mapping[int, Sequence[tuple[int, Placement]]], cluster: ClusterState
) -> list[Preemption] | None:
    """Return the default preemptions for a pod that fits nowhere; None if there are too many orders to try.

    ``standing`` has, per position, (slot, pod) for the pods of the set; no other pods have a lower priority.
    """
    options: list[list[Option]] = []
    for position in positions(resolvable):
        weaker = [(s, p) for s, p in standing.get(position, ()) if (p.pod.priority or 0) < (pod.priority or 0)]
        orders = list(islice(_orders(weaker), MOST_TRIED + 1)) if weaker else []
        if len(orders) > MOST_TRIED:
            return None
        slots = {p: s for s, p in weaker}
        ordered = dict.fromkeys(
            o for order in orders if (o := _option(pod, position, order, slots, cluster)) is not None
        )
        if ordered:
            options.append(list(ordered))
    worst = [max(c for c, _ in choices) for choices in options]
    return [
        eviction
        for i, choices in enumerate(options)
        for price, eviction in choices
        if all(price <= other for j, other in enumerate(worst) if j != i)
    ]


def any_eviction(
    pod: Pod,
    resolvable: NodeSet,
    standing: Mapping[int, Sequence[tuple[int, Placement]]],
    cluster: ClusterState,
    budgets: Sequence[tuple[DisruptionBudget, int]],
    random: Random,
) -> Preemption | None:
    """Return one default preemption for a pod that fits nowhere, with pods of equal priority in a random order of ages.

    None if no eviction helps. ``budgets`` have the numbers of pods that may be evicted; else as ``evictions``.
    """
    priced: list[Option] = []
    for position in positions(resolvable):
        weaker = [(s, p) for s, p in standing.get(position, ()) if (p.pod.priority or 0) < (pod.priority or 0)]
        if weaker:
            random.shuffle(weaker)
            order = sorted((p for _, p in weaker), key=lambda p: -(p.pod.priority or 0))
            option = _option(pod, position, order, {p: s for s, p in weaker}, cluster, budgets)
            priced += [] if option is None else [option]
    least = min((price for price, _ in priced), default=None)
    return None if least is None else random.choice([eviction for price, eviction in priced if price == least])


def _option(
    pod: Pod,
    position: int,
    order: Sequence[Placement],
    slots: Mapping[Placement, int],
    cluster: ClusterState,
    budgets: Sequence[tuple[DisruptionBudget, int]] = (),
) -> Option | None:
    victims = victims_on(pod, position, order, cluster, budgets)
    if victims is None or not victims.victims:
        return None
    counts: dict[int, int] = {}
    for victim in victims.victims:
        counts[slots[victim]] = counts.get(slots[victim], 0) + 1
    return cost(victims), Preemption(position, tuple(sorted(counts.items())))


def _orders(weaker: Sequence[tuple[int, Placement]]) -> Iterator[list[Placement]]:
    """Yield the orders by falling priority; with equal priority, every order of pods of different slots."""
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
