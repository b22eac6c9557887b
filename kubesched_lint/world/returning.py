"""Pods of others that the set may preempt, but that run again in the end: their room is taken, though not their node.

A controller makes them anew, and weaker pods cannot keep them from a node (see ``Staying``). So they surely run if
pods of their own priority or more always leave room for one on some node.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from kubesched_lint.cluster.ledger import PODS
from kubesched_lint.cluster.nodeset import NodeSet, positions
from kubesched_lint.model.pod import Pod, knows_scheduler, profile_of
from kubesched_lint.scheduler.framework import static_feasible
from kubesched_lint.world.running import pods_of_others
from kubesched_lint.world.staying import staying_beside_set
from kubesched_lint.world.world import World, once_per_world

_REMADE = ("ReplicaSet", "ReplicationController", "StatefulSet")


class Returning(NamedTuple):
    pod: Pod
    number: int
    nodes: NodeSet
    """Where they may run."""


@once_per_world
def returning_beside_set(world: World) -> tuple[Returning, ...]:
    """Return the preempted pods that surely run again; none where nodes may come, which nobody knows."""
    if world.pools or world.is_elastic or staying_beside_set(world) is pods_of_others(world):
        return ()
    gone = list(_gone(world))
    return tuple(one for one in gone if _runs_again(world, one, gone))


def _gone(world: World) -> Iterator[Returning]:
    stay = frozenset(staying_beside_set(world).pods)
    for group in pods_of_others(world).alike:
        made = [b for b in group.bound if b not in stay and b.owner is not None and b.owner.kind in _REMADE]
        if made and not group.terminating:
            yield Returning(group.pod, len(made), static_feasible(group.pod, world.index))


def _runs_again(world: World, one: Returning, gone: list[Returning]) -> bool:
    pod, free = one.pod, staying_beside_set(world).state.ledger.free
    if not _is_kept_out_by_room_alone(pod) or any(p.required_anti_affinity for p, _ in _rivals(world, one, gone)):
        return False
    asked = {**pod.requests, PODS: 1}
    taken = dict.fromkeys(asked, 0)
    for rival, number in _rivals(world, one, gone):
        for resource, amount in {**rival.requests, PODS: 1}.items():
            if resource in taken:
                taken[resource] += amount * number
    return any(all(free(r)[p] - taken[r] >= amount for r, amount in asked.items()) for p in positions(one.nodes))


def _is_kept_out_by_room_alone(pod: Pod) -> bool:
    preempts = pod.preemption_policy != "Never" and knows_scheduler(pod) and profile_of(pod).preempts
    looks = pod.required_affinity or pod.required_anti_affinity or any(c.is_hard for c in pod.spread) or pod.group
    needs = pod.host_ports or pod.volumes or pod.resource_claims or pod.scheduling_gates or pod.node_name
    return preempts and not (looks or needs)


def _rivals(world: World, one: Returning, gone: list[Returning]) -> Iterator[tuple[Pod, int]]:
    """Yield the pods of at least its priority that may be on its node, with how many of them."""
    rank = one.pod.priority or 0
    for workload in world.manifests.workloads:
        pod = world.member(workload).pod
        if (pod.priority is None and pod.priority_class) or (pod.priority or 0) >= rank:
            yield pod, 1 if workload.kind == "DaemonSet" else world.member(workload).replicas
    for other in gone:
        if (other.pod.priority or 0) >= rank:
            yield other.pod, other.number - (other is one)
