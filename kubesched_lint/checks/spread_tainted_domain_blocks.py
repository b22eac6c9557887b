"""A domain whose nodes the pod cannot use still counts as empty, and limits all others to maxSkew."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.analysis.remedies.placement import schedule_anyway
from kubesched_lint.analysis.remedy import Remedy
from kubesched_lint.analysis.spread import spread_room
from kubesched_lint.analysis.wanted import replicas_wanted_here
from kubesched_lint.findings import Hazard, Severity, proof
from kubesched_lint.manifests.changes import Put
from kubesched_lint.world.premises import running_premises
from kubesched_lint.world.world import Member


def check(it: Member) -> Iterator[Hazard]:
    if not it.workload.stays or not it.usable:
        return
    replicas = it.replicas
    for constraint in it.pod.spread:
        room = spread_room(it, constraint) if constraint.is_hard else None
        if room is None or not room.blocked or room.total >= replicas or room.too_few:
            continue
        tainted = [d for d in room.blocked if not it.world.index.with_label(constraint.topology_key, d) & it.tolerated]
        yield Hazard(
            at=constraint.path,
            evidence=proof(
                f"{replicas} replicas > {room.total} = {room.terms}",
                demand=replicas,
                supply=room.total,
                assumes=running_premises(it),
            ),
            severity=None if room.most < replicas else Severity.WARNING,
            values={
                "pending": replicas - room.total,
                "replicas": replicas,
                "key": constraint.topology_key,
                "skew": constraint.max_skew,
                "blocked": room.blocked,
            },
            related=(replicas_wanted_here(it),),
            variant="tainted" if len(tainted) == len(room.blocked) else "default",
        )


def fix(hazard: Hazard, it: Member) -> Iterator[Remedy]:
    """Do not count domains that the pods cannot use, or make the constraint soft."""
    if hazard.variant == "tainted":
        change = Put((*hazard.at, "nodeTaintsPolicy"), "Honor", after=("whenUnsatisfiable", "labelSelector"))
        yield Remedy("set nodeTaintsPolicy: Honor", safe=False, changes=(change,))
    yield schedule_anyway(it.workload, hazard.at)
