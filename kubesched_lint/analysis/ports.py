"""Host ports that two pods cannot hold on one node."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kubesched_lint import work
from kubesched_lint.cluster.nodeset import EMPTY, NodeSet
from kubesched_lint.model.pod import BoundPod, HostPort, Pod
from kubesched_lint.model.workload import Workload
from kubesched_lint.world.staying import staying
from kubesched_lint.world.world import Member, World, once_per_world

ALL = "0.0.0.0"
REASON = "node(s) didn't have free ports for the requested pod ports"


_STEPS = 4
"""Work units (see ``work``) to compare the ports of two pods."""


def clash(one: Pod, other: Pod) -> tuple[HostPort, HostPort] | None:
    """The first ports of two pods that conflict (``nodeports``: same address, or one is for every address)."""
    for mine in one.host_ports:
        for theirs in other.host_ports:
            if (mine.protocol, mine.port) == (theirs.protocol, theirs.port) and (
                mine.host_ip == theirs.host_ip or ALL in (mine.host_ip, theirs.host_ip)
            ):
                return mine, theirs
    return None


@once_per_world
def host_port_users(world: World) -> Mapping[tuple[str, int], tuple[Workload, ...]]:
    """(protocol, port) → workloads whose pods take it on their node."""
    found: dict[tuple[str, int], tuple[Workload, ...]] = {}
    for workload in world.manifests.workloads:
        for key in {(p.protocol, p.port) for p in workload.pod.host_ports}:
            found[key] = (*found.get(key, ()), workload)
    return found


def rivals(it: Member) -> Iterator[Workload]:
    """Other workloads of the set that take one of its ports, created before it."""
    seen = set()
    for port in it.workload.pod.host_ports:
        users = host_port_users(it.world)[port.protocol, port.port]
        work.spend(_STEPS * len(users))
        for other in users:
            if id(other) in seen or other.ref == it.workload.ref or not it.world.order.comes_before(other, it.workload):
                continue
            seen.add(id(other))
            yield other


def taken_by_running(it: Member) -> tuple[NodeSet, tuple[BoundPod, ...]]:
    """Nodes where running pods of others that stay hold one of its ports, and these pods."""
    taken: NodeSet = EMPTY
    for port in it.workload.pod.host_ports:
        taken |= staying(it).state.port_conflicts(port)
    if not taken:
        return taken, ()
    return taken, tuple(b for b in staying(it).pods if b.node and clash(it.workload.pod, b.pod))
