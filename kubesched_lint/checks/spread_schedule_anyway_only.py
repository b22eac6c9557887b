"""Only soft constraints, which guarantee nothing."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.engine.base.text import many
from kubesched_lint.engine.scenario.scenario import Member
from kubesched_lint.explaining.remedies.remedy import Remedy
from kubesched_lint.findings import Hazard, pattern
from kubesched_lint.sources.manifests.changes import Put


def check(it: Member) -> Iterator[Hazard]:
    spread = it.workload.pod.spread
    if it.workload.kind == "DaemonSet" or any(c.is_hard for c in spread) or it.replicas < 2:
        return
    if it.kept_apart:
        return
    yield Hazard(
        at=(*spread[0].path, "whenUnsatisfiable"),
        evidence=pattern(f"{many(len(spread), 'constraint')}, none of them DoNotSchedule"),
        values={"keys": tuple(c.topology_key for c in spread), "replicas": it.replicas},
    )


def fix(hazard: Hazard, it: Member) -> Iterator[Remedy]:
    """Make the constraint hard."""
    yield Remedy("use whenUnsatisfiable: DoNotSchedule", safe=False, changes=(Put(hazard.at, "DoNotSchedule"),))
