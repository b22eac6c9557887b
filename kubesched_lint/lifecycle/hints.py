"""Which events requeue a waiting pod: the queueing hints of the filter plugins that rejected it.

If the rejecting plugins find an event irrelevant, the pod is not retried until the five-minute flush, even if it would
fit now. Mirrors isSchedulableAfter… of ``pkg/scheduler/framework/plugins`` (v1.36) for the events that can be missed:
deletions of pods that InterPodAffinity finds irrelevant.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kubesched_lint.cluster.state import ClusterState
from kubesched_lint.model.pod import Pod, PodAffinityTerm
from kubesched_lint.scheduler.plugins.inter_pod_affinity import named_namespaces, selects_incoming
from kubesched_lint.scheduler.quirks import HINTS_ASK_FOR_ALL_TERMS, HINTS_WITHOUT_NAMESPACE_LABELS, has

AFFINITY = "InterPodAffinity"
SPREAD = "PodTopologySpread"
RESOURCES = "NodeResourcesFit"
PORTS = "NodePorts"


def may_miss(pods: Iterable[Pod], state: ClusterState) -> bool:
    """Whether any of these pods can miss an event that would let it run.

    Causes: several anti-affinity terms, if an event concerns only one; a namespaceSelector; or affinity to itself,
    where a first pod may start after the last matching pod is gone.
    """
    asks_all = has(state.kubernetes_version, HINTS_ASK_FOR_ALL_TERMS)
    return any(
        (asks_all and len(pod.required_anti_affinity) > 1)
        or is_blind((*pod.required_affinity, *pod.required_anti_affinity), state)
        or (pod.required_affinity and all(selects_incoming(t, pod, pod, state) for t in pod.required_affinity))
        for pod in pods
    )


def is_blind(terms: Iterable[PodAffinityTerm], state: ClusterState) -> bool:
    """Whether the hint may miss that a pod matches a term, because the term needs labels of namespaces."""
    chosen = (t.namespace_selector for t in terms)
    return any(c is not None and not c.is_empty for c in chosen) and has(
        state.kubernetes_version, HINTS_WITHOUT_NAMESPACE_LABELS
    )


def wakes_on_delete(pod: Pod, rejected_by: frozenset[str], gone: Pod, state: ClusterState) -> bool:
    """Whether the deletion of a bound pod puts a waiting pod back into the queue."""
    if RESOURCES in rejected_by:
        return True
    if PORTS in rejected_by and any(
        a.port == b.port and a.protocol == b.protocol for a in pod.host_ports for b in gone.host_ports
    ):
        return True
    if SPREAD in rejected_by and _is_counted(pod, gone):
        return True
    return AFFINITY in rejected_by and (
        _repels(pod.required_anti_affinity, pod, gone, state) or _repels(gone.required_anti_affinity, gone, pod, state)
    )


def wakes_on_bind(pod: Pod, rejected_by: frozenset[str], come: Pod, state: ClusterState) -> bool:
    """Whether the binding of another pod puts a waiting pod back into the queue."""
    if SPREAD in rejected_by and _is_counted(pod, come):
        return True
    return AFFINITY in rejected_by and _selects_by_all(pod.required_affinity, pod, come, state)


def wakes_on_node_change(pod: Pod, rejected_by: frozenset[str], labels: Iterable[str]) -> bool:
    """Whether adding or removing a taint on a node with these label keys requeues a waiting pod (spread only)."""
    keys = set(labels)
    return SPREAD in rejected_by and all(c.topology_key in keys for c in pod.spread if c.is_hard)


def _is_counted(pod: Pod, other: Pod) -> bool:
    return pod.namespace == other.namespace and any(
        c.selector is not None and c.selector.matches(other.labels) for c in pod.spread if c.is_hard
    )


def _repels(terms: Sequence[PodAffinityTerm], holder: Pod, pod: Pod, state: ClusterState) -> bool:
    if has(state.kubernetes_version, HINTS_ASK_FOR_ALL_TERMS):
        return _selects_by_all(terms, holder, pod, state)
    return any(_selects(term, holder, pod, state) for term in terms)


def _selects_by_all(terms: Sequence[PodAffinityTerm], holder: Pod, pod: Pod, state: ClusterState) -> bool:
    """Whether all terms select the pod (podMatchesAllAffinityTerms); False without terms."""
    return bool(terms) and all(_selects(term, holder, pod, state) for term in terms)


def _selects(term: PodAffinityTerm, holder: Pod, pod: Pod, state: ClusterState) -> bool:
    """Whether the hint finds that a term selects a pod: it knows names of namespaces, but not their labels."""
    if not is_blind((term,), state):
        return selects_incoming(term, holder, pod, state)
    named = pod.namespace in named_namespaces(term, holder.namespace)
    seen = named or (term.namespace_selector is not None and term.namespace_selector.matches({}))
    return seen and term.selector is not None and term.selector.matches(pod.labels)
