"""What running pods, and the other workloads of the set, do to a workload's choice of nodes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from kubesched_lint.cluster.nodeset import EMPTY, NodeSet, of
from kubesched_lint.model.labels import Selector
from kubesched_lint.model.pod import BoundPod, Pod, PodAffinityTerm
from kubesched_lint.model.workload import Workload
from kubesched_lint.record import record

if TYPE_CHECKING:
    from kubesched_lint.analysis.facts import Facts
    from kubesched_lint.analysis.others import Others
    from kubesched_lint.cluster.index import NodeIndex


@record
class Alike:
    """Running pods of others that are alike: thousands of replicas are asked about once."""

    pod: Pod
    terminating: bool
    bound: tuple[BoundPod, ...]
    positions: tuple[int, ...]
    """Of their nodes, one for each pod."""
    nodes: NodeSet


def alike(pods: Iterable[BoundPod], index: NodeIndex) -> tuple[Alike, ...]:
    """Pods on nodes of the index, by the template that they share; ask ``Others.alike``."""
    found: dict[tuple[int, bool], tuple[list[BoundPod], list[int]]] = {}
    for bound in pods:
        position = index.positions.get(bound.node)
        if position is not None:
            members, positions = found.setdefault((id(bound.pod), bound.terminating), ([], []))
            members.append(bound)
            positions.append(position)
    return tuple(
        Alike(members[0].pod, members[0].terminating, tuple(members), tuple(positions), of(positions))
        for members, positions in found.values()
    )


def matching_running_pods(others: Others, namespace: str, selector: Selector, among: NodeSet) -> int:
    """How many running pods of others on ``among`` a spread constraint counts."""
    return sum(
        sum(among >> position & 1 for position in group.positions)
        for group in others.alike
        if group.pod.namespace == namespace
        and not group.terminating
        and group.nodes & among
        and selector.matches(group.pod.labels)
    )


def others_selected(facts: Facts, workload: Workload, selector: Selector) -> Iterator[Workload]:
    """Other workloads of the set in the same namespace whose pods a selector selects."""
    term = PodAffinityTerm("", selector)
    return (w for w in facts.selection.selected_by(term, workload.namespace) if w is not workload)


def repelled_by_running(facts: Facts, workload: Workload, others: Others) -> tuple[NodeSet, tuple[BoundPod, ...]]:
    """Nodes where some of ``others`` forbid this workload's pods, and these pods.

    Mirrors existingAntiAffinityCounts of ``interpodaffinity/filtering.go``: the holder's node must have the key.
    """
    pod = facts.pod(workload)
    blocked: NodeSet = EMPTY
    holders: list[BoundPod] = []
    for group in others.repelling:
        for term in group.pod.required_anti_affinity:
            if not facts.namespaces.selects(term, group.pod.namespace, pod, unknown=False):
                continue
            for bound, position in zip(group.bound, group.positions, strict=True):
                domain = facts.index.domain_of(term.topology_key, position)
                if domain & ~blocked:
                    blocked |= domain
                    holders.append(bound)
    return blocked, tuple(holders)


def held_domains(facts: Facts, workload: Workload, term: PodAffinityTerm, others: Others) -> frozenset[str]:
    """Domains of a term's key where one of ``others`` runs that the term repels."""
    holding: NodeSet = EMPTY
    for group in others.alike:
        if facts.namespaces.selects(term, workload.namespace, group.pod, unknown=False):
            holding |= group.nodes
    return frozenset(value for value, nodes in facts.index.domains(term.topology_key).items() if nodes & holding)


def nodes_near_running(facts: Facts, workload: Workload) -> NodeSet | None:
    """Nodes that satisfy the required affinity by running pods; None where none of them answers it.

    One pod must match all terms; each term then asks for that pod's domain of its own key. None also where the pod
    answers its own affinity and each other that does may go: then the first one starts anywhere (satisfyPodAffinity).
    """
    pod, terms = facts.pod(workload), facts.pod(workload).required_affinity

    def answering(groups: Iterable[Alike]) -> NodeSet:
        found: NodeSet = EMPTY
        for group in groups:
            if all(facts.namespaces.selects(t, workload.namespace, group.pod, unknown=True) for t in terms):
                found |= group.nodes
        return found

    if not answering(facts.others.alike):
        return None
    itself = all(facts.namespaces.selects(t, workload.namespace, pod, unknown=True) for t in terms)
    keyed = EMPTY
    for term in terms:
        keyed |= facts.index.with_key(term.topology_key)
    if itself and not answering(facts.staying_beside_set.alike) & keyed:
        return None  # a pod on a node without the key counts for no domain (updateWithAffinityTerms)
    near, there = facts.index.all, answering(facts.running.alike)
    for term in terms:
        near &= facts.index.spanned(term.topology_key, there)
    return near


def may_be_answered_by_set(facts: Facts, workload: Workload) -> bool:
    """Whether another workload of the set may answer the affinity somewhere else."""
    terms = facts.pod(workload).required_affinity
    return any(other is not workload for other in facts.selection.selected_by_all(terms, workload.namespace))
