"""Each replica forbids its siblings, so each needs a topology domain to itself."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.analysis.facts import Facts
from kubesched_lint.findings import Hazard, Place, proof
from kubesched_lint.model.workload import Workload


def check(workload: Workload, facts: Facts, *, reserve: int) -> Iterator[Hazard]:
    if not workload.stays:
        return
    replicas = facts.replicas(workload)
    for term in facts.pod(workload).required_anti_affinity:
        if not facts.repels_itself(workload, term):
            continue
        room = facts.room(workload, term.topology_key, term)
        supply = len(room.domains) - reserve
        if room.is_bounded and replicas > supply:
            yield Hazard(
                at=term.path,
                evidence=proof(
                    f"{replicas} replicas > {supply} usable {term.topology_key} "
                    f"{'domain' if supply == 1 else 'domains'} ({', '.join(room.domains)})",
                    demand=replicas,
                    supply=supply,
                    assumes=facts.running_premises(workload),
                ),
                values={
                    "pending": replicas - supply,
                    "replicas": replicas,
                    "supply": supply,
                    "key": term.topology_key,
                    "domains": room.domains,
                },
                related=(Place(workload.replicas_path, f"{replicas} replicas wanted here"),),
            )
