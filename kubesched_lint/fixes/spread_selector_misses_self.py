"""The label as the pods have it."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.analysis.facts import Facts
from kubesched_lint.analysis.remedy import Remedy
from kubesched_lint.findings import Hazard
from kubesched_lint.fixes._spread import counting_revisions_apart
from kubesched_lint.fixes._written import written
from kubesched_lint.manifests.changes import Put
from kubesched_lint.model.workload import Workload


def fixes(hazard: Hazard, workload: Workload, facts: Facts) -> Iterator[Remedy]:
    label = str(hazard.values["label"])
    found = facts.pod(workload).labels.get(label)
    if found is None or not isinstance(written(workload.source, hazard.at), str):
        return
    if workload.selector is not None and not workload.selector.matches(workload.pod.labels):
        return  # refused as it stands: it may be the pods' label that is misspelt
    constraint = next(c.path for c in workload.pod.spread if hazard.at[: len(c.path)] == c.path)
    changes = (Put(hazard.at, found), *counting_revisions_apart(workload, constraint))
    yield Remedy(f"select {label}: {found}, as the pods have it", safe=False, changes=changes)
