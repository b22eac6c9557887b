"""A domain whose nodes the pod cannot use still counts as empty, and limits all others to maxSkew."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.engine.scenario.scenario import Member
from kubesched_lint.explaining.crowding.short_spreads import short_spreads
from kubesched_lint.explaining.remedies.placement import schedule_anyway
from kubesched_lint.explaining.remedies.remedy import Remedy
from kubesched_lint.findings import Hazard
from kubesched_lint.sources.manifests.changes import Put


def check(it: Member) -> Iterator[Hazard]:
    for short in short_spreads(it):
        if not short.blocked or short.room.too_few:
            continue
        key, index = short.constraint.topology_key, it.scenario.index
        tainted = [d for d in short.blocked if not index.with_label(key, d) & it.tolerated]
        variant = "tainted" if len(tainted) == len(short.blocked) else "default"
        yield short.hazard(short.constraint.path, f" = {short.room.terms}", variant, blocked=short.blocked)


def fix(hazard: Hazard, it: Member) -> Iterator[Remedy]:
    """Do not count domains that the pods cannot use, or make the constraint soft."""
    if hazard.variant == "tainted":
        change = Put((*hazard.at, "nodeTaintsPolicy"), "Honor", after=("whenUnsatisfiable", "labelSelector"))
        yield Remedy("set nodeTaintsPolicy: Honor", safe=False, changes=(change,))
    yield schedule_anyway(it.workload, hazard.at)
