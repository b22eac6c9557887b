"""A pod group's cycle written once more, plainly: one random course at a time, every decision made anew."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from kubesched_lint.engine.cluster.nodeset import NodeSet, only, positions
from kubesched_lint.engine.cluster.state import ClusterState
from kubesched_lint.engine.model.pod import BoundPod
from kubesched_lint.engine.model.policy import PodGroup
from kubesched_lint.engine.scheduler.framework import filter_node
from kubesched_lint.engine.scheduler.scoring import score

Places = dict[str, int]


def seen_counts(group: PodGroup, pods: Sequence[BoundPod], where: ClusterState, rounds: int) -> set[int]:
    return {len(_course(group, pods, where, Random(seed))) for seed in range(rounds)}


def _course(group: PodGroup, pods: Sequence[BoundPod], where: ClusterState, random: Random) -> Places:
    """Create the pods one after another; the scheduler runs in between as often as it likes, and at the end."""
    least = group.min_count or 1
    if len(pods) < least:
        return {}
    early = list(pods[: least - 1])
    random.shuffle(early)
    order = [pods[least - 1], *early, *pods[least:]]
    exist, placed = random.randint(least, len(pods)), Places()
    mark = where.mark()
    while True:
        ready = [b for b in order[:exist] if b.name not in placed]
        new = _cycle(group, ready, placed, where, random)
        for bound in ready:
            if bound.name in new:
                where.place(bound.pod, new[bound.name])
        placed |= new
        if not new and exist == len(order):
            where.undo(mark)
            return placed
        exist = random.randint(exist, len(order)) if new else len(order)


def _cycle(group: PodGroup, pods: Sequence[BoundPod], placed: Places, where: ClusterState, random: Random) -> Places:
    tried = []
    for among in _domains(group, placed, where):
        new = _try(pods, among, where, random)
        if new and len(new) + len(placed) >= (group.min_count or 1):
            tried.append((among, new))
    if not tried:
        return {}
    most = max(len(new) for _, new in tried)
    ranked = [(_rank(pods, among, new, most, placed, where), new) for among, new in tried]
    best = max(rank for rank, _ in ranked)
    return random.choice([new for rank, new in ranked if rank == best])


def _domains(group: PodGroup, placed: Places, where: ClusterState) -> list[NodeSet]:
    if not group.topology_key:
        return [where.index.all]
    found = where.index.domains(group.topology_key).values()
    held = sum(only(at) for at in set(placed.values()))
    return [among for among in found if among & held == held]


def _try(pods: Sequence[BoundPod], among: NodeSet, where: ClusterState, random: Random) -> Places:
    mark, new = where.mark(), Places()
    for bound in pods:
        fit = sum(only(at) for at in positions(among) if not filter_node(bound.pod, where, at))
        if not fit:
            continue
        total = score(bound.pod, where, fit).total
        best = [name for name, value in total.items() if value == max(total.values())]
        new[bound.name] = where.index.position(random.choice(best))
        where.place(bound.pod, new[bound.name])
    where.undo(mark)
    return new


def _rank(pods: Sequence[BoundPod], among: NodeSet, new: Places, most: int, placed: Places, where: ClusterState) -> int:
    shares = []
    for resource, missing in (("cpu", 100), ("memory", 200 << 20)):
        asked = sum(b.pod.requests.get(resource, missing) for b in pods if b.name in new)
        capacity = sum(int(where.index.allocatable(resource)[at]) for at in positions(among))
        taken = where.nonzero_cpu if resource == "cpu" else where.nonzero_memory
        used = sum(taken[at] for at in positions(among))
        shares.append(min(asked + used, capacity) * 100 // capacity)
    return (len(new) + len(placed)) * 100 // (most + len(placed)) + sum(shares) // 2
