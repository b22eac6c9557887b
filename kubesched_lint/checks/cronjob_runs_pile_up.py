"""A CronJob starts its next run while the last ones last, and few fit on the nodes: the rest stays Pending."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kubesched_lint.engine.scenario.others.room import most_copies
from kubesched_lint.engine.scenario.scenario import Member
from kubesched_lint.explaining.remedies.remedy import Remedy, written_at
from kubesched_lint.findings import Hazard, pattern
from kubesched_lint.sources.manifests.changes import Put

_MINUTES = re.compile(r"\*(?:/([1-9][0-9]{0,3}))? \* \* \* \*")
_OFTEN = 10
"""Minutes between two runs up to which they are likely to overlap one day."""


def check(it: Member, *, runs: int) -> Iterator[Hazard]:
    """Judge schedules of every few minutes, whose runs may overlap, and whose end no deadline sets."""
    spec = written_at(it.workload.source, ("spec",))
    if not isinstance(spec, dict) or (spec.get("concurrencyPolicy") or "Allow") != "Allow" or not it.usable:
        return
    schedule = " ".join(str(spec.get("schedule")).split())
    every_minutes = _MINUTES.fullmatch(schedule)
    job = written_at(it.workload.source, ("spec", "jobTemplate", "spec"))
    if every_minutes is None or it.workload.suspended or not isinstance(job, dict) or "activeDeadlineSeconds" in job:
        return
    minutes = int(every_minutes[1] or 1)
    most = most_copies(it, (runs + 1) * it.workload.replicas, bare=True) // max(it.workload.replicas, 1)
    if minutes <= _OFTEN and 0 < most <= runs:
        yield Hazard(
            at=("spec", "schedule"),
            evidence=pattern(f"concurrencyPolicy Allow, no activeDeadlineSeconds, and room for {most} runs at once"),
            values={"schedule": schedule, "most": most, "minutes": most * minutes},
        )


def fix(hazard: Hazard, it: Member) -> Iterator[Remedy]:
    """Leave out a run while the last one lasts; never safe, because such runs are left out then."""
    changes = (Put(("spec", "concurrencyPolicy"), "Forbid", after=("schedule",)),)
    yield Remedy("set concurrencyPolicy: Forbid", safe=False, changes=changes)
