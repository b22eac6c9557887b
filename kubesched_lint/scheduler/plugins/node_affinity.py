"""A pod's nodeSelector and required node affinity select the nodes it can use.

Mirrors ``pkg/scheduler/framework/plugins/nodeaffinity/node_affinity.go`` (v1.36).
"""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.cluster.nodeset import NodeSet
from kubesched_lint.cluster.state import ClusterState
from kubesched_lint.model.pod import NodeSelectorTerm, Pod
from kubesched_lint.scheduler.verdict import PreFilterRefusal, Rejection

NAME = "NodeAffinity"


def reject(pod: Pod, state: ClusterState, among: NodeSet) -> Iterator[Rejection]:
    if pod.node_selector or pod.required_node_terms is not None:
        others = among & ~state.index.matching(pod.node_selector, pod.required_node_terms)
        yield Rejection(NAME, "node(s) didn't match Pod's node affinity/selector", others, resolvable=False)


def prefilter(pod: Pod, state: ClusterState) -> PreFilterRefusal | NodeSet | None:
    """Return the named nodes if every term pins metadata.name; only these are checked."""
    if not pod.required_node_terms:
        return None
    names: frozenset[str] = frozenset()
    for term in pod.required_node_terms:
        pinned = _pinned(term)
        if pinned is None:
            return None
        names |= pinned
    if not names:
        return PreFilterRefusal(NAME, "pod affinity terms conflict", resolvable=False)
    return state.index.named(names)


def _pinned(term: NodeSelectorTerm) -> frozenset[str] | None:
    """Return the node names common to all ``metadata.name In`` fields of a term; None without such a field."""
    names: frozenset[str] | None = None
    for field in term.fields:
        if field.key == "metadata.name" and field.operator == "In":
            values = frozenset(field.values)
            names = values if names is None else names & values
    return names
