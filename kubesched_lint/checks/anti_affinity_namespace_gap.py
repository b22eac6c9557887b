"""The term selects the pod's own labels, but looks only at other namespaces: siblings do not count."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.engine.base.places import Path
from kubesched_lint.engine.model.pod import PodAffinityTerm
from kubesched_lint.engine.model.workloads.workload import Workload
from kubesched_lint.engine.scenario.scenario import Member
from kubesched_lint.explaining.remedies.remedy import Remedy
from kubesched_lint.findings import Hazard, pattern
from kubesched_lint.sources.manifests.changes import Append, Remove


def check(it: Member) -> Iterator[Hazard]:
    """Report only if the manifest names its namespace: otherwise another tool sets one that is unknown here."""
    pod = it.pod
    terms = [*pod.required_anti_affinity, *(w.term for w in pod.preferred_anti_affinity)]
    for term in terms:
        if term.selector is None or term.selector.is_empty or not term.selector.matches(pod.labels):
            continue
        if it.scenario.namespaces.reaches(term, it.workload.namespace, it.workload.namespace, unknown=True):
            continue
        if not _is_written(it.workload, ("metadata", "namespace")):
            return
        at, where = _looks_at(term)
        yield Hazard(
            at=at,
            evidence=pattern(f"{it.workload.namespace} is not among them"),
            values={"where": where, "key": term.topology_key, "selector": str(term.selector)},
        )


def fix(hazard: Hazard, it: Member) -> Iterator[Remedy]:
    """Look at the pods of its own namespace too."""
    if hazard.at[-1] == "namespaces":
        yield Remedy(
            f"add {it.workload.namespace} to namespaces",
            safe=False,
            changes=(Append(hazard.at, it.workload.namespace),),
        )
    else:
        yield Remedy(
            "leave namespaceSelector out, which means the namespace of the pod",
            safe=False,
            changes=(Remove(hazard.at),),
        )


def _looks_at(term: PodAffinityTerm) -> tuple[Path, str]:
    if term.namespace_selector is None:
        return (*term.path, "namespaces"), f"namespaces {', '.join(term.namespaces)}"
    words = f"namespaces with {term.namespace_selector}"
    if term.namespaces:
        words += f" and in {', '.join(term.namespaces)}"
    return (*term.path, "namespaceSelector"), words


def _is_written(workload: Workload, path: Path) -> bool:
    """Whether the text has a value at ``path``: for an absent one a source returns the span of its parent."""
    source = workload.source
    return source is not None and source.span(path) != source.span(path[:-1])
