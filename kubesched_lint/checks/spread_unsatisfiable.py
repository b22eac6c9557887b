"""One hard spread constraint allows fewer pods than replicas: the smallest domain limits the others."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.engine.scenario.scenario import Member
from kubesched_lint.explaining.crowding.short_spreads import short_spreads
from kubesched_lint.explaining.remedies.placement import schedule_anyway
from kubesched_lint.explaining.remedies.remedy import Remedy
from kubesched_lint.findings import Hazard


def check(it: Member) -> Iterator[Hazard]:
    for short in short_spreads(it):
        if short.blocked or short.room.too_few:
            continue  # other rules report blocked domains and too few domains
        room = short.room
        tight = min(room.capacity, key=lambda d: room.capacity[d])
        yield short.hazard(short.constraint.path, f" = {room.terms}", tight=tight, room=room.capacity[tight])


def fix(hazard: Hazard, it: Member) -> Iterator[Remedy]:
    """Make the constraint soft."""
    yield schedule_anyway(it.workload, hazard.at)
