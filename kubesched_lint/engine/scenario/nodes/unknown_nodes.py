"""What is missing to know which nodes a pod may use: labels left out of a sketch, placeholders, labels set later."""

from __future__ import annotations

from collections.abc import Iterable

from kubesched_lint.engine.base.errors import UncheckedError
from kubesched_lint.engine.base.placeholders import to_fill_in
from kubesched_lint.engine.model.labels import Requirement
from kubesched_lint.engine.model.nodes.node import HOSTNAME, SET_BY_KUBELETS, is_of_csi_driver
from kubesched_lint.engine.model.pod import NodeSelectorTerm, Pod
from kubesched_lint.engine.scenario.nodes.node_makers import made_later
from kubesched_lint.engine.scenario.nodes.sketched import host_among, is_left_out, may_be_a_node
from kubesched_lint.engine.scenario.scenario import Scenario, once_per_scenario
from kubesched_lint.engine.scenario.words import Words


def unstated_label(pod: Pod, scenario: Scenario) -> str:
    """Return a node label that the pod requires and a sketch states of no node; empty if all are known.

    What pools set says nothing about the nodes that exist.
    """
    if scenario.cluster is None or scenario.cluster.origin != "sketch" or not scenario.cluster.inventory.nodes:
        return ""
    asked = {r.key for t in pod.required_node_terms or () for r in t.expressions} | pod.node_selector.keys()
    set_later = (key for key in asked if key in SET_BY_KUBELETS or is_of_csi_driver(key))
    unknown = (key for key in set_later if not scenario.index.with_key(key) & scenario.today)
    host = unknown_host((r for t in pod.required_node_terms or () for r in t.expressions), scenario)
    named = pod.node_selector.get(HOSTNAME, "")
    if host or (named and is_unknown_host(named, scenario)):
        return f"{HOSTNAME}={host or named}"
    spread = [c.topology_key for c in pod.spread if c.is_hard] + [t.topology_key for t in pod.required_affinity]
    return min(unknown, default="") or min((key for key in (*asked, *spread) if is_left_out(key, scenario)), default="")


def open_label(pod: Pod, scenario: Scenario) -> str:
    """Return the part of a required node label that somebody fills in before applying, if nodes may match then."""
    if scenario.cluster is None or scenario.index.matching(pod.node_selector, pod.required_node_terms):
        return ""
    selector = [Requirement(key, "In", (value,)) for key, value in pod.node_selector.items()]
    terms = [term.expressions for term in pod.required_node_terms or () if not term.fields] or [()]
    return next(filter(None, (_open_of((*selector, *term), scenario) for term in terms)), "")


def _open_of(required: Iterable[Requirement], scenario: Scenario) -> str:
    """Return the first placeholder if each condition that no node meets has one; else empty."""
    words = {r: next(filter(None, (to_fill_in(f"{r.key}={value}") for value in r.values)), "") for r in required}
    if not any(words.values()):
        return ""  # as in most pods: no node has to be asked
    unmet = [word for r, word in words.items() if not scenario.index.matching_term(NodeSelectorTerm((r,)))]
    return unmet[0] if unmet and all(unmet) else ""


def check_known(pod: Pod, scenario: Scenario) -> None:
    """Raises UncheckedError if a sketch or a placeholder leaves open which nodes the pod requires."""
    if label := unstated_label(pod, scenario):
        raise UncheckedError(f"the sketch gives no node the label {label}; write it to have selectors on it checked")
    if word := open_label(pod, scenario):
        raise UncheckedError(f"{word} is a placeholder, fill it in first")


def unknown_nodes(pod: Pod, scenario: Scenario) -> str:
    """Return what is missing to know which nodes the pod may use; empty if nothing."""
    if label := unstated_label(pod, scenario):
        return f"the label {label} of the nodes, which the pods require and the cluster sketch does not have"
    if made := next(made_later(pod, scenario), None):
        return made.fact
    word = open_label(pod, scenario)
    return f"what replaces the placeholder {word}" if word else ""


def unknown_host(conditions: Iterable[Requirement], scenario: Scenario) -> str:
    """Return a hostname that conditions require and that nodes may have, although the sketch has none; else empty."""
    return host_among(conditions, lambda name: is_unknown_host(name, scenario))


def is_unknown_host(name: str, scenario: Scenario) -> bool:
    """Return whether a node may have this name; one that reads like a made-up name is a misspelt one.

    ``node1`` beside the made-up ``node`` is no slip: people number nodes so.
    """
    if not may_be_a_node(name, scenario):
        return False
    near = nearest_node(scenario, name)
    return not near or (name != near and _unnumbered(name) == near)


def _unnumbered(name: str) -> str:
    return name.rstrip("0123456789").rstrip("-")


def nearest_node(scenario: Scenario, name: str) -> str:
    """A node whose name reads like ``name``; empty without one."""
    return _node_names(scenario).closest(name)


@once_per_scenario
def _node_names(scenario: Scenario) -> Words:
    return Words(node.name for node in scenario.nodes)
