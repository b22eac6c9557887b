"""The room that nodes have for pods beside those of others, by node."""

from __future__ import annotations

from collections.abc import Hashable
from functools import reduce
from operator import or_

from msgspec.structs import replace

from kubesched_lint.engine.cluster.limits import MOST_KEPT
from kubesched_lint.engine.cluster.nodeset import EMPTY, NodeSet
from kubesched_lint.engine.events.start.simulated_set import SimulatedMember, SimulatedSet
from kubesched_lint.engine.model.pod import Pod, PodAffinityTerm, profile_of
from kubesched_lint.engine.scheduler.capacity import Room, copies, copies_key
from kubesched_lint.engine.scheduler.framework import diagnose, with_enforced_constraints
from kubesched_lint.engine.scheduler.plugins import inter_pod_affinity


def room_of(simulated: SimulatedSet, pod: Pod, usable: NodeSet, most: int) -> Room:
    """Return the room for ``most`` pods or some more per node, cached because many workloads request the same."""
    most = 1 << (most - 1).bit_length() if most > 0 else 0  # a power of two, which several sizes of workloads share
    key = usable, most, copies_key(pod)
    known: dict[Hashable, Room] = simulated.rooms
    found = known.get(key)
    if found is None:
        if len(known) >= 16 * MOST_KEPT:  # each has a few sets of nodes, not a number for every node
            known.clear()
        found = known[key] = Room(copies(pod, simulated.cluster, usable, most))
    return found


def kept_apart(member: SimulatedMember) -> tuple[PodAffinityTerm, ...]:
    """Return the terms of anti-affinity by which any two pods of a workload repel each other."""
    pod = with_enforced_constraints(member.pod)
    return tuple(term for term in pod.required_anti_affinity if member.set.selects(term, pod, pod))


def open_but_for_neighbours(member: SimulatedMember) -> NodeSet:
    """Return the nodes that let a pod of a workload in beside the pods of others, whatever pods are on further nodes.

    So its own affinity does not count, nor does a spread over domains of several nodes.
    """
    known: dict[Pod, NodeSet] = member.set.rooms.setdefault(open_but_for_neighbours, {})
    pod = member.pod
    if pod not in known:
        asked = with_enforced_constraints(pod)
        near = tuple(c for c in asked.spread if member.set.index.one_node_each(c.topology_key))
        known[pod] = diagnose(replace(asked, required_affinity=(), spread=near), member.set.cluster).feasible
    return known[pod]


def repelled_by_others(member: SimulatedMember) -> NodeSet:
    """Return the nodes that anti-affinity closes to a workload while the pods of others stay, its own or theirs."""
    simulated = member.set
    known: dict[Pod, NodeSet] = simulated.rooms.setdefault(repelled_by_others, {})
    pod = with_enforced_constraints(member.pod)
    if pod.node_name or "InterPodAffinity" not in profile_of(pod).filters:
        return EMPTY  # a kubelet asks no affinity of others
    if pod not in known:
        anywhere = replace(pod, required_affinity=())
        known[pod] = reduce(
            or_,
            (r.nodes for r in inter_pod_affinity.reject(anywhere, simulated.cluster, simulated.index.all)),
            EMPTY,
        )
    return known[pod]
