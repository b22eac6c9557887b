"""Required pod affinity that no pod will ever match."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.engine.base.places import Path
from kubesched_lint.engine.model.pod import PodAffinityTerm
from kubesched_lint.engine.placing.reachability import blocked_affinities
from kubesched_lint.engine.scenario.others.running import running_match
from kubesched_lint.engine.scenario.premises.premises import SET_PREMISES, proves_absence
from kubesched_lint.engine.scenario.scenario import Member
from kubesched_lint.explaining.near_misses.nearest import hint
from kubesched_lint.explaining.near_misses.pod_misses import pod_miss, without_kind
from kubesched_lint.explaining.near_misses.selected import how_near
from kubesched_lint.explaining.remedies.remedy import Remedy, written_at
from kubesched_lint.findings import Hazard, Place, pattern, proof
from kubesched_lint.sources.manifests.changes import Change, Put, Rename


def check(it: Member) -> Iterator[Hazard]:
    blocked = blocked_affinities(it.scenario).get(it.workload)
    if blocked is None or blocked.cause == "cycle":
        return
    terms = it.pod.required_affinity
    values = {"replicas": it.replicas, "selector": str(terms[0].selector)}
    if blocked.cause == "waits":
        target = blocked.targets[0]
        where = Place(target.pod.required_affinity[0].path, "which is blocked here", target.source, target.ref)
        text = f"{target} can never start, and no other pod answers this affinity"
        yield Hazard(
            at=terms[0].path,
            evidence=proof(text, assumes=SET_PREMISES) if proves_absence(it.scenario) else pattern(text),
            values={**values, "target": str(target), "near": how_near(terms[0])},
            related=(where,),
            variant="waits",
        )
        return
    lonely = [t for t in terms if not _answered(it, t)]
    at = lonely[0] if lonely else terms[0]
    text = f"no single pod matches all {len(terms)} terms, as one pod must"
    if lonely:
        text = f"no workload of the manifests and no running pod matches {at.selector or 'the null selector'}"
    miss = pod_miss(it, at) if lonely else None
    elsewhere = miss is not None and bool(miss.elsewhere)
    yield Hazard(
        at=at.path,
        evidence=proof(text, demand=1, supply=0, assumes=SET_PREMISES)
        if proves_absence(it.scenario)
        else pattern(text),
        values={
            **values,
            "selector": str(at.selector or "nothing"),
            "terms": len(terms),
            "near": how_near(at),
            "scope": " or its namespaces" if _looks_elsewhere(at) else "",
            "nearest": hint("" if miss is None or elsewhere else f"{without_kind(miss.whom)} has {miss.has}"),
            "correction": "" if miss is None or elsewhere else f"select {miss.has}; or ",
            "whom": "" if miss is None else miss.whom,
            "where": "the namespaces that it selects"
            if at.namespace_selector is not None
            else f"namespace {' or '.join(at.namespaces) or it.workload.namespace}",
            "other": "" if miss is None else miss.elsewhere,
        },
        cause=f"{it.workload.namespace}: {at.selector}" if lonely and not _looks_elsewhere(at) else "",
        variant="elsewhere" if elsewhere else "" if lonely else "together",
    )


def _looks_elsewhere(term: PodAffinityTerm) -> bool:
    """Whether the term is about pods of other namespaces than the pod's own."""
    return bool(term.namespaces) or term.namespace_selector is not None


def fix(hazard: Hazard, it: Member) -> Iterator[Remedy]:
    """Write the label that the pods have, or look in their namespace."""
    term = next((t for t in it.workload.pod.required_affinity if t.path == hazard.at), None)
    miss = None if term is None or hazard.variant not in ("", "elsewhere") else pod_miss(it, term)
    if miss is None:
        return
    if miss.elsewhere:
        change: Change = Put((*hazard.at, "namespaces"), [miss.elsewhere], after=("labelSelector",))
        yield Remedy(f"look in namespace {miss.elsewhere}", safe=False, changes=(change,))
        return
    labels: Path = (*hazard.at, "labelSelector", "matchLabels")
    written = written_at(it.workload.source, labels)
    key, _, value = miss.has.partition("=")
    if not isinstance(written, dict):
        return
    if key in written:
        change = Put((*labels, key), value)
    else:
        change = Rename((*labels, next(old for old, wanted in written.items() if wanted == value)), key)
    yield Remedy(f"select {miss.has}, which {miss.whom} has", safe=False, changes=(change,))


def _answered(it: Member, term: PodAffinityTerm) -> bool:
    if running_match(it.scenario, (term,), it.workload.namespace) is not None:
        return True
    return any(True for _ in it.selected_workloads(term))
