"""Several replicas, and nothing that keeps them apart."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.engine.model.nodes.node import HOSTNAME, ZONE
from kubesched_lint.engine.scenario.scenario import Member
from kubesched_lint.explaining.remedies.placement import spread_over
from kubesched_lint.explaining.remedies.remedy import Remedy
from kubesched_lint.findings import Hazard, pattern


def check(it: Member) -> Iterator[Hazard]:
    replicas = it.replicas
    pod = it.pod
    if not it.workload.stays or replicas < 2 or pod.spread or pod.host_ports:
        return
    if any(it.repels_itself(term) for term in pod.required_affinity):
        return  # they should be together
    terms = [*pod.required_anti_affinity, *(w.term for w in pod.preferred_anti_affinity)]
    if any(it.repels_itself(term) for term in terms):
        return
    yield Hazard(
        at=it.workload.replicas_path if it.workload.replicas_written else ("metadata", "name"),
        evidence=pattern("neither topologySpreadConstraints nor anti-affinity to its own pods"),
        values={"replicas": replicas},
    )


def fix(hazard: Hazard, it: Member) -> Iterator[Remedy]:
    """Spread softly over zones and nodes."""
    yield from spread_over(it, ZONE, HOSTNAME)
