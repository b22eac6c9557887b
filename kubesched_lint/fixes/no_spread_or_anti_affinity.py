"""As even as it can be over zones and nodes, at no cost where it cannot."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.analysis.facts import Facts
from kubesched_lint.analysis.remedy import Remedy
from kubesched_lint.findings import Hazard
from kubesched_lint.fixes._spread import over
from kubesched_lint.model.node import HOSTNAME, ZONE
from kubesched_lint.model.workload import Workload


def fixes(hazard: Hazard, workload: Workload, facts: Facts) -> Iterator[Remedy]:
    yield from over(workload, facts, ZONE, HOSTNAME)
