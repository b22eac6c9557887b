"""The most pods of a workload that one hard spread constraint allows beside the running pods (``scheduler/topology``).

Running pods that may go (others by preemption, its own by a rollout) count for the minimum, but not against their own
domain.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import NamedTuple

from kubesched_lint.engine.cluster.nodeset import NodeSet
from kubesched_lint.engine.model.pod import SpreadConstraint
from kubesched_lint.engine.scenario.others.neighbours import open_beside, others_selected
from kubesched_lint.engine.scenario.others.room import most_copies_by_domain
from kubesched_lint.engine.scenario.others.running import (
    RunningPods,
    all_running_pods,
    matching_by_domain,
    pods_of_others,
)
from kubesched_lint.engine.scenario.others.staying import staying
from kubesched_lint.engine.scenario.scenario import Member, Scenario, once_per_scenario
from kubesched_lint.engine.scheduler import topology
from kubesched_lint.engine.scheduler.capacity import copies_key
from kubesched_lint.engine.scheduler.topology import OthersCounted, SpreadRoom


def spread_room(
    it: Member, constraint: SpreadConstraint, replicas: int | None = None, beside: RunningPods | None = None
) -> SpreadRoom | None:
    """The bound for a workload's hard constraint; None if pods of the set may still add to the counts.

    ``replicas`` defaults to the replicas at the start; ``beside`` are running pods that stay, by default those that its
    own pods do not preempt. With ``beside``, which an error rests on, a waiting pod of others may land in any domain. A
    constraint that does not select its own pods bounds nothing.
    """
    selector, scenario = constraint.selector, it.scenario
    if selector is None or selector.is_empty or not selector.matches(it.pod.labels):
        return None
    if any(True for _ in others_selected(it, selector)):
        return None
    key, counted, namespace = constraint.topology_key, counted_nodes(it, constraint), it.workload.namespace
    stay = beside or staying(it)
    waiting = {} if beside is None else pods_of_others(scenario).waiting
    asked = _Asked(
        copies_key(it.pod),
        it.replicas if replicas is None else replicas,
        (key, constraint.max_skew, constraint.min_domains),
        counted,
        it.usable,
        # Pods of an older revision count as long as they exist.
        frozenset(matching_by_domain(all_running_pods(scenario), namespace, selector, key, counted).items()),
        frozenset(matching_by_domain(stay, namespace, selector, key, counted).items()),
        sum(n for pod, n in waiting.items() if pod.namespace == namespace and selector.matches(pod.labels)),
        stay,
        open_beside(it, stay),
    )
    known = _of_kinds(scenario)
    if asked not in known:
        known[asked] = _room_of(asked, it, constraint)
    return known[asked]


class _Asked(NamedTuple):
    """All that a bound depends on: workloads that are equal in it share the bound."""

    pods: Hashable
    """What ``copies`` reads of them."""
    most: int
    constraint: tuple[object, ...]
    counted: NodeSet
    usable: NodeSet
    there: frozenset[tuple[str, int]]
    staying: frozenset[tuple[str, int]]
    coming: int
    beside: RunningPods
    open: NodeSet
    """The nodes that running pods leave open."""


@once_per_scenario
def _of_kinds(scenario: Scenario) -> dict[_Asked, SpreadRoom | None]:
    return {}


def _room_of(asked: _Asked, member: Member, constraint: SpreadConstraint) -> SpreadRoom | None:
    """Return the bound; ``member`` is one of the workloads that share it."""
    index, key, today = member.scenario.index, constraint.topology_key, member.scenario.today
    domains = index.domains_with(key, asked.counted & (today | asked.usable))
    if not domains:
        return None
    capacity = most_copies_by_domain(member, asked.most, key, domains, asked.open, asked.beside)
    others = OthersCounted(dict(asked.there), dict(asked.staying), asked.coming)
    return topology.spread_room(constraint, capacity, others, index.domains_with(key, asked.counted & today))


def counted_nodes(it: Member, constraint: SpreadConstraint) -> NodeSet:
    """Nodes that count for a hard constraint of a workload's pods (``scheduler/topology``)."""
    return topology.counted_nodes(it.pod, constraint, it.scenario.index)
