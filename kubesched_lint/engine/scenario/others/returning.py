"""Pods of others that the set may preempt, but that run again in the end: their room is taken, though not their node.

A controller makes them anew, and weaker pods cannot keep them from a node (``scheduler/eviction``). So they surely run
if pods of their own priority or more always leave room for one on some node.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from kubesched_lint.engine.cluster.ledger import PODS
from kubesched_lint.engine.cluster.nodeset import NodeSet, positions
from kubesched_lint.engine.model.pod import Pod
from kubesched_lint.engine.scenario.others.running import pods_of_others
from kubesched_lint.engine.scenario.others.staying import staying_beside_set
from kubesched_lint.engine.scenario.scenario import Scenario, once_per_scenario
from kubesched_lint.engine.scheduler.framework import static_feasible
from kubesched_lint.engine.scheduler.preemption.eviction import surely_preempts

_REMADE = ("ReplicaSet", "ReplicationController", "StatefulSet")


class Returning(NamedTuple):
    pod: Pod
    number: int
    nodes: NodeSet
    """Where they may run."""


class _Rivals(NamedTuple):
    """Pods that may keep others of some priority from a node."""

    asked: Mapping[str, int]
    """What they request together."""
    repel: bool
    """Whether one has required anti-affinity."""


@once_per_scenario
def returning_beside_set(scenario: Scenario) -> tuple[Returning, ...]:
    """Return the preempted pods that surely run again; none where nodes may come, which nobody knows."""
    if scenario.pools or scenario.is_elastic or staying_beside_set(scenario) is pods_of_others(scenario):
        return ()
    gone = tuple(_gone(scenario))
    rivals = {rank: _rivals(scenario, rank, gone) for rank in {returning.pod.priority or 0 for returning in gone}}
    return tuple(
        returning for returning in gone if _runs_again(scenario, returning, rivals[returning.pod.priority or 0])
    )


def _gone(scenario: Scenario) -> Iterator[Returning]:
    stay = frozenset(staying_beside_set(scenario).pods)
    for group in pods_of_others(scenario).alike:
        made = [b for b in group.bound if b not in stay and b.owner is not None and b.owner.kind in _REMADE]
        if made and not group.terminating:
            yield Returning(group.pod, len(made), static_feasible(group.pod, scenario.index))


def _runs_again(scenario: Scenario, returning: Returning, rivals: _Rivals) -> bool:
    if rivals.repel or not _is_kept_out_by_room_alone(returning.pod):
        return False
    free = staying_beside_set(scenario).state.ledger.free
    room = [(free(resource), rivals.asked[resource]) for resource in {**returning.pod.requests, PODS: 1}]
    return any(all(left[p] >= amount for left, amount in room) for p in positions(returning.nodes))


def _is_kept_out_by_room_alone(pod: Pod) -> bool:
    looks = pod.required_affinity or pod.required_anti_affinity or any(c.is_hard for c in pod.spread) or pod.group
    needs = pod.host_ports or pod.volumes or pod.resource_claims
    return surely_preempts(pod) and not (looks or needs)


def _rivals(scenario: Scenario, rank: int, gone: Sequence[Returning]) -> _Rivals:
    """Return the pods of at least a priority that may be on one node: those that return, too."""
    rivals = [(other.pod, other.number) for other in gone if (other.pod.priority or 0) >= rank]
    for member in map(scenario.member, scenario.manifests.workloads):
        if (member.pod.priority is None and member.pod.priority_class) or (member.pod.priority or 0) >= rank:
            rivals.append((member.pod, 1 if member.workload.kind == "DaemonSet" else member.replicas))
    asked = Counter[str]()
    for pod, number in rivals:
        for resource, amount in {**pod.requests, PODS: 1}.items():
            asked[resource] += amount * number
    return _Rivals(asked, any(pod.required_anti_affinity for pod, _ in rivals))
