"""Hard spread constraints that allow fewer pods than a workload has replicas: what several rules explain."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from kubesched_lint.engine.base.places import Path
from kubesched_lint.engine.model.pod import SpreadConstraint
from kubesched_lint.engine.placing.together.spread import spread_room
from kubesched_lint.engine.scenario.others.staying import staying_beside_set
from kubesched_lint.engine.scenario.premises.premises import running_premises
from kubesched_lint.engine.scenario.scenario import Member
from kubesched_lint.engine.scheduler.topology import SpreadRoom
from kubesched_lint.explaining.sizes.replicas import replicas_wanted_here
from kubesched_lint.findings import Hazard, Severity, proof


class ShortSpread(NamedTuple):
    """A hard constraint that allows fewer pods than replicas. Each rule about that explains it in its own words."""

    it: Member
    constraint: SpreadConstraint
    room: SpreadRoom
    blocked: tuple[str, ...]
    """Domains that count although the pod can use none of their nodes."""

    def hazard(self, at: Path, because: str, variant: str = "default", **values: object) -> Hazard:
        """Return the hazard; it weighs less if the bound does not hold where the set preempts running pods."""
        member, constraint, room = self.it, self.constraint, self.room
        surely = spread_room(member, constraint, beside=staying_beside_set(member.scenario))
        pending = {"pending": member.replicas - room.total, "replicas": member.replicas}
        return Hazard(
            at=at,
            evidence=proof(
                f"{member.replicas} replicas > {room.total}{because}",
                demand=member.replicas,
                supply=room.total,
                assumes=running_premises(member),
            ),
            severity=None if surely is not None and surely.total < member.replicas else Severity.WARNING,
            values={**pending, "key": constraint.topology_key, "skew": constraint.max_skew, **values},
            related=(replicas_wanted_here(member),),
            variant=variant,
        )


def short_spreads(it: Member) -> Iterator[ShortSpread]:
    """Yield the hard constraints that allow fewer pods than the workload has replicas."""
    if not it.workload.stays or not it.usable:
        return
    for constraint in it.pod.spread:
        room = spread_room(it, constraint) if constraint.is_hard else None
        if room is not None and room.total < it.replicas:
            open_ = it.scenario.index.domains_with(constraint.topology_key, it.usable)
            yield ShortSpread(it, constraint, room, tuple(d for d in room.capacity if d not in open_))
