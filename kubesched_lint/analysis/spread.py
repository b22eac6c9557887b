"""How many pods of a workload one hard spread constraint lets in at most, by the counting of ``scheduler/topology``.

Pods that run and may go, of others by preemption, of its own by a rollout, count for the minimum, and do not count
against their own domain.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from kubesched_lint.analysis.facts import Facts
from kubesched_lint.analysis.neighbours import matching_running_pods, others_selected, repelled_by_running
from kubesched_lint.cluster.nodeset import NodeSet
from kubesched_lint.model.pod import SpreadConstraint
from kubesched_lint.model.workload import Workload
from kubesched_lint.record import record
from kubesched_lint.scheduler import topology

if TYPE_CHECKING:
    from kubesched_lint.analysis.others import Others


@record
class SpreadRoom:
    """Per domain the capacity and what may be placed.

    ``blocked`` are domains that count although the pod can use none of their nodes; ``too_few``: minDomains makes the
    minimum 0.
    """

    capacity: Mapping[str, int]
    placeable: Mapping[str, int]
    blocked: tuple[str, ...]
    too_few: bool
    most: int
    """The total that holds even if other workloads of the set preempt running pods of others."""

    @property
    def total(self) -> int:
        return sum(self.placeable.values())


def spread_room(
    workload: Workload, constraint: SpreadConstraint, facts: Facts, replicas: int | None = None
) -> SpreadRoom | None:
    """The bound for a workload's hard constraint; None where pods of others may yet add to the counts.

    ``replicas`` are those it starts with unless given.

    A constraint that does not select its own pods bounds nothing.
    """
    key = (id(workload), id(constraint), replicas)
    found = facts.spread_rooms.get(key)
    if found is None:  # half a dozen rules ask; what an id stands for is kept, so that it stands for nothing else
        found = facts.spread_rooms[key] = (workload, constraint, _spread_room(workload, constraint, facts, replicas))
    return found[2]


def _spread_room(
    workload: Workload, constraint: SpreadConstraint, facts: Facts, replicas: int | None
) -> SpreadRoom | None:
    pod = facts.pod(workload)
    selector = constraint.selector
    if selector is None or selector.is_empty or not selector.matches(pod.labels):
        return None
    if any(True for _ in others_selected(facts, workload, selector)):
        return None
    counted = counted_nodes(workload, constraint, facts)
    usable = facts.usable(workload)
    most = facts.replicas(workload) if replicas is None else replicas
    domains = {
        value: nodes
        for value, nodes in facts.index.domains(constraint.topology_key).items()
        if nodes & counted & (facts.today | usable)
    }
    if not domains:
        return None

    def matching(others: Others) -> dict[str, int]:
        return {
            domain: matching_running_pods(others, workload.namespace, selector, nodes & counted)
            for domain, nodes in domains.items()
        }

    too_few = topology.is_short_of_domains(constraint, len(domains))
    # A domain that only a pool could open holds nobody down: as long as no node is there, it does not count.
    existing = [d for d, nodes in domains.items() if nodes & counted & facts.today]
    there = matching(facts.running)  # pods of an older revision count as long as they stand

    def let_in(stay: Others) -> tuple[dict[str, int], dict[str, int]]:
        open_to_it = usable & ~repelled_by_running(facts, workload, stay)[0]
        capacity = {d: facts.copies(workload, most, nodes & open_to_it, beside=stay) for d, nodes in domains.items()}
        least = 0 if too_few else min((there[d] + capacity[d] for d in existing), default=most)
        return capacity, topology.let_in(constraint, capacity, matching(stay), least)

    capacity, placeable = let_in(facts.staying(workload))
    surely = placeable
    if facts.staying(workload) is not facts.staying_beside_set:
        surely = let_in(facts.staying_beside_set)[1]
    blocked = tuple(d for d, nodes in domains.items() if not nodes & usable)
    return SpreadRoom(capacity, placeable, blocked, too_few, sum(surely.values()))


def counted_nodes(workload: Workload, constraint: SpreadConstraint, facts: Facts) -> NodeSet:
    """Nodes that count for a hard constraint of a workload's pods (``scheduler/topology``)."""
    return topology.counted_nodes(facts.pod(workload), constraint, facts.index, facts.premises.kubernetes_version)
