"""A ReplicaSet that shrinks takes its pods away in a fixed order of merit; what is equal there is drawn.

Mirrors ``pkg/controller/controller_utils.go`` (v1.36), ActivePodsWithRanks.Less, and ``replicaset/replica_set.go``,
getPodsRankedByRelatedPodsOnSameNode. The age of pods is left out: more orders are possible than really are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence


def victims(
    waiting: int, standing: Sequence[tuple[int, int, int]], count: int
) -> Iterator[tuple[int, tuple[tuple[int, int], ...]]]:
    """The possible choices of ``count`` pods to delete: how many waiting ones, and ``(node, how many)`` of the others.

    Waiting pods go first. ``standing`` has ``(node, pods, siblings)``: pods of this ReplicaSet on the node, and pods of
    all ReplicaSets of the same owner there. More siblings go first, by ranks that are computed once for all.
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
    """Every way to take ``count`` pods from nodes that hold so many each: first those that spare the first nodes.

    None where they hold fewer. One by one, without recursion: there may be many nodes, and more ways than anybody can
    wait for.
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
