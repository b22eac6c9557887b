"""Nodes that count for a topology spread constraint, and the number of pods that its domains accept.

The filter and score plugins, the rules and the bounds of ``simulate`` all use this module. Mirrors ``common.go`` and
``filtering.go`` of ``pkg/scheduler/framework/plugins/podtopologyspread`` (v1.36).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from kubesched_lint.cluster.index import NodeIndex
from kubesched_lint.cluster.nodeset import NodeSet
from kubesched_lint.identity import Itself
from kubesched_lint.model.pod import Pod, SpreadConstraint
from kubesched_lint.scheduler.tolerance import repelled


def labelled_nodes(constraints: Iterable[SpreadConstraint], index: NodeIndex) -> NodeSet:
    """Return the nodes with the keys of all the constraints: no other node counts for any of them."""
    nodes = index.all
    for constraint in constraints:
        nodes &= index.with_key(constraint.topology_key)
    return nodes


def hard_keyed_nodes(pod: Pod, index: NodeIndex) -> NodeSet:
    """Return the nodes with the keys of all hard constraints of a pod; each of many constraints asks for them."""
    found = index.hard_keyed.get(Itself(pod.spread))
    if found is None:
        found = index.hard_keyed[Itself(pod.spread)] = labelled_nodes((c for c in pod.spread if c.is_hard), index)
    return found


def eligible_nodes(pod: Pod, constraint: SpreadConstraint, index: NodeIndex) -> NodeSet:
    """Return the nodes that the constraint's inclusion policies include (matchNodeInclusionPolicies).

    Free room does not matter: a node that the pod tolerates counts even if it is too small or cordoned.
    """
    nodes = index.all
    if constraint.node_affinity_policy == "Honor":
        nodes &= index.matching(pod.node_selector, pod.required_node_terms)
    if constraint.node_taints_policy == "Honor":
        nodes &= ~repelled(index, pod.tolerations)
    return nodes


def counted_nodes(pod: Pod, constraint: SpreadConstraint, index: NodeIndex) -> NodeSet:
    """Return the nodes that count for one hard constraint of a pod: included by its policies, with all hard keys."""
    return hard_keyed_nodes(pod, index) & eligible_nodes(pod, constraint, index)


def counted_domains(
    pod: Pod, constraint: SpreadConstraint, index: NodeIndex, without: NodeSet = 0
) -> dict[str, NodeSet]:
    """Return domain value → its counted nodes; a value without such a node is no domain. ``without``: removed nodes."""
    counted = counted_nodes(pod, constraint, index) & ~without
    return {v: nodes & counted for v, nodes in index.domains(constraint.topology_key).items() if nodes & counted}


def is_short_of_domains(constraint: SpreadConstraint, domains: int) -> bool:
    """Return whether there are fewer domains than ``minDomains``, so that the least count is 0 (minMatchNum)."""
    return domains < (constraint.min_domains or 1)


def least_count(constraint: SpreadConstraint, counts: Collection[int]) -> int:
    """Return the minimum over the pods of each counted domain; 0 if there are too few domains."""
    return 0 if is_short_of_domains(constraint, len(counts)) else min(counts, default=0)


def let_in(
    constraint: SpreadConstraint,
    capacity: Mapping[str, int],
    others: Mapping[str, int] | None = None,
    least: int | None = None,
) -> dict[str, int]:
    """Return per domain the most pods of one workload that its constraint accepts, in every order.

    ``capacity`` is how many of them each counted domain can hold, ``others`` the number of other pods in it that the
    constraint counts. Every placement keeps others[i] + x[i] <= min(others + x) + maxSkew, and that minimum never
    exceeds min(others + capacity). ``least`` replaces that minimum if some domains must not lower it.
    """
    others = others or {}
    if least is None:
        least = least_count(constraint, [held + others.get(value, 0) for value, held in capacity.items()])
    ceiling = least + constraint.max_skew
    return {value: min(held, max(0, ceiling - others.get(value, 0))) for value, held in capacity.items()}
