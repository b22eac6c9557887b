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
    free = facts.most_free(workload, resource, facts.index.named(here))
    yield Hazard(
        at=request_path(workload, resource),
        evidence=proof(
            f"{len(short)} of {daemon_nodes(workload, facts).bit_count()} nodes: Insufficient {resource}, and "
            f"{_victims(pod)}",
            demand=pod.requests[resource],
            supply=free,
            assumes=facts.running_premises(workload),
        ),
        values={
            "count": len(short),
            "nodes": here,
            "resource": resource,
            "wanted": show(resource, pod.requests[resource]),
            "free": show(resource, free),
            "priority": pod.priority or 0,
        },
    )


def _victims(pod: Pod) -> str:
    if pod.preemption_policy == "Never":
        return "preemptionPolicy is Never"
    return f"pods below priority {pod.priority or 0} do not hold enough"


def _starved(workload: Workload, pod: Pod, facts: Facts) -> Iterator[tuple[str, str]]:
    """Nodes without room for its pod beside the running pods that stay, with the resource that lacks."""
    state = facts.staying(workload).state
    nodes = daemon_nodes(workload, facts) & ~facts.index.unknown_resources
    for position in positions(nodes):
        node = facts.index.nodes[position]
        for name, amount in pod.requests.items():
            if amount > 0 and state.ledger.free(name)[position] < amount <= (node.allocatable or {}).get(name, 0):
                yield node.name, name
                break
