"""The taint as nodes have it."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.analysis.facts import Facts
from kubesched_lint.analysis.nearest import nearest_name
from kubesched_lint.analysis.remedy import Remedy
from kubesched_lint.findings import Hazard
from kubesched_lint.fixes._written import written
from kubesched_lint.manifests.changes import Put
from kubesched_lint.model.workload import Workload


def fixes(hazard: Hazard, workload: Workload, facts: Facts) -> Iterator[Remedy]:
    if hazard.variant == "misspelt":
        meant = str(hazard.values["meant"])
        yield Remedy(f"tolerate {meant}", safe=False, changes=(Put(hazard.at, meant),))
        return
    toleration = next(t for t in workload.pod.tolerations if t.path == hazard.at)
    key = nearest_name(toleration.key, (t.key for t in facts.index.taints))
    taint = next((t for t in facts.index.taints if t.key == key), None)
    if taint is None or not taint.value:
        return
    wanted = {"key": taint.key, "value": taint.value, **({"effect": taint.effect} if toleration.effect else {})}
    changes = tuple(
        Put((*hazard.at, field), value)
        for field, value in wanted.items()
        if written(workload.source, (*hazard.at, field)) != value
    )
    yield Remedy(f"tolerate {taint}, as nodes have it", safe=False, changes=changes)
