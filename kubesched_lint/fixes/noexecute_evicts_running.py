"""The taint is tolerated, so that the pods stay."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.analysis.facts import Facts
from kubesched_lint.analysis.remedy import Remedy
from kubesched_lint.findings import Hazard
from kubesched_lint.fixes._taints import tolerating
from kubesched_lint.model.workload import Workload


def fixes(hazard: Hazard, workload: Workload, facts: Facts) -> Iterator[Remedy]:
    wanted = hazard.values["taint"]
    yield from tolerating(workload, (taint for taint in facts.index.taints if str(taint) == wanted))
