"""minDomains is more than the domains that exist, which limits each of them to maxSkew."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.analysis.remedy import Remedy
from kubesched_lint.analysis.spread import spread_room
from kubesched_lint.analysis.wanted import replicas_wanted_here
from kubesched_lint.findings import Hazard, Severity, proof
from kubesched_lint.manifests.changes import Put
from kubesched_lint.world.premises import running_premises
from kubesched_lint.world.world import Member


def check(it: Member) -> Iterator[Hazard]:
    if not it.workload.stays or not it.usable:
        return
    replicas = it.replicas
    for constraint in it.pod.spread:
        room = spread_room(it, constraint) if constraint.is_hard else None
        if room is None or not room.too_few or room.total >= replicas:
            continue
        count = len(room.capacity)
        yield Hazard(
            at=(*constraint.path, "minDomains"),
            evidence=proof(
                f"{replicas} replicas > {room.total}: {count} domains ({', '.join(room.capacity)}) < minDomains "
                f"{constraint.min_domains}, so each takes at most maxSkew {constraint.max_skew}",
                demand=replicas,
                supply=room.total,
                assumes=running_premises(it),
            ),
            severity=None if room.most < replicas else Severity.WARNING,
            values={
                "pending": replicas - room.total,
                "replicas": replicas,
                "key": constraint.topology_key,
                "skew": constraint.max_skew,
                "minimum": constraint.min_domains,
                "domains": tuple(room.capacity),
            },
            related=(replicas_wanted_here(it),),
        )


def fix(hazard: Hazard, it: Member) -> Iterator[Remedy]:
    """Lower minDomains to the domains that exist."""
    domains = hazard.values["domains"]
    if isinstance(domains, tuple) and domains:
        change = Put(hazard.at, len(domains))
        yield Remedy(f"lower minDomains to {len(domains)}", safe=False, changes=(change,))
