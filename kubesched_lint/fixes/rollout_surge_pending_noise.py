"""Without surge nothing waits in vain."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.analysis.facts import Facts
from kubesched_lint.analysis.remedy import Remedy
from kubesched_lint.findings import Hazard
from kubesched_lint.manifests.changes import Put
from kubesched_lint.model.workload import Workload


def fixes(hazard: Hazard, workload: Workload, facts: Facts) -> Iterator[Remedy]:
    at = (*workload.strategy.path, "rollingUpdate", "maxSurge")
    yield Remedy("set maxSurge: 0", safe=True, changes=(Put(at, 0, after=("replicas", "selector")),))
