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
    held: bool
    """They terminate, and stay until somebody takes a finalizer away."""
    bound: tuple[BoundPod, ...]
    positions: tuple[int, ...]
    """Of their nodes, one for each pod."""
    nodes: NodeSet


def alike(pods: Iterable[BoundPod], index: NodeIndex) -> tuple[Alike, ...]:
    """Pods on nodes of the index, by the template that they share; ask ``Others.alike``."""
    found: dict[tuple[int, bool, bool], tuple[list[BoundPod], list[int]]] = {}
    for bound in pods:
        position = index.positions.get(bound.node)
        if position is not None:
            members, positions = found.setdefault((id(bound.pod), bound.terminating, bound.held), ([], []))
            members.append(bound)
            positions.append(position)
    return tuple(
        Alike(members[0].pod, members[0].terminating, members[0].held, tuple(members), tuple(positions), of(positions))
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
    """Nodes that satisfy the required affinity by running pods; None where none of them answers it, or where a pod of
    the snapshot that waits may yet answer it elsewhere.

    One pod must match all terms; each term then asks for that pod's domain of its own key. None also where the pod
    answers its own affinity and each other that does may go: then the first one starts anywhere (satisfyPodAffinity).
    """
    terms = facts.pod(workload).required_affinity
    if not _answering(facts, workload, facts.others.alike) or _is_answered_by_waiting(facts, workload):
        return None
    keyed = EMPTY
    for term in terms:
        keyed |= facts.index.with_key(term.topology_key)
    staying = _answering(facts, workload, facts.staying_beside_set.alike) if answers_itself(facts, workload) else keyed
    if not staying & keyed:
        return None  # a pod on a node without the key counts for no domain (updateWithAffinityTerms)
    return _near(facts, terms, _answering(facts, workload, facts.running.alike))


def nodes_near_pods_of_nobody(facts: Facts, workload: Workload) -> NodeSet:
    """The nodes to which the required affinity leads whoever is evicted; all nodes where that has no bound.

    A pod without an owner that is evicted is not made again elsewhere, so that fewer nodes may be left, and never more.
    """
    terms = facts.pod(workload).required_affinity
    if not terms or answers_itself(facts, workload) or may_be_answered_by_set(facts, workload):
        return facts.index.all
    groups = [g for g in facts.running.alike if _answers(facts, workload, g.pod)]
    if _is_answered_by_waiting(facts, workload) or any(b.owner is not None for g in groups for b in g.bound):
        return facts.index.all
    return _near(facts, terms, _answering(facts, workload, groups))


def answers_itself(facts: Facts, workload: Workload) -> bool:
    """Whether the pods of a workload may answer their own required affinity."""
    return _answers(facts, workload, facts.pod(workload))


def _answers(facts: Facts, workload: Workload, pod: Pod) -> bool:
    """Whether a pod may answer all terms of the workload's required affinity."""
    terms = facts.pod(workload).required_affinity
    return all(facts.namespaces.selects(term, workload.namespace, pod, unknown=True) for term in terms)


def _answering(facts: Facts, workload: Workload, groups: Iterable[Alike]) -> NodeSet:
    """Nodes with pods that may answer the workload's required affinity."""
    found: NodeSet = EMPTY
    for group in groups:
        if _answers(facts, workload, group.pod):
            found |= group.nodes
    return found


def _is_answered_by_waiting(facts: Facts, workload: Workload) -> bool:
    return any(_answers(facts, workload, pod) for pod in facts.others.waiting)


def _near(facts: Facts, terms: Iterable[PodAffinityTerm], there: NodeSet) -> NodeSet:
    """Nodes that share the domain of each term's key with one of ``there``."""
    near = facts.index.all
    for term in terms:
        near &= facts.index.spanned(term.topology_key, there)
    return near


def may_be_answered_by_set(facts: Facts, workload: Workload) -> bool:
    """Whether another workload of the set may answer the affinity somewhere else."""
    terms = facts.pod(workload).required_affinity
    return any(other is not workload for other in facts.selection.selected_by_all(terms, workload.namespace))
