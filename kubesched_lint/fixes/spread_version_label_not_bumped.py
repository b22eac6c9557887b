"""The label that the controller bumps by itself tells the revisions apart."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.analysis.facts import Facts
from kubesched_lint.analysis.remedy import Remedy
from kubesched_lint.findings import Hazard
from kubesched_lint.fixes._revisions import by_revision
from kubesched_lint.model.workload import Workload


def fixes(hazard: Hazard, workload: Workload, facts: Facts) -> Iterator[Remedy]:
    for constraint in workload.pod.spread:
        if constraint.topology_key == hazard.values["key"] and constraint.selector is not None:
            yield by_revision(workload, constraint.path)
