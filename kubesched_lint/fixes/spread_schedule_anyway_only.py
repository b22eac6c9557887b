"""What must hold is said to hold."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.analysis.facts import Facts
from kubesched_lint.analysis.remedy import Remedy
from kubesched_lint.findings import Hazard
from kubesched_lint.manifests.changes import Put
from kubesched_lint.model.workload import Workload


def fixes(hazard: Hazard, workload: Workload, facts: Facts) -> Iterator[Remedy]:
    yield Remedy("use whenUnsatisfiable: DoNotSchedule", safe=False, changes=(Put(hazard.at, "DoNotSchedule"),))
