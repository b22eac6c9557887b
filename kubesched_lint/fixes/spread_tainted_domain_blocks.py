"""Domains that the pods cannot use are not counted, or not insisted on."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.analysis.facts import Facts
from kubesched_lint.analysis.remedy import Remedy
from kubesched_lint.findings import Hazard
from kubesched_lint.fixes._spread import anyway
from kubesched_lint.manifests.changes import Put
from kubesched_lint.model.workload import Workload


def fixes(hazard: Hazard, workload: Workload, facts: Facts) -> Iterator[Remedy]:
    if hazard.variant == "tainted":
        change = Put((*hazard.at, "nodeTaintsPolicy"), "Honor", after=("whenUnsatisfiable", "labelSelector"))
        yield Remedy("set nodeTaintsPolicy: Honor", safe=False, changes=(change,))
    yield anyway(workload, hazard.at)
