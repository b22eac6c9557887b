"""The old pod lets go of the claim before the new one asks for it."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.analysis.facts import Facts
from kubesched_lint.analysis.remedy import Remedy
from kubesched_lint.findings import Hazard
from kubesched_lint.fixes._rollout import recreate
from kubesched_lint.model.workload import Workload


def fixes(hazard: Hazard, workload: Workload, facts: Facts) -> Iterator[Remedy]:
    if hazard.variant.startswith("rollout"):
        yield recreate(workload)
