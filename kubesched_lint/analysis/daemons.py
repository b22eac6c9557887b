"""The nodes of a DaemonSet, and what its pods find there."""

from __future__ import annotations

from kubesched_lint.analysis.facts import Facts
from kubesched_lint.cluster.nodeset import NodeSet
from kubesched_lint.model.workload import Workload


def daemon_nodes(workload: Workload, facts: Facts) -> NodeSet:
    """Nodes of today for which its controller makes a pod; resources and other pods do not matter to it."""
    from kubesched_lint.controllers.daemonset import targets, with_daemon_tolerations

    return targets(with_daemon_tolerations(facts.pod(workload)), facts.index)[0] & facts.today


def pods_wanted(workload: Workload, facts: Facts) -> tuple[int, NodeSet]:
    """How many pods stay there together, and on which nodes they may stand. A Job's do not stay: 0."""
    if workload.kind == "DaemonSet":
        nodes = daemon_nodes(workload, facts)
        return nodes.bit_count(), nodes
    usable = facts.usable(workload)
    return (facts.replicas(workload) if workload.stays else 0), usable
