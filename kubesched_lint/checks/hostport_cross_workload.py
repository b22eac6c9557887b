"""Two workloads take the same port of their nodes, and there are not enough nodes for both."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.analysis.joint import demands_of
from kubesched_lint.analysis.ports import REASON, clash, rivals, taken_by_running
from kubesched_lint.analysis.wanted import daemon_nodes, lasting_pods_wanted
from kubesched_lint.cluster.nodeset import NodeSet
from kubesched_lint.findings import Hazard, Place, Severity, proof
from kubesched_lint.text import many
from kubesched_lint.world.premises import node_premises, running_premises
from kubesched_lint.world.world import Member


def check(it: Member) -> Iterator[Hazard]:
    wanted, nodes = lasting_pods_wanted(it), _nodes(it)
    if not wanted or wanted > nodes.bit_count():
        return  # too many for its nodes even alone: hostport-replicas-exceed-nodes
    yield from _running(it, wanted, nodes)
    for other in rivals(it):
        theirs = _nodes(it.world.member(other))
        count = lasting_pods_wanted(it.world.member(other))
        supply = (nodes | theirs).bit_count()
        ports = clash(it.workload.pod, other.pod)
        if ports is None or not count or count > theirs.bit_count() or wanted + count <= supply:
            continue
        mine, its = ports
        yield Hazard(
            at=mine.path,
            together=(it.workload.ref, other.ref),
            severity=None if _asks_for_places(it) and _asks_for_places(it.world.member(other)) else Severity.WARNING,
            evidence=proof(
                f"{wanted} + {count} pods > {many(supply, 'node')} with one host port {mine.protocol} {mine.port} each",
                demand=wanted + count,
                supply=supply,
                assumes=(*node_premises(it), "both are deployed together"),
            ),
            values={
                "port": mine.port,
                "other": str(other),
                "wanted": wanted + count,
                "supply": supply,
                "pending": wanted + count - supply,
            },
            related=(Place(its.path, "takes it as well", other.source, other.ref),),
        )


def _asks_for_places(it: Member) -> bool:
    """Whether all its pods surely reach the scheduler: defined once, not gated, and enough room except for ports."""
    wanted = lasting_pods_wanted(it)
    return any(demand.workload is it.workload and demand.count == wanted for demand in demands_of(it.world))


def _nodes(it: Member) -> NodeSet:
    """The nodes that its pods may use."""
    return daemon_nodes(it) if it.workload.kind == "DaemonSet" else it.usable


def _running(it: Member, wanted: int, nodes: int) -> Iterator[Hazard]:
    taken, holders = taken_by_running(it)
    free = (nodes & ~taken).bit_count()
    if wanted <= free:
        return
    port = it.workload.pod.host_ports[0]
    yield Hazard(
        at=port.path,
        severity=Severity.WARNING,  # the pod that holds it may go
        evidence=proof(
            f"{many(wanted, 'pod')} > {free} of {many(nodes.bit_count(), 'node')}: on the others, {REASON}",
            demand=wanted,
            supply=free,
            assumes=running_premises(it),
        ),
        values={
            "pending": wanted - free,
            "holders": tuple(sorted({f"{b.namespace}/{b.name}" for b in holders})),
            "nodes": it.world.names(nodes & taken),
            "port": port.port,
        },
        variant="running",
    )
