"""The autoscaler asks for no more than there is room for."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.analysis.facts import Facts
from kubesched_lint.analysis.remedy import Remedy
from kubesched_lint.findings import Hazard
from kubesched_lint.manifests.changes import Put
from kubesched_lint.model.workload import Workload


def fixes(hazard: Hazard, workload: Workload, facts: Facts) -> Iterator[Remedy]:
    scaler = facts.autoscaler(workload)
    if scaler is not None and scaler.source is not None:
        supply = hazard.values["supply"]
        yield Remedy(
            f"lower maxReplicas of HorizontalPodAutoscaler {scaler.name} to {supply}",
            safe=False,
            changes=(Put(("spec", "maxReplicas"), supply),),
            source=scaler.source,
        )
