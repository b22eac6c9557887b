"""A namespaceSelector that only excludes selects every namespace on Kubernetes 1.34 and later."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.engine.base.quirks import NEGATIVE_NAMESPACE_SELECTOR, has
from kubesched_lint.engine.model.pod import PodAffinityTerm
from kubesched_lint.engine.scenario.scenario import Member, Scenario
from kubesched_lint.explaining.remedies.remedy import Remedy
from kubesched_lint.findings import Hazard, pattern
from kubesched_lint.sources.manifests.changes import Append


def check(it: Member) -> Iterator[Hazard]:
    version = it.scenario.premises.kubernetes_version
    if not has(version, NEGATIVE_NAMESPACE_SELECTOR):
        return
    pod = it.workload.pod
    weighted = (*pod.preferred_affinity, *pod.preferred_anti_affinity)
    for term in (*pod.required_affinity, *pod.required_anti_affinity, *(w.term for w in weighted)):
        selector = term.namespace_selector
        if selector is None or selector.is_empty:
            continue
        if any(r.operator not in ("NotIn", "DoesNotExist") for r in selector.requirements):
            continue
        outside = _left_out(term, it.scenario)
        if outside is not None and not outside:
            continue  # all namespaces of the cluster are selected anyhow
        yield Hazard(
            at=(*term.path, "namespaceSelector"),
            evidence=pattern(f"{NEGATIVE_NAMESPACE_SELECTOR.issue}: only NotIn and DoesNotExist"),
            values={"version": version, "selector": str(selector), "outside": outside or ()},
            variant="known" if outside else "default",
        )


def fix(hazard: Hazard, it: Member) -> Iterator[Remedy]:
    """Add a condition that every namespace meets; Kubernetes then reads the selector as before."""
    condition = {"key": "kubernetes.io/metadata.name", "operator": "Exists"}
    yield Remedy(
        "add a condition that every namespace meets: kubernetes.io/metadata.name Exists",
        safe=True,
        changes=(Append((*hazard.at, "matchExpressions"), condition),),
    )


def _left_out(term: PodAffinityTerm, scenario: Scenario) -> tuple[str, ...] | None:
    """Namespaces that the selector should leave out; None if not all are known."""
    if not scenario.cluster_has("Namespace"):
        return None
    labels = scenario.namespaces.labels
    names = (name for name in labels if not scenario.namespaces.reaches(term, "", name, unknown=True))
    return tuple(sorted(names))
