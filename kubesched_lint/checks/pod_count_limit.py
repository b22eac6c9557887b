"""Each node takes a limited number of pods, whatever their requests, and the limit is reached."""

from __future__ import annotations

from collections.abc import Iterator
from sys import maxsize

from msgspec.structs import replace

from kubesched_lint.engine.base.text import many, plural
from kubesched_lint.engine.cluster.ledger import PODS
from kubesched_lint.engine.scenario.others.running import empty_state
from kubesched_lint.engine.scenario.others.staying import staying
from kubesched_lint.engine.scenario.premises.premises import node_premises, running_premises
from kubesched_lint.engine.scenario.scenario import Member
from kubesched_lint.engine.scheduler.capacity import total_copies
from kubesched_lint.findings import Hazard, Severity, proof

REASON = "Too many pods"


def check(it: Member) -> Iterator[Hazard]:
    if it.workload.kind == "DaemonSet":
        yield from _daemons(it)
        return
    usable, replicas = it.usable, it.replicas
    if not it.workload.stays or not usable or it.scenario.index.unknown_resources & usable:
        return
    small = replace(it.pod, requests={}, host_ports=(), required_anti_affinity=())
    supply = total_copies(small, empty_state(it.scenario), usable, replicas)
    bare = supply < replicas
    supply = supply if bare else total_copies(small, staying(it).state, usable, replicas)
    if supply >= replicas:
        return
    yield Hazard(
        at=it.workload.replicas_path,
        evidence=proof(
            f"{many(replicas, 'replica')} > {many(supply, 'place')} for pods {'on' if bare else 'left on'} "
            f"{many(usable.bit_count(), 'node')}: {REASON}",
            demand=replicas,
            supply=supply,
            assumes=node_premises(it) if bare else running_premises(it),
        ),
        severity=None if bare else Severity.WARNING,
        values={
            "pending": replicas - supply,
            "replicas": replicas,
            "supply": supply,
            "most": total_copies(small, empty_state(it.scenario), usable, maxsize),
            "usable": usable.bit_count(),
        },
        variant="bare" if bare else "default",
    )


def _daemons(it: Member) -> Iterator[Hazard]:
    nodes = it.daemon_nodes & ~it.scenario.index.unknown_resources
    full = it.scenario.index.names_of(nodes & staying(it).state.ledger.short_of(PODS, 1))
    if full:
        yield Hazard(
            at=("metadata", "name"),
            severity=Severity.WARNING,
            evidence=proof(
                f"{len(full)} of {many(nodes.bit_count(), 'node')} "
                f"{plural(len(full), 'has', 'have')} no place for another pod: {REASON}",
                demand=nodes.bit_count(),
                supply=nodes.bit_count() - len(full),
                assumes=running_premises(it),
            ),
            values={"nodes": full, "pending": len(full)},
            variant="daemonset",
        )
