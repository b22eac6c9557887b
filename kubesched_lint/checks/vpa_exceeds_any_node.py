"""A VerticalPodAutoscaler sets, recommends or allows requests that exceed every node that the pod may use."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.engine.model.quantity import show
from kubesched_lint.engine.model.workloads.vertical import VerticalAutoscaler
from kubesched_lint.engine.scenario.others.room import shortages_on
from kubesched_lint.engine.scenario.premises.premises import node_premises, nodes_in_words
from kubesched_lint.engine.scenario.scenario import Member
from kubesched_lint.engine.scheduler.capacity import Shortage
from kubesched_lint.explaining.remedies.remedy import Remedy, written_at
from kubesched_lint.explaining.sizes.vertical import vertical_autoscaler_of
from kubesched_lint.explaining.sizes.vertical_sizes import blamed_policy, fitting_bound, place_of_bound, resized
from kubesched_lint.findings import Hazard, Severity, proof
from kubesched_lint.sources.manifests.changes import Put

_ASSUMES = {
    "minimum": "it has a recommendation for each container, and its webhook sets the requests of new pods",
    "recommended": "its recommendation stays as in its status, and its webhook sets the requests of new pods",
    "maximum": "the containers use as much as it may recommend",
}
"""Variant of the card → what the autoscaler must do, in the order in which they are worth a finding."""


def check(it: Member) -> Iterator[Hazard]:
    """Judge fixed nodes only: an autoscaler of nodes may add a larger one."""
    scaler = vertical_autoscaler_of(it)
    if scaler is None or it.scenario.is_elastic or it.scenario.pools or not it.usable:
        return
    told = set()
    for variant in _ASSUMES:
        as_resized = resized(it, scaler, variant)
        for short in shortages_on(as_resized, as_resized.reach.tolerated):
            if short.resource not in told:
                told.add(short.resource)
                yield _hazard(it, as_resized, scaler, short, variant)


def fix(hazard: Hazard, it: Member) -> Iterator[Remedy]:
    """Lower the bound to what the nodes leave; with a minimum, also the maximum, which is at least as high."""
    *policy, bound, resource = hazard.at
    most = hazard.values["most"]
    if most and hazard.source is not None:
        highest = (*policy, "maxAllowed", resource)
        places = dict.fromkeys([hazard.at, highest] if written_at(hazard.source, highest) else [hazard.at])
        title = f"lower {bound} of {hazard.values['scaler']} to {resource} {most}"
        yield Remedy(title, safe=False, changes=tuple(Put(at, most) for at in places), source=hazard.source)


def _hazard(it: Member, as_resized: Member, scaler: VerticalAutoscaler, short: Shortage, variant: str) -> Hazard:
    among, resource = it.reach.tolerated, short.resource
    bound = "minAllowed" if variant == "minimum" else "maxAllowed"
    policy = None if variant == "recommended" else blamed_policy(it, scaler, resource, bound)
    lower = fitting_bound(it, as_resized, scaler, policy, short, bound) if policy else 0
    most = _written(resource, lower)
    return Hazard(
        at=place_of_bound(it, scaler, resource, (*policy.path, bound, resource) if policy else ()),
        source=scaler.source,
        evidence=proof(
            f"{resource} {show(resource, short.wanted)} > {show(resource, short.largest)}, the largest allocatable of "
            f"{nodes_in_words(it.scenario, among)} ({short.node})",
            demand=short.wanted,
            supply=short.largest,
            assumes=(*node_premises(it), _ASSUMES[variant]),
        ),
        severity=Severity.NOTE if variant == "maximum" else None,
        values={
            "scaler": f"VerticalPodAutoscaler {scaler.name}",
            "resource": resource,
            "wanted": show(resource, short.wanted),
            "largest": show(resource, short.largest),
            "node": short.node,
            "count": among.bit_count(),
            "most": most,
            "lower": f"lower {bound} to {resource} {most} or less" if most else f"lower {bound}",
            "then": _then(it, scaler),
        },
        variant=variant,
    )


def _written(resource: str, amount: int) -> str:
    """Return the amount as a manifest has it, rounded down to whole MiB of memory; empty if nothing is left."""
    if resource == "cpu":
        return show(resource, amount) if amount > 0 else ""
    return f"{amount >> 20}Mi" if amount >= 1 << 20 else ""


def _then(it: Member, scaler: VerticalAutoscaler) -> str:
    """What follows, with the updater's default eviction tolerance of a half."""
    pods = it.reach.tolerated.bit_count() if it.workload.kind == "DaemonSet" else it.replicas
    if not scaler.evicts_from(pods):
        return "a pod that is created anew stays Pending"
    evicted = max(1, pods // 2)
    return f"{evicted} of {pods} pods may be evicted and stay Pending"
