"""Nodes that count for a topology spread constraint, and the number of pods that its domains accept.

The filter and score plugins, the rules and the bounds of ``simulate`` all use this module. Mirrors ``common.go`` and
``filtering.go`` of ``pkg/scheduler/framework/plugins/podtopologyspread`` (v1.36).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from msgspec import Struct

from kubesched_lint.engine.base.identity import Itself
from kubesched_lint.engine.cluster.nodes.index import NodeIndex
from kubesched_lint.engine.cluster.nodeset import NodeSet
from kubesched_lint.engine.cluster.pods.alike import Alike
from kubesched_lint.engine.model.pod import Pod, SpreadConstraint
from kubesched_lint.engine.scheduler.tolerance import repelled_pods


def labelled_nodes(constraints: Iterable[SpreadConstraint], index: NodeIndex) -> NodeSet:
    """Return the nodes with the keys of all the constraints: no other node counts for any of them."""
    nodes = index.all
    for constraint in constraints:
        nodes &= index.with_key(constraint.topology_key)
    return nodes


def hard_keyed_nodes(pod: Pod, index: NodeIndex) -> NodeSet:
    """Return the nodes with the keys of all hard constraints of a pod; each of many constraints asks for them."""
    keyed = index.hard_keyed.get(Itself(pod.spread))
    if keyed is None:
        keyed = index.hard_keyed[Itself(pod.spread)] = labelled_nodes((c for c in pod.spread if c.is_hard), index)
    return keyed


def eligible_nodes(pod: Pod, constraint: SpreadConstraint, index: NodeIndex) -> NodeSet:
    """Return the nodes that the constraint's inclusion policies include (matchNodeInclusionPolicies).

    Free room does not matter: a node that the pod tolerates counts even if it is too small or cordoned.
    """
    nodes = index.all
    if constraint.honors_affinity:
        nodes &= index.matching(pod.node_selector, pod.required_node_terms)
    if constraint.honors_taints:
        nodes &= ~repelled_pods(index, pod)
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


def counted_pods(groups: Iterable[Alike], key: str, among: NodeSet, index: NodeIndex) -> Mapping[str, int]:
    """Return domain → pods of the groups on its nodes of ``among``; only domains with such a pod.

    A terminating pod does not count (countPodsMatchSelector).
    """
    counts: Counter[str] = Counter()
    for group in groups:
        if not group.terminating and group.nodes & among:
            labels = (index.nodes[p].labels for p in group.positions if among >> p & 1)
            counts.update(own[key] for own in labels if key in own)
    return counts


def is_short_of_domains(constraint: SpreadConstraint, domains: int) -> bool:
    """Return whether there are fewer domains than ``minDomains``, so that the least count is 0 (minMatchNum)."""
    return domains < (constraint.min_domains or 1)


def least_count(constraint: SpreadConstraint, counts: Collection[int]) -> int:
    """Return the minimum over the pods of each counted domain; 0 if there are too few domains."""
    return 0 if is_short_of_domains(constraint, len(counts)) else min(counts, default=0)


class SpreadRoom(Struct, frozen=True):
    """The most pods of one workload that a hard constraint accepts in each domain that counts."""

    capacity: Mapping[str, int]
    """Domain → how many of them its nodes can hold."""
    placeable: Mapping[str, int]
    """Domain → how many of them the constraint accepts there, in every order."""
    least: int
    """The most that the minimum over all domains can be."""
    too_few: bool
    """Whether there are fewer domains than minDomains, so that the minimum is 0."""

    @property
    def total(self) -> int:
        return sum(self.placeable.values())

    @property
    def may_grow(self) -> bool:
        """Whether it lets in more if more pods of others fill the least full domain."""
        return not self.too_few and self.total < sum(self.capacity.values())

    @property
    def terms(self) -> str:
        """Return ``total`` as a sum: ``2 in eu-west-1a + 1 in eu-west-1b``."""
        return " + ".join(f"{pods} in {domain}" for domain, pods in self.placeable.items())


class OthersCounted(NamedTuple):
    """Pods of others that a constraint counts, by domain; a domain without such a pod is not there."""

    there: Mapping[str, int] = {}
    """Those that may be there: the minimum may be as high as they make it."""
    staying: Mapping[str, int] = {}
    """Those that surely stay: they take room under the limit of their own domain."""
    coming: int = 0
    """Further ones that wait for a node, and may find one in any domain."""


NO_OTHERS = OthersCounted()


def spread_room(
    constraint: SpreadConstraint,
    capacity: Mapping[str, int],
    others: OthersCounted = NO_OTHERS,
    limiting: Collection[str] | None = None,
) -> SpreadRoom:
    """Return the bound for a constraint that selects the pods of the workload itself.

    ``capacity`` is how many of them each counted domain can hold. Every placement x keeps others[i] + x[i] <=
    min(others + x) + maxSkew, and that minimum never exceeds min(others + capacity). ``limiting`` are the domains that
    lower the minimum (default: all): one that only a new node could open counts no pods yet.
    """
    too_few = is_short_of_domains(constraint, len(capacity))
    counts = (
        others.there.get(value, 0) + held for value, held in capacity.items() if limiting is None or value in limiting
    )
    least = 0 if too_few else min(counts, default=max(capacity.values(), default=0)) + others.coming
    ceiling = least + constraint.max_skew
    placeable = {v: min(held, max(0, ceiling - others.staying.get(v, 0))) for v, held in capacity.items()}
    return SpreadRoom(capacity, placeable, least, too_few)
