"""The room beside running pods does not hold all replicas, however they are packed."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from kubesched_lint.analysis.wanted import replicas_wanted_here
from kubesched_lint.findings import Hazard, Severity, proof
from kubesched_lint.model.quantity import show
from kubesched_lint.model.resources import request_path
from kubesched_lint.text import many
from kubesched_lint.world.premises import node_premises, running_premises
from kubesched_lint.world.room import most_copies, tightest_resource
from kubesched_lint.world.world import Member


def check(it: Member) -> Iterator[Hazard]:
    usable = it.usable
    replicas = it.replicas
    if not it.workload.stays or not usable or it.world.index.unknown_resources & usable:
        return
    # What keeps the pods apart is told by other rules: here, resources alone are short.
    like = replace(it.pod, required_anti_affinity=(), host_ports=())
    supply = most_copies(it, replicas, bare=True, pod=like)
    bare = supply < replicas
    if not bare:
        supply = most_copies(it, replicas, pod=like)
    if supply >= replicas:
        return
    tight = tightest_resource(it)
    wanted = it.pod.requests.get(tight, 1)
    yield Hazard(
        at=request_path(it.workload, tight),
        evidence=proof(
            f"{many(replicas, 'replica')} > {supply} that the {'' if bare else 'free '}{tight} of "
            f"{many(usable.bit_count(), 'node')} can hold",
            demand=replicas,
            supply=supply,
            assumes=node_premises(it) if bare else running_premises(it),
        ),
        # Other pods may end or be preempted.
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
        related=(replicas_wanted_here(it),),
    )
