"""Required pod affinity that no pod will ever answer."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.analysis.facts import Facts
from kubesched_lint.analysis.remedy import Remedy
from kubesched_lint.checks._remedies import make_preferred
from kubesched_lint.findings import Hazard, Place, pattern, proof
from kubesched_lint.model.pod import PodAffinityTerm
from kubesched_lint.model.workload import Workload


def check(workload: Workload, facts: Facts) -> Iterator[Hazard]:
    blocked = facts.blocked.get(id(workload))
    if blocked is None or blocked.cause == "cycle":
        return
    terms = facts.pod(workload).required_affinity
    count = facts.replicas(workload)
    values = {"replicas": count, "selector": str(terms[0].selector)}
    if blocked.cause == "waits":
        target = blocked.targets[0]
        where = Place(target.pod.required_affinity[0].path, "which is blocked here", target.source, target.ref)
        text = f"{target} can never start, and no other pod answers this affinity"
        yield Hazard(
            at=terms[0].path,
            evidence=proof(text, assumes=facts.set_premises) if facts.proves_absence else pattern(text),
            values={**values, "target": str(target)},
            related=(where,),
            variant="waits",
        )
        return
    lonely = [t for t in terms if not _answered(workload, facts, t)]
    at = lonely[0] if lonely else terms[0]
    if lonely:
        text = f"0 workloads of the set and 0 running pods match {at.selector or 'the null selector'}"
    else:
        text = f"no single pod matches all {len(terms)} terms, as one pod must"
    yield Hazard(
        at=at.path,
        evidence=proof(text, demand=1, supply=0, assumes=facts.set_premises) if facts.proves_absence else pattern(text),
        values={**values, "selector": str(at.selector or "nothing"), "terms": len(terms)},
        variant="" if lonely else "together",
    )


def fix(hazard: Hazard, workload: Workload, facts: Facts) -> Iterator[Remedy]:
    """Prefer the absent pods instead of requiring them."""
    if hazard.variant != "waits":
        together = hazard.variant == "together"
        yield from make_preferred(
            workload, *(t.path for t in workload.pod.required_affinity if together or t.path == hazard.at)
        )


def _answered(workload: Workload, facts: Facts, term: PodAffinityTerm) -> bool:
    if facts.running_match((term,), workload.namespace) is not None:
        return True
    return any(True for _ in facts.selected_workloads(workload, term))
