"""The term selects the pod's own labels, but looks only at other namespaces: siblings do not count."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.analysis.facts import Facts
from kubesched_lint.analysis.written import is_written
from kubesched_lint.findings import Hazard, Path, pattern
from kubesched_lint.model.pod import PodAffinityTerm
from kubesched_lint.model.workload import Workload


def check(workload: Workload, facts: Facts) -> Iterator[Hazard]:
    """Only where the manifest names its namespace: else another tool will, and nobody knows which."""
    pod = facts.pod(workload)
    terms = [*pod.required_anti_affinity, *(w.term for w in pod.preferred_anti_affinity)]
    for term in terms:
        if term.selector is None or term.selector.is_empty or not term.selector.matches(pod.labels):
            continue
        if facts.namespaces.reaches(term, workload.namespace, workload.namespace, unknown=True):
            continue
        if not is_written(workload, ("metadata", "namespace")):
            return
        at, where = _looks_at(term)
        yield Hazard(
            at=at,
            evidence=pattern(f"{workload.namespace} is not among them"),
            values={"where": where, "key": term.topology_key, "selector": str(term.selector)},
        )


def _looks_at(term: PodAffinityTerm) -> tuple[Path, str]:
    if term.namespace_selector is None:
        return (*term.path, "namespaces"), f"namespaces {', '.join(term.namespaces)}"
    words = f"namespaces with {term.namespace_selector}"
    if term.namespaces:
        words += f" and in {', '.join(term.namespaces)}"
    return (*term.path, "namespaceSelector"), words
