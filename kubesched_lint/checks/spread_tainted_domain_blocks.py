"""A domain whose nodes the pod cannot use still counts as an empty one, and holds all others down."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.analysis.facts import Facts
from kubesched_lint.analysis.remedy import Remedy
from kubesched_lint.analysis.spread import spread_room
from kubesched_lint.checks._remedies import schedule_anyway
from kubesched_lint.findings import Hazard, Place, Severity, proof
from kubesched_lint.manifests.changes import Put
from kubesched_lint.model.workload import Workload


def check(workload: Workload, facts: Facts) -> Iterator[Hazard]:
    if not workload.stays or not facts.usable(workload):
        return
    replicas = facts.replicas(workload)
    for constraint in facts.pod(workload).spread:
        room = spread_room(workload, constraint, facts) if constraint.is_hard else None
        if room is None or not room.blocked or room.total >= replicas or room.too_few:
            continue
        tainted = [
            d
            for d in room.blocked
            if not facts.index.with_label(constraint.topology_key, d) & facts.tolerated(workload)
        ]
        yield Hazard(
            at=constraint.path,
            evidence=proof(
                f"{replicas} replicas > {room.total} = " + " + ".join(f"{n} in {d}" for d, n in room.placeable.items()),
                demand=replicas,
                supply=room.total,
                assumes=facts.running_premises(workload),
            ),
            severity=None if room.most < replicas else Severity.WARNING,
            values={
                "pending": replicas - room.total,
                "replicas": replicas,
                "key": constraint.topology_key,
                "skew": constraint.max_skew,
                "blocked": room.blocked,
            },
            related=(Place(workload.replicas_path, f"{replicas} replicas wanted here"),),
            variant="tainted" if len(tainted) == len(room.blocked) else "default",
        )


def fix(hazard: Hazard, workload: Workload, facts: Facts) -> Iterator[Remedy]:
    """Do not count domains that the pods cannot use, or make the constraint soft."""
    if hazard.variant == "tainted":
        change = Put((*hazard.at, "nodeTaintsPolicy"), "Honor", after=("whenUnsatisfiable", "labelSelector"))
        yield Remedy("set nodeTaintsPolicy: Honor", safe=False, changes=(change,))
    yield schedule_anyway(workload, hazard.at)
