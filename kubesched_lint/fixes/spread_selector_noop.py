"""The pods of the workload are counted."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.analysis.facts import Facts
from kubesched_lint.analysis.remedy import Remedy
from kubesched_lint.findings import Hazard
from kubesched_lint.fixes._spread import own_selector
from kubesched_lint.manifests.changes import Append, Put
from kubesched_lint.model.workload import Workload


def fixes(hazard: Hazard, workload: Workload, facts: Facts) -> Iterator[Remedy]:
    selector = own_selector(workload)
    constraint = next((c for c in workload.pod.spread if hazard.at[: len(c.path)] == c.path), None)
    if selector is None or constraint is None:
        return
    select = Put((*constraint.path, "labelSelector"), selector)
    if constraint.selector is not None:
        changes = [Put((*select.at, key), value) for key, value in selector.items()]
    else:
        changes = [select]
    if workload.kind == "Deployment" and not constraint.match_label_keys:
        by_revision = Append((*constraint.path, "matchLabelKeys"), "pod-template-hash", after=("labelSelector",))
        yield Remedy("select the pods of the workload, each revision by itself", False, (*changes, by_revision))
    else:
        yield Remedy("select the pods of the workload", False, tuple(changes))
