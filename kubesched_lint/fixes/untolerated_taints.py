"""The taint that keeps most nodes closed is tolerated."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.analysis.facts import Facts
from kubesched_lint.analysis.remedy import Remedy
from kubesched_lint.findings import Hazard
from kubesched_lint.fixes._taints import tolerating
from kubesched_lint.model.workload import Workload


def fixes(hazard: Hazard, workload: Workload, facts: Facts) -> Iterator[Remedy]:
    yield from tolerating(workload, facts.taints_in_the_way(workload, facts.reach(workload).matching & facts.distinct))
