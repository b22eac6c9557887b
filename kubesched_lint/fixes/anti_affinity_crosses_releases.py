"""Only its own replicas keep apart."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.analysis.facts import Facts
from kubesched_lint.analysis.remedy import Remedy
from kubesched_lint.findings import Hazard
from kubesched_lint.fixes._written import written
from kubesched_lint.manifests.changes import Put
from kubesched_lint.model.workload import Workload


def fixes(hazard: Hazard, workload: Workload, facts: Facts) -> Iterator[Remedy]:
    label, value = str(hazard.values["label"]), hazard.values["value"]
    if written(workload.source, (*hazard.at, "matchLabels", label)) is None:
        yield Remedy(
            f"add {label}: {value} to the selector, so that only its own replicas keep apart",
            safe=False,
            changes=(Put((*hazard.at, "matchLabels", label), value),),
        )
