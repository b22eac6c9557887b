"""The API server refuses the pods because of a LimitRange, a namespace or a class of the cluster or the set."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.engine.model.policy import LimitRange
from kubesched_lint.engine.scenario.scenario import Member
from kubesched_lint.findings import Hazard, Place, Severity, proof
from kubesched_lint.sources.manifests.document import Document

_VARIANTS = {"PodSecurity": "security", "LimitRanger": "limits", "validation": "limits"}
_OWN_RULES = ("priorityClassName", "runtimeClassName")


def check(it: Member) -> Iterator[Hazard]:
    refusal = it.scenario.admission.decision(it.workload).refusal
    if refusal is None or refusal.at[-1] in _OWN_RULES or refusal.plugin == "ResourceQuota":
        return
    if it.workload.kind != "DaemonSet" and not it.replicas:
        return
    by = refusal.by
    source = by.source if by is not None and isinstance(by.source, Document) else None
    # Objects of the set may be created after the pods.
    is_mild = source is not None or not refusal.sure
    variant = _VARIANTS.get(refusal.plugin, "default")
    yield Hazard(
        at=refusal.at,
        evidence=proof(refusal.answer_to(it.workload), assumes=refusal.assumes),
        values={
            "refused": str(it.workload) if it.workload.kind == "Pod" else f"every pod of {it.workload}",
            "words": refusal.message,
            "by": "" if by is None else by.name,
        },
        severity=Severity.WARNING if is_mild else None,
        related=(Place(refusal.by_at, "refuses them", source),) if source is not None else (),
        variant=variant,
        cause=f"{by.namespace}/{by.name} {refusal.by_at}" if isinstance(by, LimitRange) else "",
    )
