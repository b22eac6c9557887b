"""Nodes take a number of pods, whatever these ask for; it is used up."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.analysis.daemons import daemon_nodes
from kubesched_lint.analysis.facts import Facts
from kubesched_lint.cluster.ledger import PODS
from kubesched_lint.cluster.nodeset import NodeSet, positions
from kubesched_lint.cluster.state import ClusterState
from kubesched_lint.findings import Hazard, Severity, proof
from kubesched_lint.model.workload import Workload

REASON = "Too many pods"


def check(workload: Workload, facts: Facts) -> Iterator[Hazard]:
    if workload.kind == "DaemonSet":
        yield from _daemons(workload, facts)
        return
    usable, replicas = facts.usable(workload), facts.replicas(workload)
    if not workload.stays or not usable or facts.index.unknown_resources & usable:
        return
    most = _slots(facts.empty, usable, replicas)
    bare = most < replicas
    supply = most if bare else _slots(facts.staying(workload).state, usable, replicas)
    if supply >= replicas:
        return
    most = _slots(facts.empty, usable)
    yield Hazard(
        at=workload.replicas_path,
        evidence=proof(
            f"{replicas} replicas > {supply} places for pods {'on' if bare else 'left on'} "
            f"{usable.bit_count()} usable nodes: {REASON}",
            demand=replicas,
            supply=supply,
            assumes=facts.node_premises(workload) if bare else facts.running_premises(workload),
        ),
        severity=None if bare else Severity.WARNING,
        values={
            "pending": replicas - supply,
            "replicas": replicas,
            "supply": supply,
            "most": most,
            "usable": usable.bit_count(),
        },
        variant="bare" if bare else "default",
    )


def _daemons(workload: Workload, facts: Facts) -> Iterator[Hazard]:
    nodes = daemon_nodes(workload, facts) & ~facts.index.unknown_resources
    free = facts.staying(workload).state.ledger.free(PODS)
    full = [facts.index.names[i] for i in positions(nodes) if free[i] <= 0]
    if full:
        yield Hazard(
            at=("metadata", "name"),
            severity=Severity.WARNING,
            evidence=proof(
                f"{len(full)} of {nodes.bit_count()} nodes have no place for another pod: {REASON}",
                demand=nodes.bit_count(),
                supply=nodes.bit_count() - len(full),
                assumes=facts.running_premises(workload),
            ),
            values={"nodes": full, "pending": len(full)},
            variant="daemonset",
        )


def _slots(state: ClusterState, nodes: NodeSet, enough: int | None = None) -> int:
    """Places for pods on ``nodes``, counted no further than is ``enough``."""
    free = state.ledger.free(PODS)
    found = 0
    for position in positions(nodes):
        found += int(max(0, free[position]))
        if enough is not None and found >= enough:
            break
    return found
