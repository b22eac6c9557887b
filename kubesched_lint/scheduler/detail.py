"""What lies behind a rejection: the taint, the numbers, the pods. Words for people; what decides is in the plugins."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from kubesched_lint.cluster.classes import ClassSet
from kubesched_lint.cluster.index import NodeIndex
from kubesched_lint.cluster.ledger import PODS
from kubesched_lint.cluster.nodeset import NodeSet
from kubesched_lint.cluster.state import ClusterState
from kubesched_lint.model.labels import Labels, Requirement, Selector
from kubesched_lint.model.pod import Pod, PodAffinityTerm, SpreadConstraint
from kubesched_lint.model.quantity import show
from kubesched_lint.scheduler.plugins import inter_pod_affinity as pods
from kubesched_lint.scheduler.plugins import node_affinity, node_resources_fit, taint_toleration
from kubesched_lint.scheduler.plugins import pod_topology_spread as spreading
from kubesched_lint.scheduler.quirks import TOLERATION_COMPARISON, has
from kubesched_lint.scheduler.tolerance import first_untolerated
from kubesched_lint.scheduler.verdict import Rejection


def detail(rejection: Rejection, pod: Pod, state: ClusterState, position: int) -> str:
    """Why, more closely, ``rejection`` turned a pod away from the node at ``position``; empty where no more is known.

    ``state`` must be the one that the rejection was found in.
    """
    tell = _TELL.get(rejection.plugin)
    return tell(rejection.reason, pod, state, position) if tell else ""


def _taint(reason: str, pod: Pod, state: ClusterState, position: int) -> str:
    comparison = has(state.kubernetes_version, TOLERATION_COMPARISON)
    taint = first_untolerated(pod.tolerations, state.index.nodes[position].taints, comparison=comparison)
    return f"taint {taint}" if taint else ""


def _resources(reason: str, pod: Pod, state: ClusterState, position: int) -> str:
    if reason == "Too many pods":
        most = state.index.allocatable(PODS)[position]
        return f"{state.pod_count(position)} of at most {most:.0f} pods are there"
    resource = reason.removeprefix("Insufficient ")
    free = int(state.ledger.free(resource)[position])
    have = int(state.index.allocatable(resource)[position])
    asked = pod.requests.get(resource, 0)
    return f"asks for {show(resource, asked)}, {show(resource, max(free, 0))} of {show(resource, have)} left"


# --- NodeAffinity ---------------------------------------------------------------------------------------------------


def _labels(reason: str, pod: Pod, state: ClusterState, position: int) -> str:
    """What the node lacks; of several terms, of which one would do, those that come nearest are not singled out."""
    node = state.index.nodes[position]
    missing = [_unlike(Requirement(k, "In", (v,)), node.labels) for k, v in pod.node_selector.items()]
    terms = pod.required_node_terms or ()
    if len(terms) == 1:
        missing += [_unlike(r, node.labels) for r in terms[0].expressions]
        missing += [_unlike(r, {"metadata.name": node.name}) for r in terms[0].fields]
    elif not any(missing):
        return f"matches none of its {len(terms)} node selector terms" if terms else "its affinity has no terms"
    return "; ".join(dict.fromkeys(filter(None, missing)))


def _unlike(requirement: Requirement, labels: Labels) -> str:
    if requirement.matches(labels):
        return ""
    have = f"has {requirement.key}={labels[requirement.key]}" if requirement.key in labels else "has no such label"
    return f"asks for {Selector((requirement,))}, the node {have}"


# --- PodTopologySpread ----------------------------------------------------------------------------------------------


def _skew(reason: str, pod: Pod, state: ClusterState, position: int) -> str:
    hard = [c for c in pod.spread if c.is_hard]
    node = state.index.nodes[position]
    if reason == spreading.UNLABELLED:
        lacking = [c.topology_key for c in hard if c.topology_key not in node.labels]
        return f"the node has no label {lacking[0]}" if lacking else ""
    counted = spreading.labelled_nodes(hard, state)
    for constraint in hard:
        found = _skew_of(constraint, counted, pod, state, node.labels[constraint.topology_key])
        if found:
            return found
    return ""


def _skew_of(constraint: SpreadConstraint, counted: NodeSet, pod: Pod, state: ClusterState, value: str) -> str:
    selector = spreading.effective_selector(pod, constraint)
    tally = spreading.spread_tally(selector, pod.namespace, state)
    counted &= spreading.eligible_nodes(pod, constraint, state)
    key = constraint.topology_key
    counts = {v: tally.total(n & counted) for v, n in state.index.domains(key).items() if n & counted}
    few = len(counts) < (constraint.min_domains or 1)
    least = 0 if few else min(counts.values())
    itself = selector is not None and selector.matches(pod.labels)
    here = counts.get(value, 0)
    if here + itself - least <= constraint.max_skew:
        return ""
    with_it = f"{key}={value} would hold {here + itself}" if itself else f"{key}={value} holds {here}"
    if few:
        return f"{with_it}, at most {constraint.max_skew} while there are fewer than {constraint.min_domains} domains"
    emptiest = min(counts, key=lambda v: counts[v])
    return f"{with_it}, the emptiest {key}={emptiest} holds {least}, maxSkew is {constraint.max_skew}"


# --- InterPodAffinity -----------------------------------------------------------------------------------------------


def _neighbours(reason: str, pod: Pod, state: ClusterState, position: int) -> str:
    if reason == pods.UNATTRACTED:
        return _unattracted(pod, state, position)
    if reason == pods.REPELLED:
        for term in pod.required_anti_affinity:
            found = pods.selected_classes(term, pod.namespace, state)
            where = _standing(found, term.topology_key, state, position)
            if where:
                return f"it keeps away from {where}"
        return ""
    for holders in state.classes.possible_holders(pod.labels):
        if pods.selects_pod(holders.term, holders.namespace, pod, state):
            found = sum(1 << c.number for c in holders.classes)
            where = _standing(found, holders.term.topology_key, state, position)
            if where:
                return f"the anti-affinity of {where} selects {_told(holders.term)}"
    return ""


def _unattracted(pod: Pod, state: ClusterState, position: int) -> str:
    node = state.index.nodes[position]
    for term in pod.required_affinity:
        if term.topology_key not in node.labels:
            return f"the node has no label {term.topology_key}"
    together = "that match all its terms " if len(pod.required_affinity) > 1 else ""
    for term in pod.required_affinity:
        found = pods.selected_classes(term, pod.namespace, state)
        if not _standing(found, term.topology_key, state, position):
            return f"no pods with {_told(term)} are in {term.topology_key}={node.labels[term.topology_key]}"
    return f"no pods {together}are in its domains" if together else ""


def _standing(classes: ClassSet, key: str, state: ClusterState, position: int) -> str:
    """Who of these classes stands in the node's domain: ``2 pods like shop/app=db in zone=a``; empty when nobody."""
    index: NodeIndex = state.index
    domain = index.domain_of(key, position)
    here = [c for c in state.classes.members(classes) if c.nodes & domain]
    if not here:
        return ""
    count = sum(c.tally.total(domain) for c in here)
    labels = ",".join(f"{k}={v}" for k, v in _own_labels(here[0].pod.labels).items())
    kin = f"{count} pods" if count > 1 else "a pod"
    like = f"like {here[0].pod.namespace}/{{{labels}}}"
    return f"{kin} {like} in {key}={index.nodes[position].labels[key]}"


_ADDED = ("pod-template-hash", "controller-revision-hash", "statefulset.kubernetes.io/", "topology.kubernetes.io/")


def _own_labels(labels: Labels) -> Mapping[str, str]:
    """Without what controllers and binding add, which says nothing of the kind of pod."""
    return {k: v for k, v in labels.items() if not k.startswith(_ADDED)}


def _told(term: PodAffinityTerm) -> str:
    return str(term.selector) if term.selector is not None else "nothing (its labelSelector is null)"


_TELL: Mapping[str, Callable[[str, Pod, ClusterState, int], str]] = {
    taint_toleration.NAME: _taint,
    node_affinity.NAME: _labels,
    node_resources_fit.NAME: _resources,
    spreading.NAME: _skew,
    pods.NAME: _neighbours,
}
