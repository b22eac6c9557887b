"""The effects of running pods, and of other workloads of the manifests, on a workload's choice of nodes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kubesched_lint.engine.cluster.nodeset import EMPTY, NodeSet
from kubesched_lint.engine.model.labels import Selector
from kubesched_lint.engine.model.pod import BoundPod, Pod, PodAffinityTerm, profile_of
from kubesched_lint.engine.model.workloads.workload import Workload
from kubesched_lint.engine.scenario.others.running import all_running_pods, pods_of_others
from kubesched_lint.engine.scenario.scenario import Member

if TYPE_CHECKING:
    from kubesched_lint.engine.scenario.others.running import RunningPods


def others_selected(it: Member, selector: Selector) -> Iterator[Workload]:
    """Yield other workloads of the manifests in the same namespace whose pods a selector selects."""
    term = PodAffinityTerm("", selector)
    return (w for w in it.scenario.selection.selected_by(term, it.workload.namespace) if w is not it.workload)


def repelled_by_running(it: Member, others: RunningPods) -> tuple[NodeSet, tuple[BoundPod, ...]]:
    """Return the nodes where some of ``others`` forbid this workload's pods, and these pods.

    Mirrors existingAntiAffinityCounts of ``interpodaffinity/filtering.go``: the holder's node must have the key.
    """
    pod = it.pod
    blocked: NodeSet = EMPTY
    holders: list[BoundPod] = []
    if "InterPodAffinity" not in profile_of(pod).filters:
        return blocked, ()
    for group, term in others.repelling(pod):
        if not it.scenario.namespaces.selects(term, group.pod.namespace, pod, unknown=False):
            continue
        for bound, position in zip(group.bound, group.positions, strict=True):
            domain = it.scenario.index.domain_of(term.topology_key, position)
            if domain & ~blocked:
                blocked |= domain
                holders.append(bound)
    return blocked, tuple(holders)


def open_beside(it: Member, others: RunningPods) -> NodeSet:
    """Return the usable nodes that no anti-affinity closes to this workload's pods while ``others`` stay."""
    closed, _ = repelled_by_running(it, others)
    if "InterPodAffinity" in profile_of(it.pod).filters:
        for term in it.pod.required_anti_affinity:
            for group in others.in_reach(term, it.workload.namespace):
                if it.scenario.namespaces.selects(term, it.workload.namespace, group.pod, unknown=False):
                    closed |= it.scenario.index.spanned(term.topology_key, group.nodes)
    return it.usable & ~closed


def nodes_near_pods_of_nobody(it: Member) -> NodeSet:
    """Return the nodes that required affinity allows whatever pods are evicted; all nodes if it sets no bound.

    An evicted pod without an owner is not created again elsewhere, so the allowed nodes can only become fewer.
    """
    terms = it.pod.required_affinity
    if not terms or answers_itself(it) or may_be_answered_by_set(it):
        return it.scenario.index.all
    everyone = all_running_pods(it.scenario)
    groups = [g for g in everyone.in_reach(terms[0], it.workload.namespace) if answers(it, g.pod)]
    if is_answered_by_waiting(it) or any(b.owner is not None for g in groups for b in g.bound):
        return it.scenario.index.all
    return it.scenario.index.near(terms, answering(it, everyone))


def answers_itself(it: Member) -> bool:
    """Return whether the pods of a workload may satisfy their own required affinity."""
    return answers(it, it.pod)


def answers(it: Member, pod: Pod) -> bool:
    """Return whether a pod may satisfy all terms of the workload's required affinity."""
    terms = it.pod.required_affinity
    return all(it.scenario.namespaces.selects(term, it.workload.namespace, pod, unknown=True) for term in terms)


def answering(it: Member, others: RunningPods) -> NodeSet:
    """Return the nodes with some of ``others`` that may satisfy the workload's required affinity."""
    nodes: NodeSet = EMPTY
    terms = it.pod.required_affinity
    for group in others.in_reach(terms[0], it.workload.namespace) if terms else others.alike:
        if answers(it, group.pod):
            nodes |= group.nodes
    return nodes


def is_answered_by_waiting(it: Member) -> bool:
    return any(answers(it, pod) for pod in pods_of_others(it.scenario).waiting)


def may_be_answered_by_set(it: Member) -> bool:
    """Return whether another workload of the manifests may satisfy the affinity somewhere else."""
    terms = it.pod.required_affinity
    return any(
        other is not it.workload for other in it.scenario.selection.selected_by_all(terms, it.workload.namespace)
    )
