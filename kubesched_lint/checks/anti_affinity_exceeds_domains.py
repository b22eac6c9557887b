"""Each replica forbids its siblings, so each needs a topology domain to itself."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.analysis.company import PREMISE, Company, company
from kubesched_lint.analysis.facts import Facts
from kubesched_lint.analysis.remedy import Remedy
from kubesched_lint.checks._remedies import spread_instead
from kubesched_lint.findings import Hazard, Place, Severity, proof
from kubesched_lint.model.pod import PodAffinityTerm
from kubesched_lint.model.workload import Workload


def check(workload: Workload, facts: Facts, *, reserve: int) -> Iterator[Hazard]:
    if not workload.stays:
        return
    replicas = facts.replicas(workload)
    for term in facts.pod(workload).required_anti_affinity:
        if not facts.repels_itself(workload, term):
            continue
        room = facts.room(workload, term.topology_key, term)
        supply = len(room.domains)
        near = company(workload, term.topology_key, facts) if room.is_bounded else None
        if near is not None and near.most < min(replicas, supply):
            yield _alone_and_near(workload, term, near, facts)
            continue
        if not room.is_bounded or replicas <= supply - reserve:
            continue
        surely = facts.room(workload, term.topology_key, term, facts.staying_beside_set).domains == room.domains
        lost = 0 if replicas > supply else reserve
        left = supply - lost
        yield Hazard(
            at=term.path,
            evidence=proof(
                f"{replicas} replicas > {left} usable {term.topology_key} {'domain' if left == 1 else 'domains'} "
                f"({', '.join(room.domains)}{f', {lost} of them lost' if lost else ''})",
                demand=replicas,
                supply=left,
                assumes=facts.running_premises(workload),
            ),
            severity=None if surely and not lost else Severity.WARNING,
            values={
                "pending": replicas - left,
                "replicas": replicas,
                "supply": left,
                "reserve": lost,
                "key": term.topology_key,
                "domains": room.domains,
            },
            related=(Place(workload.replicas_path, f"{replicas} replicas wanted here"),),
            variant="reserve" if lost else "",
        )


def fix(hazard: Hazard, workload: Workload, facts: Facts) -> Iterator[Remedy]:
    """Spread the replicas instead: a domain may then hold several."""
    yield from spread_instead(workload, hazard.at, hard=True)
    yield from spread_instead(workload, hazard.at, hard=False)


def _alone_and_near(workload: Workload, term: PodAffinityTerm, near: Company, facts: Facts) -> Hazard:
    """Each replica wants a domain to itself, and only so many domains have the pods that it must be near."""
    replicas, key = facts.replicas(workload), term.topology_key
    return Hazard(
        at=term.path,
        evidence=proof(
            f"{replicas} replicas > {near.most}, the most {key} domains with a pod of {', '.join(near.whom)}",
            demand=replicas,
            supply=near.most,
            assumes=(*facts.running_premises(workload), PREMISE),
        ),
        values={
            "pending": replicas - near.most,
            "replicas": replicas,
            "supply": near.most,
            "key": key,
            "whom": near.whom,
        },
        related=(
            Place(facts.pod(workload).required_affinity[0].path, "which must be near these pods"),
            Place(workload.replicas_path, f"{replicas} replicas wanted here"),
        ),
        variant="near",
    )
