"""The old pod gives its port back first."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.analysis.facts import Facts
from kubesched_lint.analysis.remedy import Remedy
from kubesched_lint.findings import Hazard
from kubesched_lint.fixes._rollout import room_first
from kubesched_lint.model.workload import Workload


def fixes(hazard: Hazard, workload: Workload, facts: Facts) -> Iterator[Remedy]:
    yield room_first(workload, facts)
