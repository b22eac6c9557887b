"""Pods wait for the domains that are to come."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.analysis.facts import Facts
from kubesched_lint.analysis.remedy import Remedy
from kubesched_lint.findings import Hazard
from kubesched_lint.manifests.changes import Put
from kubesched_lint.model.workload import Workload


def fixes(hazard: Hazard, workload: Workload, facts: Facts) -> Iterator[Remedy]:
    total = hazard.values["total"]
    change = Put((*hazard.at, "minDomains"), total, after=("maxSkew", "topologyKey"))
    yield Remedy(f"set minDomains: {total}", safe=False, changes=(change,))
