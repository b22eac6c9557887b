"""A zone that a pool could serve is no topology domain until it has a node: the scheduler balances without it."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.engine.cluster.nodeset import positions
from kubesched_lint.engine.model.nodes.node import HOSTNAME, domain_word
from kubesched_lint.engine.model.pod import SpreadConstraint
from kubesched_lint.engine.placing.together.spread import counted_nodes
from kubesched_lint.engine.scenario.others.room import most_copies
from kubesched_lint.engine.scenario.scenario import Member
from kubesched_lint.engine.scheduler.topology import is_short_of_domains
from kubesched_lint.explaining.remedies.remedy import Remedy
from kubesched_lint.explaining.sizes.replicas import replicas_wanted_here
from kubesched_lint.findings import Hazard, pattern
from kubesched_lint.sources.manifests.changes import Put


def check(it: Member) -> Iterator[Hazard]:
    replicas = it.replicas
    pod = it.pod
    if not it.workload.stays or replicas < 2:
        return
    for constraint in pod.spread:
        key, selector = constraint.topology_key, constraint.selector
        if not constraint.is_hard or selector is None or not selector.matches(pod.labels):
            continue
        if key == HOSTNAME:
            continue  # every new node is a new domain
        existing, fresh, pools, blind = _domains(it, constraint)
        total = len(existing) + len(fresh)
        if not fresh or is_short_of_domains(constraint, max(1, len(existing))):
            continue  # minDomains makes pods wait, so that an autoscaler opens the other domains
        room = most_copies(it, replicas, it.usable & it.scenario.today)
        if not blind and not (existing and room):
            continue  # the autoscaler itself spreads pods that wait from the start
        yield Hazard(
            at=constraint.path,
            evidence=pattern(f"{len(existing)} of {total} {domain_word(key, total)} have nodes today"),
            values={
                "replicas": replicas,
                "key": key,
                "existing": existing,
                "fresh": fresh,
                "pools": pools,
                "total": total,
            },
            related=(replicas_wanted_here(it),),
            variant="default" if existing else "none",
        )


def fix(hazard: Hazard, it: Member) -> Iterator[Remedy]:
    """Let pods wait for the domains that pools can open."""
    total = hazard.values["total"]
    change = Put((*hazard.at, "minDomains"), total, after=("maxSkew", "topologyKey"))
    yield Remedy(f"set minDomains: {total}", safe=False, changes=(change,))


def _domains(
    it: Member, constraint: SpreadConstraint
) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...], bool]:
    """Return domains with nodes, domains that pools could open, these pools, and whether none sees empty zones."""
    counted = counted_nodes(it, constraint)
    coming = it.usable & ~it.scenario.today
    existing, fresh, opened = [], [], 0
    for value, nodes in it.scenario.index.domains(constraint.topology_key).items():
        if nodes & counted & it.scenario.today:
            existing.append(value)
        elif nodes & coming:
            fresh.append(value)
            opened |= nodes & coming
    offers = [it.scenario.potential.by_name[it.scenario.index.names[i]].template.pool for i in positions(opened)]
    pools = {pool.name: pool for pool in offers}
    blind = not any(pool.sees_empty_zones for pool in pools.values())
    return tuple(existing), tuple(fresh), tuple(pools), blind
