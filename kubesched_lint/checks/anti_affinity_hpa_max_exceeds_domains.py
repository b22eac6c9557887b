"""What fits today no longer fits when the autoscaler goes to its maximum."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.analysis.facts import Facts
from kubesched_lint.analysis.remedy import Remedy
from kubesched_lint.checks._remedies import spread_instead
from kubesched_lint.findings import Hazard, Place, proof
from kubesched_lint.model.workload import Workload


def check(workload: Workload, facts: Facts) -> Iterator[Hazard]:
    scaler = facts.autoscaler(workload)
    if scaler is None:
        return
    for term in facts.pod(workload).required_anti_affinity:
        if not facts.repels_itself(workload, term):
            continue
        room = facts.room(workload, term.topology_key)
        supply = len(room.domains)
        if room.is_bounded and facts.replicas(workload) <= supply < scaler.max_replicas:
            related = [] if scaler.source is None else [Place(scaler.path, "the maximum", scaler.source)]
            yield Hazard(
                at=term.path,
                evidence=proof(
                    f"maxReplicas {scaler.max_replicas} > {supply} usable {term.topology_key} "
                    f"{'domain' if supply == 1 else 'domains'} ({', '.join(room.domains)})",
                    demand=scaler.max_replicas,
                    supply=supply,
                    assumes=facts.node_premises(workload),
                ),
                values={
                    "maximum": scaler.max_replicas,
                    "pending": scaler.max_replicas - supply,
                    "supply": supply,
                    "key": term.topology_key,
                    "scaler": scaler.name,
                    "domains": room.domains,
                },
                related=tuple(related),
            )


def fix(hazard: Hazard, workload: Workload, facts: Facts) -> Iterator[Remedy]:
    """Spread the replicas instead: a domain may then hold several."""
    yield from spread_instead(workload, hazard.at, hard=True)
    yield from spread_instead(workload, hazard.at, hard=False)
