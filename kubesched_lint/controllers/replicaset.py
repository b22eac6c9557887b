"""A shrinking ReplicaSet deletes pods in a fixed order; ties can be broken in any way.

Mirrors ``pkg/controller/controller_utils.go`` (v1.36), ActivePodsWithRanks.Less, and ``replicaset/replica_set.go``,
getPodsRankedByRelatedPodsOnSameNode. The age of pods is ignored, so this allows more orders than are possible.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence


def victims(
    waiting: int, standing: Sequence[tuple[int, int, int]], count: int
) -> Iterator[tuple[int, tuple[tuple[int, int], ...]]]:
    """Yield the possible choices of ``count`` pods to delete: the number of waiting pods, and (node, count) of the
    others.

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
            for drawn in draws(group, left):
                yield from_waiting, (*sure, *drawn)
            return
        sure += group
        left -= sum(pods for _, pods in group)
    yield from_waiting, tuple(sure)


def draws(group: Sequence[tuple[int, int]], count: int) -> Iterator[tuple[tuple[int, int], ...]]:
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
        yield tuple((node, here) for (node, _), here in zip(group, amounts, strict=True) if here)
        after = 0
        for i in reversed(range(len(group))):
            if after and amounts[i] < group[i][1]:
                amounts[i] += 1
                fill(i + 1, after - 1)
                break
            after += amounts[i]
        else:
            return
