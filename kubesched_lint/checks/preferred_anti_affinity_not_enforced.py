"""Preferred anti-affinity is one score among others; above one pod per domain it does not say what is meant."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.analysis.facts import Facts
from kubesched_lint.analysis.remedy import Remedy
from kubesched_lint.checks._remedies import spread_instead
from kubesched_lint.findings import Hazard, pattern
from kubesched_lint.model.workload import Workload


def check(workload: Workload, facts: Facts) -> Iterator[Hazard]:
    pod = facts.pod(workload)
    replicas = facts.replicas(workload)
    spread_keys = {c.topology_key for c in pod.spread}
    for weighted in pod.preferred_anti_affinity:
        term = weighted.term
        if term.topology_key in spread_keys or not facts.repels_itself(workload, term):
            continue
        room = facts.room(workload, term.topology_key)
        if 1 < len(room.domains) < replicas:
            yield Hazard(
                at=weighted.path,
                evidence=pattern(f"{replicas} replicas on {len(room.domains)} domains of {term.topology_key}"),
                values={"key": term.topology_key, "replicas": replicas, "domains": room.domains},
            )


def fix(hazard: Hazard, workload: Workload, facts: Facts) -> Iterator[Remedy]:
    """Spread the replicas instead, which balances more replicas than domains."""
    yield from spread_instead(workload, hazard.at, hard=False)
