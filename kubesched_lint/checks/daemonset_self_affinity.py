"""A DaemonSet whose pods must be together in one domain, on nodes of several: all but one domain wait for ever."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.analysis.facts import Facts
from kubesched_lint.analysis.remedy import Remedy
from kubesched_lint.findings import Hazard, proof
from kubesched_lint.manifests.changes import Remove
from kubesched_lint.model.workload import Workload


def check(workload: Workload, facts: Facts) -> Iterator[Hazard]:
    """The first pod may start anywhere; from then on every other must be in its domain."""
    usable = facts.usable(workload)
    terms = facts.pod(workload).required_affinity
    for term in terms:
        if not all(facts.repels_itself(workload, t) for t in terms):
            return
        if any(w is not workload for w in facts.selected_workloads(workload, term)):
            return  # pods of others may answer in other domains
        if facts.running_match(terms, workload.namespace) is not None:
            return
        domains = {v: n & usable for v, n in facts.index.domains(term.topology_key).items() if n & usable}
        if len(domains) < 2:
            continue
        largest = max(nodes.bit_count() for nodes in domains.values())
        wanted = usable.bit_count()
        yield Hazard(
            at=term.path,
            evidence=proof(
                f"{wanted} nodes in {len(domains)} domains of {term.topology_key} > {largest}, the most in one of them",
                demand=wanted,
                supply=largest,
                assumes=facts.node_premises(workload),
            ),
            values={"key": term.topology_key, "domains": tuple(domains), "pending": wanted - largest, "wanted": wanted},
        )
        return


def fix(hazard: Hazard, workload: Workload, facts: Facts) -> Iterator[Remedy]:
    """Drop the term: a DaemonSet has one pod per node anyway."""
    yield Remedy("drop the affinity", safe=False, changes=(Remove(hazard.at),))
