"""A key that the pods carry, or none."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.analysis.facts import Facts
from kubesched_lint.analysis.remedy import Remedy
from kubesched_lint.findings import Hazard
from kubesched_lint.manifests.changes import Put, Remove
from kubesched_lint.model.workload import Workload


def fixes(hazard: Hazard, workload: Workload, facts: Facts) -> Iterator[Remedy]:
    wanted = hazard.values["wanted"]
    instead = Remedy(f"use {wanted} instead", safe=hazard.variant == "revision", changes=(Put(hazard.at, wanted),))
    if hazard.variant == "revision":
        yield instead
    yield Remedy("drop the key, which has no effect", safe=True, changes=(Remove(hazard.at),))
    if hazard.variant != "revision" and wanted:
        yield instead
