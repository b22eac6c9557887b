"""Pods attract and repel each other within topology domains.

Mirrors ``pkg/scheduler/framework/plugins/interpodaffinity/filtering.go`` and ``plugin.go`` (v1.36).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kubesched_lint.engine.base.quirks import NEGATIVE_NAMESPACE_SELECTOR, has
from kubesched_lint.engine.cluster.nodeset import EMPTY, NodeSet
from kubesched_lint.engine.cluster.pods.classes import ClassSet
from kubesched_lint.engine.cluster.state import ClusterState
from kubesched_lint.engine.model.pod import Pod, PodAffinityTerm
from kubesched_lint.engine.scheduler.plugins.verdict import Rejection

NAME = "InterPodAffinity"
UNATTRACTED = "node(s) didn't match pod affinity rules"
REPELLED = "node(s) didn't match pod anti-affinity rules"
UNWELCOME = "node(s) didn't satisfy existing pods anti-affinity rules"


def reject(pod: Pod, state: ClusterState, among: NodeSet) -> Iterator[Rejection]:
    if pod.required_affinity:
        unattracted = among & ~attracting_nodes(pod, state)
        yield Rejection(NAME, UNATTRACTED, unattracted, resolvable=False)
        among &= ~unattracted
    if pod.required_anti_affinity:
        repelling = EMPTY
        for term in pod.required_anti_affinity:
            if among & state.index.with_key(term.topology_key):
                holding = state.classes.nodes_of(selected_classes(term, pod.namespace, state))
                repelling |= state.index.spanned(term.topology_key, holding)
        yield Rejection(NAME, REPELLED, among & repelling, resolvable=True)
        among &= ~repelling
    unwelcoming = among & unwelcoming_nodes(pod, state)
    if unwelcoming:
        yield Rejection(NAME, UNWELCOME, unwelcoming, resolvable=True)


def attracting_nodes(pod: Pod, state: ClusterState) -> NodeSet:
    """Return the nodes where required affinity holds: each term's domain contains a pod that matches *all* terms.

    If no such pod is on any node with one of the keys, a pod that matches its own terms may be the first, on any node
    with all the keys.
    """
    index, terms = state.index, pod.required_affinity
    companions = state.classes.nodes_of(_selected_by_all(terms, pod.namespace, state))
    labelled, attracting, anywhere = index.all, index.all, EMPTY
    for term in terms:
        attracted = index.spanned(term.topology_key, companions)
        anywhere |= attracted
        attracting &= attracted
        labelled &= index.with_key(term.topology_key)
    if not anywhere and all(selects_incoming(term, pod, pod, state) for term in terms):
        return labelled
    return attracting


def unwelcoming_nodes(pod: Pod, state: ClusterState) -> NodeSet:
    """Return the nodes in a domain of a running pod whose required anti-affinity selects this pod."""
    unwelcoming = EMPTY
    for holders in state.classes.repelling.possible(pod):
        if selects_pod(holders.term, holders.namespace, pod, state):
            holding = EMPTY
            for pod_class in holders.items:
                holding |= pod_class.nodes
            unwelcoming |= state.index.spanned(holders.term.topology_key, holding)
    return unwelcoming


def selects_pod(term: PodAffinityTerm, holder_namespace: str, pod: Pod, state: ClusterState) -> bool:
    """Return whether a running pod's term selects a pod, by its labels and its namespace (name or namespace labels)."""
    if term.selector is None or not term.selector.matches(pod.labels):
        return False
    if pod.namespace in named_namespaces(term, holder_namespace):
        return True
    chosen = term.namespace_selector
    return chosen is not None and chosen.matches(state.namespace_labels(pod.namespace))


def named_namespaces(term: PodAffinityTerm, own: str) -> Sequence[str]:
    """Return the namespaces that a term lists; its pod's own if it neither lists nor selects any."""
    return (own,) if not term.namespaces and term.namespace_selector is None else term.namespaces


def selected_classes(term: PodAffinityTerm, own: str, state: ClusterState) -> ClassSet:
    """Return the classes of running pods that an incoming pod's term selects."""
    chosen = state.classes.index.selected_by(term.selector)
    if not chosen or _selects_every_namespace(term, state):
        return chosen
    selected = chosen & state.classes.index.in_namespaces(named_namespaces(term, own))
    if term.namespace_selector is not None:
        selected |= chosen & state.in_selected_namespaces(state.classes.index, term.namespace_selector)
    return selected


def selects_incoming(term: PodAffinityTerm, holder: Pod, pod: Pod, state: ClusterState) -> bool:
    """Return whether an incoming pod's term selects ``pod``, which may be the incoming pod itself."""
    if term.selector is None or not term.selector.matches(pod.labels):
        return False
    if _selects_every_namespace(term, state) or pod.namespace in named_namespaces(term, holder.namespace):
        return True
    by_labels = term.namespace_selector
    if by_labels is None or not state.knows_namespace(pod.namespace):
        return False
    return by_labels.matches(state.namespace_labels(pod.namespace))


def _selects_every_namespace(term: PodAffinityTerm, state: ClusterState) -> bool:
    """Return whether the term selects every namespace.

    mergeAffinityTermNamespacesIfNotEmpty lists the selected namespaces; upstream then matches with empty labels.
    """
    chosen = term.namespace_selector
    if chosen is None:
        return False
    if has(state.kubernetes_version, NEGATIVE_NAMESPACE_SELECTOR):
        return chosen.matches({})
    return chosen.is_empty


def _selected_by_all(terms: Sequence[PodAffinityTerm], own: str, state: ClusterState) -> ClassSet:
    chosen = state.classes.index.all
    for term in terms:
        chosen &= selected_classes(term, own, state)
    return chosen
