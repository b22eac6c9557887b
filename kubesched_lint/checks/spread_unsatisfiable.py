"""One hard spread constraint allows fewer pods than replicas: the smallest domain limits the others."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.analysis.remedies.placement import schedule_anyway
from kubesched_lint.analysis.remedy import Remedy
from kubesched_lint.analysis.spread import spread_room
from kubesched_lint.analysis.wanted import replicas_wanted_here
from kubesched_lint.findings import Hazard, Severity, proof
from kubesched_lint.world.premises import running_premises
from kubesched_lint.world.staying import staying
from kubesched_lint.world.world import Member


def check(it: Member) -> Iterator[Hazard]:
    if not it.workload.stays:
        return
    replicas = it.replicas
    for constraint in it.pod.spread:
        room = spread_room(it, constraint) if constraint.is_hard else None
        if room is None or room.total >= replicas or room.blocked or room.too_few:
            continue  # other rules report blocked domains and too few domains
        tight = min(room.capacity, key=lambda d: room.capacity[d])
        yield Hazard(
            at=constraint.path,
            evidence=proof(
                f"{replicas} replicas > {room.total} = {room.terms}",
                demand=replicas,
                supply=room.total,
                assumes=running_premises(it),
            ),
            # Running pods may free room.
            severity=Severity.WARNING if staying(it).pods else None,
            values={
                "pending": replicas - room.total,
                "replicas": replicas,
                "key": constraint.topology_key,
                "skew": constraint.max_skew,
                "tight": tight,
                "room": room.capacity[tight],
            },
            related=(replicas_wanted_here(it),),
        )


def fix(hazard: Hazard, it: Member) -> Iterator[Remedy]:
    """Make the constraint soft."""
    yield schedule_anyway(it.workload, hazard.at)
