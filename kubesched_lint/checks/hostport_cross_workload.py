"""Two workloads take the same port of their nodes, and there are not enough nodes for both."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.analysis.daemons import pods_wanted
from kubesched_lint.analysis.facts import Facts
from kubesched_lint.analysis.ports import REASON, clash, rivals, taken_by_running
from kubesched_lint.findings import Hazard, Place, Severity, proof
from kubesched_lint.model.workload import Workload


def check(workload: Workload, facts: Facts) -> Iterator[Hazard]:
    wanted, nodes = pods_wanted(workload, facts)
    if not wanted or wanted > nodes.bit_count():
        return  # too many for its nodes even alone: hostport-replicas-exceed-nodes
    yield from _running(workload, facts, wanted, nodes)
    for other in rivals(workload, facts):
        count, theirs = pods_wanted(other, facts)
        supply = (nodes | theirs).bit_count()
        ports = clash(workload.pod, other.pod)
        if ports is None or not count or count > theirs.bit_count() or wanted + count <= supply:
            continue
        mine, its = ports
        yield Hazard(
            at=mine.path,
            together=(workload.ref, other.ref),
            severity=None if _asks_for_places(workload, facts) and _asks_for_places(other, facts) else Severity.WARNING,
            evidence=proof(
                f"{wanted} + {count} pods > {supply} nodes, each of which gives {mine.protocol} {mine.port} once",
                demand=wanted + count,
                supply=supply,
                assumes=(*facts.node_premises(workload), "both are deployed together"),
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


def _asks_for_places(workload: Workload, facts: Facts) -> bool:
    """Whether all its pods surely come to the scheduler: it is defined once, not gated, and would fit but for ports."""
    wanted, _ = pods_wanted(workload, facts)
    return any(demand.workload is workload and demand.count == wanted for demand in facts.demands)


def _running(workload: Workload, facts: Facts, wanted: int, nodes: int) -> Iterator[Hazard]:
    taken, holders = taken_by_running(workload, facts)
    free = (nodes & ~taken).bit_count()
    if wanted <= free:
        return
    port = workload.pod.host_ports[0]
    yield Hazard(
        at=port.path,
        severity=Severity.WARNING,  # what holds it may go
        evidence=proof(
            f"{wanted} pods > {free} of {nodes.bit_count()} nodes: on the others, {REASON}",
            demand=wanted,
            supply=free,
            assumes=facts.running_premises(workload),
        ),
        values={
            "pending": wanted - free,
            "holders": tuple(sorted({f"{b.namespace}/{b.name}" for b in holders})),
            "nodes": facts.names(nodes & taken),
            "port": port.port,
        },
        variant="running",
    )
