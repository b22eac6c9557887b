"""Each replica forbids its siblings, so each needs a topology domain to itself."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.analysis.facts import Facts
from kubesched_lint.findings import Hazard, Place, Severity, proof
from kubesched_lint.model.workload import Workload


def check(workload: Workload, facts: Facts, *, reserve: int) -> Iterator[Hazard]:
    if not workload.stays:
        return
    replicas = facts.replicas(workload)
    for term in facts.pod(workload).required_anti_affinity:
        if not facts.repels_itself(workload, term):
            continue
        room = facts.room(workload, term.topology_key, term)
        supply = len(room.domains)
        if not room.is_bounded or replicas <= supply - reserve:
            continue
        surely = facts.room(workload, term.topology_key, term, facts.staying_beside_set).domains == room.domains
        lost = 0 if replicas > supply else reserve
        left = supply - lost
        yield Hazard(
            at=term.path,
            evidence=proof(
                f"{replicas} replicas > {left} usable {term.topology_key} {'domain' if left == 1 else 'domains'} "
                f"({', '.join(room.domains)}{f', {lost} of them lost' if lost else ''})",
                demand=replicas,
                supply=left,
                assumes=facts.running_premises(workload),
            ),
            severity=None if surely and not lost else Severity.WARNING,
            values={
                "pending": replicas - left,
                "replicas": replicas,
                "supply": left,
                "reserve": lost,
                "key": term.topology_key,
                "domains": room.domains,
            },
            related=(Place(workload.replicas_path, f"{replicas} replicas wanted here"),),
            variant="reserve" if lost else "",
        )
