"""The pods of the workload are counted."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.analysis.facts import Facts
from kubesched_lint.analysis.remedy import Remedy
from kubesched_lint.findings import Hazard
from kubesched_lint.fixes._spread import counting_revisions_apart, own_selector
from kubesched_lint.manifests.changes import Put
from kubesched_lint.model.workload import Workload


def fixes(hazard: Hazard, workload: Workload, facts: Facts) -> Iterator[Remedy]:
    selector = own_selector(workload)
    constraint = next((c for c in workload.pod.spread if hazard.at[: len(c.path)] == c.path), None)
    if selector is None or constraint is None:
        return
    at = (*constraint.path, "labelSelector")
    select: tuple[Put, ...] = (Put(at, selector),)
    if constraint.selector is not None:  # it is there, and empty
        select = tuple(Put((*at, key), value) for key, value in selector.items())
    changes = (*select, *counting_revisions_apart(workload, constraint.path))
    yield Remedy("select the pods of the workload", safe=False, changes=changes)
