"""A DaemonSet makes a pod for each node, but its own anti-affinity allows only one per zone."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.engine.base.text import many, plural
from kubesched_lint.engine.model.nodes.node import REGION, ZONE, domain_word
from kubesched_lint.engine.model.pod import PodAffinityTerm
from kubesched_lint.engine.scenario.premises.premises import node_premises
from kubesched_lint.engine.scenario.scenario import Member
from kubesched_lint.explaining.remedies.remedy import Remedy
from kubesched_lint.findings import Hazard, pattern, proof
from kubesched_lint.sources.manifests.changes import Remove


def check(it: Member) -> Iterator[Hazard]:
    for term in it.kept_apart:
        if it.scenario.cluster is not None:
            yield from _counted(it, term)
        elif term.topology_key in (ZONE, REGION):
            yield Hazard(
                at=term.path,
                evidence=pattern(f"a {term.topology_key} mostly has several nodes"),
                values={"key": term.topology_key},
                variant="unseen",
            )


def fix(hazard: Hazard, it: Member) -> Iterator[Remedy]:
    """Drop the term: a DaemonSet has one pod per node anyway."""
    yield Remedy("drop the anti-affinity", safe=False, changes=(Remove(hazard.at),))


def _counted(it: Member, term: PodAffinityTerm) -> Iterator[Hazard]:
    nodes = it.daemon_nodes
    domains = {v: (n & nodes).bit_count() for v, n in it.scenario.index.domains(term.topology_key).items() if n & nodes}
    pending = sum(domains.values()) - len(domains)
    if pending <= 0:
        return
    wanted = nodes.bit_count()
    yield Hazard(
        at=term.path,
        evidence=proof(
            f"{many(wanted, 'node')} > {wanted - pending}: one in each {domain_word(term.topology_key)} "
            f"({', '.join(f'{v}: {n} ' + plural(n, 'node') for v, n in domains.items())})",
            demand=wanted,
            supply=wanted - pending,
            assumes=node_premises(it),
        ),
        values={"key": term.topology_key, "domains": domains, "pending": pending, "wanted": wanted},
    )
