"""Tolerations for taints that are in the way."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kubesched_lint.analysis.remedy import Remedy
from kubesched_lint.manifests.changes import Append
from kubesched_lint.model.node import Taint
from kubesched_lint.model.workload import Workload


def tolerating(workload: Workload, taints: Iterable[Taint]) -> Iterator[Remedy]:
    """One remedy a taint: the pods may go where it is, which somebody set it to prevent."""
    for taint in taints:
        wanted = {"key": taint.key, "operator": "Equal" if taint.value else "Exists"}
        if taint.value:
            wanted["value"] = taint.value
        change = Append(
            (*workload.pod.path, "tolerations"), {**wanted, "effect": taint.effect}, after=("nodeSelector", "affinity")
        )
        yield Remedy(f"tolerate {taint}", safe=False, changes=(change,))
