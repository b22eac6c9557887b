"""Which nodes a pod selects by their labels, and how near to others, in words."""

from __future__ import annotations

from kubesched_lint.engine.model.nodes.node import HOSTNAME, domain_word
from kubesched_lint.engine.model.pod import Pod, PodAffinityTerm


def that_match(pod: Pod) -> str:
    """Return `` with pool=gpu`` for one label, `` that matches`` for a longer condition; empty if any label will do."""
    if pod.required_node_terms is None and len(pod.node_selector) == 1:
        return "".join(f" with {key}={value}" for key, value in pod.node_selector.items())
    return " that matches" if pod.node_selector or pod.required_node_terms is not None else ""


def how_near(term: PodAffinityTerm) -> str:
    """Return how near the pods must be: ``on the node of``, ``in the zone of``."""
    return f"{'on' if term.topology_key == HOSTNAME else 'in'} the {domain_word(term.topology_key)} of"
