"""Tolerations that compare numbers are behind a feature gate that is off."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.analysis.facts import Facts
from kubesched_lint.findings import Hazard, pattern
from kubesched_lint.model.workload import Workload
from kubesched_lint.scheduler.quirks import TOLERATION_COMPARISON, has


def check(workload: Workload, facts: Facts) -> Iterator[Hazard]:
    version = facts.premises.kubernetes_version
    if has(version, TOLERATION_COMPARISON):
        return
    for toleration in workload.pod.tolerations:
        if toleration.operator in ("Gt", "Lt"):
            yield Hazard(
                at=(*toleration.path, "operator"),
                evidence=pattern("TaintTolerationComparisonOperators is alpha and off"),
                values={"operator": toleration.operator, "key": toleration.key, "version": version},
            )
