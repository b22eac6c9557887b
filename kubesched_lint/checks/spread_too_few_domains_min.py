"""minDomains is more than the domains that exist, which limits each of them to maxSkew."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.engine.model.nodes.node import domains_in_words
from kubesched_lint.engine.scenario.scenario import Member
from kubesched_lint.explaining.crowding.short_spreads import short_spreads
from kubesched_lint.explaining.remedies.remedy import Remedy
from kubesched_lint.findings import Hazard
from kubesched_lint.sources.manifests.changes import Put


def check(it: Member) -> Iterator[Hazard]:
    for short in short_spreads(it):
        constraint, domains = short.constraint, tuple(short.room.capacity)
        if not short.room.too_few:
            continue
        yield short.hazard(
            (*constraint.path, "minDomains"),
            f": {domains_in_words(constraint.topology_key, domains)} < minDomains {constraint.min_domains}, "
            f"so each takes at most maxSkew {constraint.max_skew}",
            minimum=constraint.min_domains,
            domains=domains,
        )


def fix(hazard: Hazard, it: Member) -> Iterator[Remedy]:
    """Lower minDomains to the domains that exist."""
    domains = hazard.values["domains"]
    if isinstance(domains, tuple) and domains:
        change = Put(hazard.at, len(domains))
        yield Remedy(f"lower minDomains to {len(domains)}", safe=False, changes=(change,))
