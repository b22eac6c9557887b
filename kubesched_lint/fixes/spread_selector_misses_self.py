"""The label as the pods have it."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.analysis.facts import Facts
from kubesched_lint.analysis.remedy import Remedy
from kubesched_lint.findings import Hazard
from kubesched_lint.fixes._written import written
from kubesched_lint.manifests.changes import Put
from kubesched_lint.model.workload import Workload


def fixes(hazard: Hazard, workload: Workload, facts: Facts) -> Iterator[Remedy]:
    label = str(hazard.values["label"])
    found = facts.pod(workload).labels.get(label)
    if found is not None and isinstance(written(workload.source, hazard.at), str):
        yield Remedy(f"select {label}: {found}, as the pods have it", safe=False, changes=(Put(hazard.at, found),))
