"""Tolerations that compare numbers need a feature gate that is off by default."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.engine.scenario.scenario import Member
from kubesched_lint.findings import Hazard, pattern


def check(it: Member) -> Iterator[Hazard]:
    version = it.scenario.premises.kubernetes_version
    for toleration in it.workload.pod.tolerations:
        if toleration.operator in ("Gt", "Lt"):
            yield Hazard(
                at=(*toleration.path, "operator"),
                evidence=pattern("TaintTolerationComparisonOperators is alpha and off"),
                values={"operator": toleration.operator, "key": toleration.key, "version": version},
            )
