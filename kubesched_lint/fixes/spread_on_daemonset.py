"""A DaemonSet has one pod on each node it selects, whatever a constraint says."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.analysis.facts import Facts
from kubesched_lint.analysis.remedy import Remedy
from kubesched_lint.findings import Hazard
from kubesched_lint.manifests.changes import Remove
from kubesched_lint.model.workload import Workload


def fixes(hazard: Hazard, workload: Workload, facts: Facts) -> Iterator[Remedy]:
    at = hazard.at[:-1] if hazard.variant in ("blocks", "counted") else hazard.at
    yield Remedy("drop the constraint", safe=True, changes=(Remove(at),))
