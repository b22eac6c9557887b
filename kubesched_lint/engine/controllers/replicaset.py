"""A shrinking ReplicaSet deletes pods in a fixed order; ties can be broken in any way.

Mirrors ``pkg/controller/controller_utils.go`` (v1.36), ActivePodsWithRanks.Less, and ``replicaset/replica_set.go``,
getPodsRankedByRelatedPodsOnSameNode. The age of pods is ignored, so this allows more orders than are possible.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from random import Random

Drawn = tuple[tuple[int, int], ...]
"""(node, number of pods taken from it)"""
Draws = Callable[[Sequence[tuple[int, int]], int], Iterator[Drawn]]
"""``draws``, or ``one_draw`` of it."""


def victims(
    waiting: int, standing: Sequence[tuple[int, int, int]], count: int, among: Draws
) -> Iterator[tuple[int, Drawn]]:
    """Yield the possible choices of ``count`` pods to delete: the number of waiting pods, and (node, count) of the
    others. ``among`` chooses between pods of equal rank.

    Waiting pods go first. ``standing`` holds (node, pods of this ReplicaSet, pods of all ReplicaSets of the same
    owner). Nodes with more pods of the owner go first; these ranks are computed once.
    """
    from_waiting = min(waiting, count)
    left = count - from_waiting
    sure: list[tuple[int, int]] = []
    by_rank: dict[int, list[tuple[int, int]]] = {}
    for node, pods, siblings in standing:
        by_rank.setdefault(siblings, []).append((node, pods))
    for rank in sorted(by_rank, reverse=True):
        group = by_rank[rank]
        if left < sum(pods for _, pods in group):
            for drawn in among(group, left):
                yield from_waiting, (*sure, *drawn)
            return
        sure += group
        left -= sum(pods for _, pods in group)
    yield from_waiting, tuple(sure)


def draws(group: Sequence[tuple[int, int]], count: int) -> Iterator[Drawn]:
    """Yield every way to take ``count`` pods from nodes with the given numbers; ways that spare the first nodes come
    first.

    Nothing if the nodes hold fewer pods. A generator without recursion, because nodes and ways can be very many.
    """
    behind = [0]
    for _, pods in reversed(group):
        behind.insert(0, behind[0] + pods)
    if count > behind[0]:
        return
    amounts = [0] * len(group)

    def fill(start: int, left: int) -> None:
        for i in range(start, len(group)):
            amounts[i] = max(0, left - behind[i + 1])
            left -= amounts[i]

    fill(0, count)
    while True:
        yield tuple((node, drawn) for (node, _), drawn in zip(group, amounts, strict=True) if drawn)
        after = 0
        for i in reversed(range(len(group))):
            if after and amounts[i] < group[i][1]:
                amounts[i] += 1
                fill(i + 1, after - 1)
                break
            after += amounts[i]
        else:
            return


def one_draw(random: Random) -> Draws:
    """Return what yields one of ``draws``, as a controller draws it: each pod is as likely as any other.

    So a way is as likely as the number of sets of pods that it stands for.
    """

    def drawn(group: Sequence[tuple[int, int]], count: int) -> Iterator[Drawn]:
        if not count:
            yield ()
        elif count <= sum(pods for _, pods in group):
            taken = Counter(random.sample(range(len(group)), count, counts=[pods for _, pods in group]))
            yield tuple((node, taken[i]) for i, (node, _) in enumerate(group) if i in taken)

    return drawn
