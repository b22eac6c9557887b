"""What a sketch leaves open about its nodes: their names, and labels that it does not state."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from kubesched_lint.engine.model.labels import Requirement
from kubesched_lint.engine.model.nodes.node import HOSTNAME
from kubesched_lint.engine.scenario.scenario import Scenario, once_per_scenario

if TYPE_CHECKING:
    from kubesched_lint.engine.model.storage import StorageClass


@once_per_scenario
def makes_up_names(scenario: Scenario) -> bool:
    """Return whether the cluster is a sketch in which one entry stands for several nodes, whose names it makes up."""
    if scenario.cluster is None or scenario.cluster.origin != "sketch":
        return False
    entries = [node.path for node in scenario.cluster.inventory.nodes]
    return len(set(entries)) < len(entries)


def may_be_a_node(name: str, scenario: Scenario) -> bool:
    """Return whether a node may have this name, although the sketch has none of it."""
    return makes_up_names(scenario) and name not in scenario.index.domains(HOSTNAME)


def host_among(conditions: Iterable[Requirement], is_unknown: Callable[[str], bool]) -> str:
    """Return a hostname that the conditions require, if ``is_unknown`` holds for all that they allow; else empty."""
    wanted = (r.values for r in conditions if r.key == HOSTNAME and r.operator == "In" and r.values)
    return next((values[0] for values in wanted if all(map(is_unknown, values))), "")


def is_left_out(key: str, scenario: Scenario) -> bool:
    """Return whether a sketch says that nodes have the label, with values that it does not state."""
    return scenario.cluster is not None and scenario.cluster.leaves_out(key)


def unstated_topology(scenario: Scenario, storage_class: StorageClass | None) -> str:
    """Return a label of ``allowedTopologies`` that a driver sets and that a sketch does not state; else empty.

    A driver names its topology as it likes; only labels of Kubernetes itself come from elsewhere.
    """
    if scenario.cluster is None or scenario.cluster.origin != "sketch" or storage_class is None:
        return ""
    keys = (key for term in storage_class.allowed_topologies for key in term)
    return next((key for key in keys if "kubernetes.io/" not in key and not scenario.index.with_key(key)), "")
