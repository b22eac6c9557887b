"""The room beside running pods does not hold all replicas, however they are packed."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from kubesched_lint.engine.base.text import many
from kubesched_lint.engine.model.quantity import show
from kubesched_lint.engine.model.resources import request_path
from kubesched_lint.engine.scenario.others.room import most_copies, tightest_resource
from kubesched_lint.engine.scenario.premises.premises import node_premises, running_premises
from kubesched_lint.engine.scenario.scenario import Member
from kubesched_lint.explaining.sizes.replicas import replicas_wanted_here
from kubesched_lint.findings import Hazard, Severity, proof


def check(it: Member) -> Iterator[Hazard]:
    usable = it.usable
    replicas = it.replicas
    if not it.workload.stays or not usable or it.scenario.index.unknown_resources & usable:
        return
    supply = most_copies(it, replicas, bare=True)
    bare = supply < replicas
    if not bare:
        supply = most_copies(it, replicas)
    if supply >= replicas:
        return
    tight = tightest_resource(it)
    apart = _kept_apart(it, bare=bare)
    nodes = many(usable.bit_count(), "node")
    room = f"the {'' if bare else 'free '}{tight} of {nodes} can hold" if not apart else f"{nodes} take, {apart}"
    yield Hazard(
        at=request_path(it.workload, tight),
        evidence=proof(
            f"{many(replicas, 'replica')} > {supply} that {room}",
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
            "room": "room" if apart else tight,
            "each": apart or f"{tight} {show(tight, it.pod.requests.get(tight, 1))} each",
            "freeing": "" if apart else f"free {tight}, lower the request, ",
            "usable": usable.bit_count(),
        },
        variant="bare" if bare else "default",
        related=(replicas_wanted_here(it),),
    )


def _kept_apart(it: Member, *, bare: bool) -> str:
    """Return what keeps the pods apart if resources alone suffice for all of them; else empty.

    Other rules tell of it first, unless a user ignores them.
    """
    like = replace(it.pod, required_anti_affinity=(), host_ports=())
    if most_copies(it, it.replicas, bare=bare, pod=like) < it.replicas:
        return ""
    return f"one a node by {f'host port {it.pod.host_ports[0].port}' if it.pod.host_ports else 'its anti-affinity'}"
