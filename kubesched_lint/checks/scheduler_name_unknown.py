"""Another scheduler places these pods, by rules that we do not know."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.analysis.facts import Facts
from kubesched_lint.findings import Hazard, pattern
from kubesched_lint.model.workload import Workload


def check(workload: Workload, facts: Facts) -> Iterator[Hazard]:
    name = workload.pod.scheduler_name
    yield Hazard(
        at=(*workload.pod.path, "schedulerName"),
        evidence=pattern(f"schedulerName is {name}, not default-scheduler"),
        values={"scheduler": name},
    )
