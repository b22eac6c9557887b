"""The nodes are full, and the DaemonSet's priority does not let it preempt enough pods."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.engine.cluster.nodeset import positions
from kubesched_lint.engine.model.pod import Pod
from kubesched_lint.engine.model.quantity import show
from kubesched_lint.engine.model.resources import request_path
from kubesched_lint.engine.scenario.others.room import most_free
from kubesched_lint.engine.scenario.others.staying import staying
from kubesched_lint.engine.scenario.premises.premises import running_premises
from kubesched_lint.engine.scenario.scenario import Member
from kubesched_lint.findings import Hazard, Severity, proof


def check(it: Member) -> Iterator[Hazard]:
    pod = it.pod
    if pod.priority_class and pod.priority is None:
        return  # an unknown class may have any priority
    short = dict(_starved(it, pod))
    if not short:
        return
    resource = max(short.values(), key=list(short.values()).count)
    starved = [name for name, lacking in short.items() if lacking == resource]
    free = most_free(it, resource, it.scenario.index.named(starved))
    yield Hazard(
        at=request_path(it.workload, resource),
        evidence=proof(
            f"{len(short)} of {it.daemon_nodes.bit_count()} nodes: Insufficient {resource}, and {_victims(pod)}",
            demand=pod.requests[resource],
            supply=free,
            assumes=running_premises(it),
        ),
        severity=Severity.WARNING,
        values={
            "pending": len(short),
            "count": len(short),
            "nodes": starved,
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


def _starved(it: Member, pod: Pod) -> Iterator[tuple[str, str]]:
    """Yield (node, resource) for nodes without room for its pod beside the running pods that stay."""
    state = staying(it).state
    nodes = it.daemon_nodes & ~it.scenario.index.unknown_resources
    for position in positions(nodes):
        node = it.scenario.index.nodes[position]
        for name, amount in pod.requests.items():
            if amount > 0 and state.ledger.free(name)[position] < amount <= (node.allocatable or {}).get(name, 0):
                yield node.name, name
                break
