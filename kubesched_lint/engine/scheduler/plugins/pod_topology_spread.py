"""Pods spread over topology domains: no domain exceeds the emptiest by more than maxSkew.

Mirrors ``pkg/scheduler/framework/plugins/podtopologyspread/filtering.go`` and ``common.go`` (v1.36).
"""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.engine.cluster.nodeset import EMPTY, NodeSet
from kubesched_lint.engine.cluster.state import ClusterState
from kubesched_lint.engine.cluster.topology import NodeCounter
from kubesched_lint.engine.model.labels import Requirement, Selector
from kubesched_lint.engine.model.pod import Pod, SpreadConstraint
from kubesched_lint.engine.scheduler.plugins.verdict import Rejection
from kubesched_lint.engine.scheduler.topology import eligible_nodes, is_short_of_domains, labelled_nodes, least_count

NAME = "PodTopologySpread"
SKEWED = "node(s) didn't match pod topology spread constraints"
UNLABELLED = "node(s) didn't match pod topology spread constraints (missing required label)"


def reject(pod: Pod, state: ClusterState, among: NodeSet) -> Iterator[Rejection]:
    hard = [c for c in pod.spread if c.is_hard]
    if not hard:
        return
    counted = labelled_nodes(hard, state.index)
    for constraint in hard:
        without = among & ~state.index.with_key(constraint.topology_key)
        if without:
            yield Rejection(NAME, UNLABELLED, without, resolvable=False)
            among &= ~without
        skewed = _skewed(pod, constraint, counted, state, among)
        if skewed:
            yield Rejection(NAME, SKEWED, skewed, resolvable=True)
            among &= ~skewed


def effective_selector(pod: Pod, constraint: SpreadConstraint) -> Selector | None:
    """Return the selector with the pod's ``key = value`` for every matchLabelKey that it has; null stays null."""
    if constraint.selector is None or not constraint.match_label_keys:
        return constraint.selector
    own = [Requirement(key, "In", (pod.labels[key],)) for key in constraint.match_label_keys if key in pod.labels]
    return constraint.selector.and_also(*own)


def spread_tally(selector: Selector | None, namespace: str, state: ClusterState) -> NodeCounter:
    """Return the counted pods per node: of the namespace, selected, not terminating; an empty selector counts none."""
    if selector is None or selector.is_empty:
        return NodeCounter()
    classes = state.classes
    chosen = classes.index.selected_by(selector) & classes.index.in_namespaces((namespace,)) & ~classes.terminating
    return classes.tally_of(chosen)


def _skewed(pod: Pod, constraint: SpreadConstraint, counted: NodeSet, state: ClusterState, among: NodeSet) -> NodeSet:
    """Return the nodes of ``among`` where one more pod would exceed maxSkew: count + self - least > maxSkew."""
    selector = effective_selector(pod, constraint)
    counted &= eligible_nodes(pod, constraint, state.index)
    tally = spread_tally(selector, pod.namespace, state)
    itself = 1 if selector is not None and selector.matches(pod.labels) else 0
    index, key = state.index, constraint.topology_key
    ghosts = _ghosts(selector, pod.namespace, counted, state)
    if index.one_node_each(key) and not ghosts:
        # Every node is a domain of its own: compare all of them at once.
        few = is_short_of_domains(constraint, counted.bit_count())
        ceiling = constraint.max_skew + (0 if few else tally.least(counted)) - itself
        return among & counted & tally.at_least(ceiling + 1, counted)
    counts = {v: tally.total(nodes & counted) for v, nodes in index.domains(key).items() if nodes & counted}
    for position in ghosts:
        counts[index.nodes[position].labels[key]] -= 1
    ceiling = constraint.max_skew + least_count(constraint, counts.values()) - itself
    skewed = EMPTY
    for value, nodes in index.domains(key).items():
        # A domain without a counted node has count 0.
        if counts.get(value, 0) > ceiling:
            skewed |= nodes
    return among & skewed


def _ghosts(selector: Selector | None, namespace: str, counted: NodeSet, state: ClusterState) -> list[int]:
    """Return the positions of terminating pods that preemption removed: updateWithPod subtracts pods it never counted.

    It does not check for an empty selector either, but there a count below zero is the lowest anyway and changes
    nothing.
    """
    if selector is None or not state.removed_in_cycle:
        return []
    return [
        p.position
        for p in state.removed_in_cycle
        if counted >> p.position & 1
        and p.pod.namespace == namespace
        and p.pod_class.terminating
        and selector.matches(p.pod.labels)
    ]
