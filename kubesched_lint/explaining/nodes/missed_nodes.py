"""The nodes that a DaemonSet matches and misses because of their taints, and who runs there."""

from __future__ import annotations

from collections.abc import Container
from functools import reduce
from operator import or_

from kubesched_lint.engine.cluster.nodes.elastic import CONTROL_PLANE
from kubesched_lint.engine.cluster.nodeset import EMPTY, NodeSet
from kubesched_lint.engine.model.workloads.workload import Workload
from kubesched_lint.engine.scenario.others.room import taints_in_the_way
from kubesched_lint.engine.scenario.scenario import Member, Scenario, once_per_scenario


def missed_nodes(it: Member) -> NodeSet:
    """Today's nodes with the right labels for which the DaemonSet controller makes no pod, because of their taints."""
    return it.reach.matching & it.scenario.today & ~it.daemon_nodes


def daemons_where_missed(it: Member) -> tuple[Workload, ...]:
    """The other DaemonSets that run on nodes that this one matches and misses, and beside it as well.

    They tolerate the nodes' taints by name, or are of its namespace: one that tolerates everything wants to be on each
    node, and does not tell which nodes are meant for others. Control planes do not count: what runs there is chosen
    for each component.
    """
    running = it.daemon_nodes
    missed = missed_nodes(it) & ~control_planes(it.scenario)
    if not missed or not running:
        return ()
    keys = {taint.key for taint in taints_in_the_way(it, missed)}
    return tuple(
        other
        for other, nodes in _daemons(it.scenario)
        if other is not it.workload and nodes & missed and nodes & running and _tells(other, it.workload, keys)
    )


def _tells(other: Workload, daemon: Workload, keys: Container[str]) -> bool:
    return other.namespace == daemon.namespace or any(toleration.key in keys for toleration in other.pod.tolerations)


@once_per_scenario
def _daemons(scenario: Scenario) -> tuple[tuple[Workload, NodeSet], ...]:
    return tuple((w, scenario.member(w).daemon_nodes) for w in scenario.manifests.workloads if w.kind == "DaemonSet")


@once_per_scenario
def control_planes(scenario: Scenario) -> NodeSet:
    """The nodes with a taint of the control plane."""
    tainted = (nodes for taint, nodes in scenario.index.taints.items() if taint.key in CONTROL_PLANE)
    return reduce(or_, tainted, EMPTY)
