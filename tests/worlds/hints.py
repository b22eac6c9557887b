"""Which events wake a waiting pod: the queueing hints once more, by hand, for the exhaustive reference.

A pod that was tried in vain sleeps until a plugin that turned it away sees a chance in an event. Follows
isSchedulableAfter… of ``pkg/scheduler/framework/plugins`` (v1.36) for bindings and deletions of pods.
"""

from __future__ import annotations

from collections.abc import Sequence

from kubesched_lint.engine.model.pod import Pod, PodAffinityTerm

NODE, PORTS, RESOURCES, EXCLUSIVE = "NodeAffinity", "NodePorts", "NodeResourcesFit", "VolumeRestrictions"
STORAGE, SPREAD, AFFINITY = "VolumeBinding", "PodTopologySpread", "InterPodAffinity"
DEVICES = "DynamicResources"


def can_oversleep(pod: Pod) -> bool:
    """Whether InterPodAffinity may see no chance where there is one, for this pod or for those that it repels.

    It looks for a pod that matches all terms at once, with no labels of namespaces at hand, and does not think of a
    first pod that matches itself.
    """
    chosen = [t.namespace_selector for t in pod.required_anti_affinity]
    labelled = any(c is not None and c.requirements for c in chosen)
    return labelled or len(chosen) > 1 or bool(pod.required_affinity)


def wakes(pod: Pod, rejected_by: frozenset[str], come: Sequence[Pod], gone: Sequence[Pod]) -> bool:
    """Whether bindings (``come``) or deletions (``gone``) put a sleeping pod back into the queue."""
    if RESOURCES in rejected_by and gone:
        return True
    if DEVICES in rejected_by and any(other.resource_claims for other in gone):
        return True
    if PORTS in rejected_by and any(_share_a_port(pod, other) for other in gone):
        return True
    if EXCLUSIVE in rejected_by and any(other.namespace == pod.namespace for other in gone):
        return True
    if SPREAD in rejected_by and any(_is_counted(pod, other) for other in (*come, *gone)):
        return True
    if AFFINITY not in rejected_by:
        return False
    return (
        any(_matches_all(pod.required_affinity, pod, other) for other in come)
        or any(_matches_all(pod.required_anti_affinity, pod, other) for other in gone)
        or any(_matches_all(other.required_anti_affinity, other, pod) for other in gone)
    )


def _share_a_port(pod: Pod, other: Pod) -> bool:
    return any((a.protocol, a.port) == (b.protocol, b.port) for a in pod.host_ports for b in other.host_ports)


def _is_counted(pod: Pod, other: Pod) -> bool:
    hard = [c.selector for c in pod.spread if c.when_unsatisfiable == "DoNotSchedule"]
    return pod.namespace == other.namespace and any(s is not None and s.matches(other.labels) for s in hard)


def _matches_all(terms: Sequence[PodAffinityTerm], holder: Pod, pod: Pod) -> bool:
    """podMatchesAllAffinityTerms of ``interpodaffinity/filtering.go``; without terms nothing does."""
    return bool(terms) and all(_matches(term, holder, pod) for term in terms)


def _matches(term: PodAffinityTerm, holder: Pod, pod: Pod) -> bool:
    chosen = term.namespace_selector
    named = set(term.namespaces)
    if not term.namespaces and chosen is None:
        named = {holder.namespace}
    if pod.namespace not in named and (chosen is None or not chosen.matches({})):
        return False
    return term.selector is not None and term.selector.matches(pod.labels)
