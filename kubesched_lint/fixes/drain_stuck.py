"""One pod at a time may be missing."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.analysis.facts import Facts
from kubesched_lint.analysis.remedy import Remedy
from kubesched_lint.findings import Hazard
from kubesched_lint.fixes._written import written
from kubesched_lint.manifests.changes import Change, Put, Remove
from kubesched_lint.model.workload import Workload


def fixes(hazard: Hazard, workload: Workload, facts: Facts) -> Iterator[Remedy]:
    spec = written(hazard.source, ("spec",))
    if not isinstance(spec, dict):
        return
    changes: tuple[Change, ...] = (Put(("spec", "maxUnavailable"), 1, after=("minAvailable",)),)
    if "minAvailable" in spec:
        changes = (*changes, Remove(("spec", "minAvailable")))
    who = "one pod at a time" if facts.replicas(workload) > 1 else "its only pod"
    yield Remedy(f"set maxUnavailable: 1, so that {who} may go", safe=False, changes=changes)
