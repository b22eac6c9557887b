"""Pods of its own namespace are looked at too."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.analysis.facts import Facts
from kubesched_lint.analysis.remedy import Remedy
from kubesched_lint.findings import Hazard
from kubesched_lint.manifests.changes import Append, Remove
from kubesched_lint.model.workload import Workload


def fixes(hazard: Hazard, workload: Workload, facts: Facts) -> Iterator[Remedy]:
    if hazard.at[-1] == "namespaces":
        yield Remedy(
            f"add {workload.namespace} to namespaces", safe=False, changes=(Append(hazard.at, workload.namespace),)
        )
    else:
        yield Remedy(
            "leave namespaceSelector out, which means the namespace of the pod",
            safe=False,
            changes=(Remove(hazard.at),),
        )
