"""The nodes are full, and the DaemonSet may push nobody out."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.analysis.daemons import daemon_nodes
from kubesched_lint.analysis.facts import Facts, request_path
from kubesched_lint.cluster.nodeset import positions
from kubesched_lint.findings import Hazard, proof
from kubesched_lint.model.pod import Pod
from kubesched_lint.model.quantity import show
from kubesched_lint.model.workload import Workload


def check(workload: Workload, facts: Facts) -> Iterator[Hazard]:
    pod = facts.pod(workload)
    if pod.priority_class and pod.priority is None:
        return  # a class that nobody told us may push out whatever it likes
    short = dict(_starved(workload, pod, facts))
    if not short:
        return
    resource = max(short.values(), key=list(short.values()).count)
    here = [name for name, lacking in short.items() if lacking == resource]
    free = max(int(facts.state.ledger.free(resource)[facts.index.position(name)]) for name in here)
    yield Hazard(
        at=request_path(workload, resource),
        evidence=proof(
            f"{len(short)} of {daemon_nodes(workload, facts).bit_count()} nodes: Insufficient {resource}, and "
            f"{_victims(pod)}",
            demand=pod.requests[resource],
            supply=max(free, 0),
            assumes=facts.running_premises(workload),
        ),
        values={
            "count": len(short),
            "nodes": here,
            "resource": resource,
            "wanted": show(resource, pod.requests[resource]),
            "free": show(resource, max(free, 0)),
            "priority": pod.priority or 0,
        },
    )


def _victims(pod: Pod) -> str:
    if pod.preemption_policy == "Never":
        return "preemptionPolicy is Never"
    return f"pods below priority {pod.priority or 0} do not hold enough"


def _starved(workload: Workload, pod: Pod, facts: Facts) -> Iterator[tuple[str, str]]:
    """Nodes without room for its pod even if all pods of lower priority went, with the resource that lacks."""
    lower: dict[tuple[str, str], int] = {}
    if pod.preemption_policy != "Never":
        for bound in facts.other_pods:
            if (bound.pod.priority or 0) < (pod.priority or 0):
                for name, amount in bound.pod.requests.items():
                    lower[bound.node, name] = lower.get((bound.node, name), 0) + amount
    nodes = daemon_nodes(workload, facts) & ~facts.index.unknown_resources
    for position in positions(nodes):
        node = facts.index.nodes[position]
        for name, amount in pod.requests.items():
            free = facts.state.ledger.free(name)[position]
            offered = (node.allocatable or {}).get(name, 0)
            if amount > 0 and free + lower.get((node.name, name), 0) < amount <= offered:
                yield node.name, name
                break
