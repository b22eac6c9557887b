"""A condition that every namespace meets makes the selector one that is read as it was."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.analysis.facts import Facts
from kubesched_lint.analysis.remedy import Remedy
from kubesched_lint.findings import Hazard
from kubesched_lint.manifests.changes import Append
from kubesched_lint.model.workload import Workload


def fixes(hazard: Hazard, workload: Workload, facts: Facts) -> Iterator[Remedy]:
    condition = {"key": "kubernetes.io/metadata.name", "operator": "Exists"}
    yield Remedy(
        "add a condition that every namespace meets: kubernetes.io/metadata.name Exists",
        safe=True,
        changes=(Append((*hazard.at, "matchExpressions"), condition),),
    )
