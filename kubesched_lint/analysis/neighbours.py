"""What running pods, and the other workloads of the set, do to a workload's choice of nodes."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.analysis.facts import Facts
from kubesched_lint.cluster.nodeset import EMPTY, NodeSet
from kubesched_lint.model.labels import Selector
from kubesched_lint.model.pod import BoundPod, PodAffinityTerm
from kubesched_lint.model.workload import Workload


def matching_running_pods(facts: Facts, namespace: str, selector: Selector, among: NodeSet) -> int:
    """How many running pods of others on ``among`` a spread constraint counts."""
    return sum(
        1
        for bound, position in _placed(facts)
        if among >> position & 1
        and bound.pod.namespace == namespace
        and not bound.terminating
        and selector.matches(bound.pod.labels)
    )


def others_selected(facts: Facts, workload: Workload, selector: Selector) -> Iterator[Workload]:
    """Other workloads of the set in the same namespace whose pods a selector selects."""
    term = PodAffinityTerm("", selector)
    return (w for w in facts.selection.selected_by(term, workload.namespace) if w is not workload)


def repelled_by_running(facts: Facts, workload: Workload) -> tuple[NodeSet, tuple[BoundPod, ...]]:
    """Nodes where running pods of others forbid this workload's pods, and these pods.

    Mirrors existingAntiAffinityCounts of ``interpodaffinity/filtering.go``: the holder's node must have the key.
    """
    pod = facts.pod(workload)
    blocked: NodeSet = EMPTY
    holders = []
    for bound, position in _placed(facts):
        for term in bound.pod.required_anti_affinity:
            domain = facts.index.domain_of(term.topology_key, position)
            if domain & ~blocked and facts.namespaces.selects(term, bound.pod.namespace, pod, unknown=False):
                blocked |= domain
                holders.append(bound)
    return blocked, tuple(holders)


def held_domains(facts: Facts, workload: Workload, term: PodAffinityTerm) -> frozenset[str]:
    """Domains of a term's key where a running pod of others sits that the term repels."""
    held = set()
    for bound, position in _placed(facts):
        value = facts.index.nodes[position].labels.get(term.topology_key)
        if value in held or value is None:
            continue
        if facts.namespaces.selects(term, workload.namespace, bound.pod, unknown=False):
            held.add(value)
    return frozenset(held)


def nodes_near_running(facts: Facts, workload: Workload) -> NodeSet | None:
    """Nodes that satisfy the required affinity by running pods of others; None where none of them answers it.

    One pod must match all terms; each term then asks for that pod's domain of its own key.
    """
    terms = facts.pod(workload).required_affinity
    answering = [
        position
        for bound, position in _placed(facts)
        if all(facts.namespaces.selects(t, workload.namespace, bound.pod, unknown=True) for t in terms)
    ]
    if not answering:
        return None
    near = facts.index.all
    for term in terms:
        domains: NodeSet = EMPTY
        for position in answering:
            domains |= facts.index.domain_of(term.topology_key, position)
        near &= domains
    return near


def may_be_answered_by_set(facts: Facts, workload: Workload) -> bool:
    """Whether another workload of the set may answer the affinity somewhere else."""
    terms = facts.pod(workload).required_affinity
    return any(other is not workload for other in facts.selection.selected_by_all(terms, workload.namespace))


def _placed(facts: Facts) -> Iterator[tuple[BoundPod, int]]:
    positions = facts.index.positions
    for bound in facts.other_pods:
        position = positions.get(bound.node)
        if position is not None:
            yield bound, position
