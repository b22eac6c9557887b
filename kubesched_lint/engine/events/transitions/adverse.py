"""The most harmful choice: the node that a scheduler may choose so that the pods of one workload find no room.

A random course shows what is likely; a course with these choices shows what the filters allow.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from math import inf

from kubesched_lint.engine.cluster.nodes.index import NodeIndex
from kubesched_lint.engine.cluster.nodeset import NodeSet, positions
from kubesched_lint.engine.cluster.state import ClusterState
from kubesched_lint.engine.model.pod import Pod
from kubesched_lint.engine.scheduler.framework import diagnose


def worst(feasible: NodeSet, victim: Pod, cluster: ClusterState) -> int:
    """Return the position of ``feasible`` that leaves ``victim`` the fewest options.

    The choice is a node where it fits, in the domain with the least room for such pods, and there the fullest node.
    """
    open_ = diagnose(victim, cluster).feasible
    room = _room({"pods": 1, **victim.requests}, cluster)
    around = _around(victim, open_, room, cluster)
    options = positions(feasible & open_ or feasible)
    if not around:
        return min(options, key=room.__getitem__)
    return min(options, key=lambda p: (around.get(p, 0.0), room[p]))


def victim_key(victim: Pod, usable: NodeSet, index: NodeIndex) -> Hashable:
    """Return everything that ``worst`` reads about a pod without ports and volumes, if no terms tie it to placed pods.

    ``usable`` are the nodes that it may use. The pods of one scheduler share its profile.
    """
    return frozenset(victim.requests.items()), usable, _wide_key(victim, index), victim.profile


def _room(asked: Mapping[str, int], cluster: ClusterState) -> Sequence[float]:
    """Return by position how many pods that ask for this much fit there."""
    free = [(cluster.ledger.free(resource), each) for resource, each in asked.items() if each]
    fits = [[amount // each if amount < inf else inf for amount in amounts] for amounts, each in free]
    return fits[0] if len(fits) == 1 else [*map(min, *fits)]


def _around(victim: Pod, open_: NodeSet, room: Sequence[float], cluster: ClusterState) -> Mapping[int, float]:
    """Return position → room in its domain, for the victim's first topology key with several nodes per domain."""
    index = cluster.index
    wide = _wide_key(victim, index)
    room_around: dict[int, float] = {}
    for domain in index.domains(wide).values() if wide is not None else ():
        domain_room = sum(room[p] for p in positions(domain & open_))
        room_around.update(dict.fromkeys(positions(domain), domain_room))
    return room_around


def _wide_key(victim: Pod, index: NodeIndex) -> str | None:
    """Return the victim's first topology key with several nodes per domain."""
    keys = [c.topology_key for c in victim.spread if c.is_hard]
    keys += [term.topology_key for term in (*victim.required_affinity, *victim.required_anti_affinity)]
    return next((key for key in keys if not index.one_node_each(key)), None)
