"""As even as it can be, and more than one replica a domain."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.analysis.facts import Facts
from kubesched_lint.analysis.remedy import Remedy
from kubesched_lint.findings import Hazard
from kubesched_lint.fixes._spread import instead_of
from kubesched_lint.model.workload import Workload


def fixes(hazard: Hazard, workload: Workload, facts: Facts) -> Iterator[Remedy]:
    yield from instead_of(workload, hazard.at, hard=True)
    yield from instead_of(workload, hazard.at, hard=False)
