"""One hard spread constraint lets in fewer pods than there are replicas: the smallest domain holds the others back."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.analysis.facts import Facts
from kubesched_lint.analysis.remedy import Remedy
from kubesched_lint.analysis.spread import spread_room
from kubesched_lint.checks._remedies import schedule_anyway
from kubesched_lint.findings import Hazard, Place, Severity, proof
from kubesched_lint.model.workload import Workload


def check(workload: Workload, facts: Facts) -> Iterator[Hazard]:
    if not workload.stays:
        return
    replicas = facts.replicas(workload)
    for constraint in facts.pod(workload).spread:
        room = spread_room(workload, constraint, facts) if constraint.is_hard else None
        if room is None or room.total >= replicas or room.blocked or room.too_few:
            continue  # blocked and too few domains have rules of their own
        tight = min(room.capacity, key=lambda d: room.capacity[d])
        yield Hazard(
            at=constraint.path,
            evidence=proof(
                f"{replicas} replicas > {room.total} = " + " + ".join(f"{n} in {d}" for d, n in room.placeable.items()),
                demand=replicas,
                supply=room.total,
                assumes=facts.running_premises(workload),
            ),
            # Room taken by running pods may come free.
            severity=Severity.WARNING if facts.staying(workload).pods else None,
            values={
                "pending": replicas - room.total,
                "replicas": replicas,
                "key": constraint.topology_key,
                "skew": constraint.max_skew,
                "tight": tight,
                "room": room.capacity[tight],
            },
            related=(Place(workload.replicas_path, f"{replicas} replicas wanted here"),),
        )


def fix(hazard: Hazard, workload: Workload, facts: Facts) -> Iterator[Remedy]:
    """Make the constraint soft."""
    yield schedule_anyway(workload, hazard.at)
