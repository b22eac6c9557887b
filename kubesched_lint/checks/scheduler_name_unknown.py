"""Another scheduler places these pods, by unknown rules."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.engine.model.pod import knows_scheduler
from kubesched_lint.engine.scenario.scenario import Member
from kubesched_lint.findings import Hazard, pattern


def check(it: Member) -> Iterator[Hazard]:
    name = it.workload.pod.scheduler_name
    if knows_scheduler(it.pod):
        return  # the configuration has a profile of this name
    yield Hazard(
        at=(*it.workload.pod.path, "schedulerName"),
        evidence=pattern(f"schedulerName is {name}, not default-scheduler"),
        values={"scheduler": name},
    )
