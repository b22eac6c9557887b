"""A DaemonSet whose pods must share a domain, on nodes of several domains: all but one domain wait forever."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.engine.model.nodes.node import domain_word
from kubesched_lint.engine.scenario.others.running import running_match
from kubesched_lint.engine.scenario.premises.premises import node_premises
from kubesched_lint.engine.scenario.scenario import Member
from kubesched_lint.explaining.remedies.remedy import Remedy
from kubesched_lint.findings import Hazard, proof
from kubesched_lint.sources.manifests.changes import Remove


def check(it: Member) -> Iterator[Hazard]:
    """The first pod may start anywhere; from then on every other must be in its domain."""
    usable = it.usable
    terms = it.pod.required_affinity
    for term in terms:
        if not all(it.repels_itself(t) for t in terms):
            return
        if any(w is not it.workload for w in it.selected_workloads(term)):
            return  # pods of others may match in other domains
        if running_match(it.scenario, terms, it.workload.namespace) is not None:
            return
        domains = {v: n & usable for v, n in it.scenario.index.domains(term.topology_key).items() if n & usable}
        if len(domains) < 2:
            continue
        largest = max(nodes.bit_count() for nodes in domains.values())
        wanted = usable.bit_count()
        yield Hazard(
            at=term.path,
            evidence=proof(
                f"{wanted} nodes in {len(domains)} {domain_word(term.topology_key, len(domains))} > {largest}, "
                "the most in one of them",
                demand=wanted,
                supply=largest,
                assumes=node_premises(it),
            ),
            values={"key": term.topology_key, "domains": tuple(domains), "pending": wanted - largest, "wanted": wanted},
        )
        return


def fix(hazard: Hazard, it: Member) -> Iterator[Remedy]:
    """Drop the term: a DaemonSet has one pod per node anyway."""
    yield Remedy("drop the affinity", safe=False, changes=(Remove(hazard.at),))
