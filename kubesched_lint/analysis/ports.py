"""Host ports that two pods cannot hold on one node."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint import work
from kubesched_lint.analysis.facts import Facts
from kubesched_lint.cluster.nodeset import EMPTY, NodeSet
from kubesched_lint.model.pod import BoundPod, HostPort, Pod
from kubesched_lint.model.workload import Workload

ALL = "0.0.0.0"
REASON = "node(s) didn't have free ports for the requested pod ports"


def clash(one: Pod, other: Pod) -> tuple[HostPort, HostPort] | None:
    """The first ports of two pods that exclude each other (``nodeports``: the same address, or one means every)."""
    for mine in one.host_ports:
        for theirs in other.host_ports:
            if (mine.protocol, mine.port) == (theirs.protocol, theirs.port) and (
                mine.host_ip == theirs.host_ip or ALL in (mine.host_ip, theirs.host_ip)
            ):
                return mine, theirs
    return None


def rivals(workload: Workload, facts: Facts) -> Iterator[Workload]:
    """Other workloads of the set that take one of its ports, created before it."""
    seen = set()
    for port in workload.pod.host_ports:
        users = facts.host_port_users[port.protocol, port.port]
        work.spend(len(users))
        for other in users:
            if id(other) in seen or other.ref == workload.ref or not facts.comes_before(other, workload):
                continue
            seen.add(id(other))
            yield other


def taken_by_running(workload: Workload, facts: Facts) -> tuple[NodeSet, tuple[BoundPod, ...]]:
    """Nodes where running pods of others that stay hold one of its ports, and these pods."""
    taken: NodeSet = EMPTY
    for port in workload.pod.host_ports:
        taken |= facts.staying(workload).state.port_conflicts(port)
    if not taken:
        return taken, ()
    return taken, tuple(b for b in facts.staying(workload).pods if b.node and clash(workload.pod, b.pod))
