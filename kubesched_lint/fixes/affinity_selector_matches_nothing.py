"""Affinity to pods that are not there, as a wish."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.analysis.facts import Facts
from kubesched_lint.analysis.remedy import Remedy
from kubesched_lint.findings import Hazard
from kubesched_lint.fixes._affinity import preferred
from kubesched_lint.model.workload import Workload


def fixes(hazard: Hazard, workload: Workload, facts: Facts) -> Iterator[Remedy]:
    if hazard.variant != "waits":
        together = hazard.variant == "together"
        yield from preferred(
            workload, *(t.path for t in workload.pod.required_affinity if together or t.path == hazard.at)
        )
