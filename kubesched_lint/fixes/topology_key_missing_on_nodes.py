"""The key that nodes carry."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.analysis.facts import Facts
from kubesched_lint.analysis.remedy import Remedy
from kubesched_lint.analysis.well_known import WELL_KNOWN
from kubesched_lint.findings import Hazard
from kubesched_lint.fixes._written import is_slip
from kubesched_lint.manifests.changes import Put
from kubesched_lint.model.workload import Workload


def fixes(hazard: Hazard, workload: Workload, facts: Facts) -> Iterator[Remedy]:
    key = str(hazard.values["key"])
    meant = facts.nearest_key(key)
    if meant:
        certain = hazard.variant != "inert" and (meant in WELL_KNOWN or is_slip(key, meant))
        yield Remedy(f"write {meant}, which nodes carry", safe=certain, changes=(Put(hazard.at, meant),))
