"""Affinity, a volume or its class ties the pods to a zone where no pool makes nodes and today's are not enough."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.engine.base.text import many
from kubesched_lint.engine.scenario.others.room import most_copies
from kubesched_lint.engine.scenario.premises.premises import running_premises
from kubesched_lint.engine.scenario.scenario import Member
from kubesched_lint.explaining.near_misses.zone_pins import Pin, outside_pools
from kubesched_lint.explaining.remedies.placement import make_preferred
from kubesched_lint.explaining.remedies.remedy import Remedy
from kubesched_lint.findings import Hazard, Severity, proof


def check(it: Member) -> Iterator[Hazard]:
    if not it.workload.stays:
        return
    replicas = it.replicas
    for pin in outside_pools(it):
        there = pin.nodes & it.scenario.today
        bare = most_copies(it, replicas, there, bare=True)
        supply = most_copies(it, replicas, there)
        if supply < replicas:
            yield _hazard(it, pin, replicas, supply, taken=bare >= replicas)
            return


def fix(hazard: Hazard, it: Member) -> Iterator[Remedy]:
    """Prefer the zone instead of requiring it."""
    if hazard.variant == "affinity":
        yield from make_preferred(it.workload, hazard.at)


def _hazard(it: Member, pin: Pin, replicas: int, supply: int, *, taken: bool) -> Hazard:
    served = {zone for pool in it.scenario.pools for zone in pool.zones or ()}
    zones = tuple(sorted(served))
    return Hazard(
        at=pin.at,
        evidence=proof(
            f"{many(replicas, 'pod')} > {supply} that the nodes of today hold there, and no pool makes nodes there "
            f"(pools serve {', '.join(zones) or 'other zones'})",
            demand=replicas,
            supply=supply,
            assumes=running_premises(it),
        ),
        # Other pods may leave the existing nodes.
        severity=Severity.WARNING if taken else None,
        values={
            "pending": replicas - supply,
            "replicas": replicas,
            "zones": pin.zones or ("elsewhere",),
            "served": zones or ("other zones",),
            "pools": tuple(pool.name for pool in it.scenario.pools),
            "pinned_by": pin.name,
        },
        variant={"selector": "default"}.get(pin.kind, pin.kind),
    )
