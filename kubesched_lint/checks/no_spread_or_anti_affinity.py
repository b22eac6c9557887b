"""Several replicas, and nothing that asks for them to stand apart."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.analysis.facts import Facts
from kubesched_lint.analysis.remedy import Remedy
from kubesched_lint.checks._remedies import spread_over
from kubesched_lint.findings import Hazard, pattern
from kubesched_lint.model.node import HOSTNAME, ZONE
from kubesched_lint.model.workload import Workload


def check(workload: Workload, facts: Facts) -> Iterator[Hazard]:
    replicas = facts.replicas(workload)
    pod = facts.pod(workload)
    if not workload.stays or replicas < 2 or pod.spread or pod.host_ports:
        return
    if any(facts.repels_itself(workload, term) for term in pod.required_affinity):
        return  # they are to be together
    terms = [*pod.required_anti_affinity, *(w.term for w in pod.preferred_anti_affinity)]
    if any(facts.repels_itself(workload, term) for term in terms):
        return
    yield Hazard(
        at=workload.replicas_path if workload.replicas_written else ("metadata", "name"),
        evidence=pattern("neither topologySpreadConstraints nor anti-affinity to its own pods"),
        values={"replicas": replicas},
    )


def fix(hazard: Hazard, workload: Workload, facts: Facts) -> Iterator[Remedy]:
    """Spread softly over zones and nodes."""
    yield from spread_over(workload, facts, ZONE, HOSTNAME)
