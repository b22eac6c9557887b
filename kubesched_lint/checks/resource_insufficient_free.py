"""What running pods leave free does not hold all replicas, however they are packed."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.analysis.facts import Facts, request_path
from kubesched_lint.findings import Hazard, Place, Severity, proof
from kubesched_lint.model.quantity import show
from kubesched_lint.model.workload import Workload


def check(workload: Workload, facts: Facts) -> Iterator[Hazard]:
    usable = facts.usable(workload)
    replicas = facts.replicas(workload)
    if not workload.stays or not usable or facts.index.unknown_resources & usable:
        return
    supply = facts.copies(workload, replicas, bare=True)
    bare = supply < replicas
    if not bare:
        supply = facts.copies(workload, replicas)
    if supply >= replicas:
        return
    tight = facts.tightest_resource(workload)
    wanted = facts.pod(workload).requests.get(tight, 1)
    yield Hazard(
        at=request_path(workload, tight),
        evidence=proof(
            f"{replicas} replicas > {supply} that the {'' if bare else 'free '}{tight} of {usable.bit_count()} "
            "usable nodes can hold",
            demand=replicas,
            supply=supply,
            assumes=facts.node_premises(workload) if bare else facts.running_premises(workload),
        ),
        # Pods of others may go, by themselves or preempted.
        severity=None if bare else Severity.WARNING,
        values={
            "pending": replicas - supply,
            "replicas": replicas,
            "supply": supply,
            "resource": tight,
            "wanted": show(tight, wanted),
            "usable": usable.bit_count(),
        },
        variant="bare" if bare else "default",
        related=(Place(workload.replicas_path, f"{replicas} replicas wanted here"),),
    )
