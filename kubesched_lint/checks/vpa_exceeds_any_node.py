"""A VerticalPodAutoscaler sets, recommends or allows requests that exceed every node that the pod may use."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from kubesched_lint.analysis.remedy import Remedy, written_at
from kubesched_lint.analysis.vertical import vertical_autoscaler_of
from kubesched_lint.findings import Hazard, Path, Severity, proof
from kubesched_lint.manifests.changes import Put
from kubesched_lint.model.pod import Container, Resources
from kubesched_lint.model.quantity import show
from kubesched_lint.model.resources import effective_requests
from kubesched_lint.model.vertical import ContainerPolicy, VerticalAutoscaler
from kubesched_lint.scheduler.capacity import Shortage
from kubesched_lint.text import plural
from kubesched_lint.world.premises import node_premises, nodes_in_words
from kubesched_lint.world.room import large_enough, left_by_others, shortages_on
from kubesched_lint.world.world import Member

_ASSUMES = {
    "minimum": "it has a recommendation for each container, and its webhook sets the requests of new pods",
    "recommended": "its recommendation stays as in its status, and its webhook sets the requests of new pods",
    "maximum": "the containers use as much as it may recommend",
}
"""Variant of the card → what the autoscaler must do, in the order in which they are worth a finding."""


def check(it: Member) -> Iterator[Hazard]:
    """Judge fixed nodes only: an autoscaler of nodes may add a larger one."""
    scaler = vertical_autoscaler_of(it)
    if scaler is None or it.world.is_elastic or it.world.pools or not it.usable:
        return
    told = set()
    for variant in _ASSUMES:
        resized = _resized(it, scaler, variant)
        for short in shortages_on(resized, resized.reach.tolerated):
            if short.resource not in told:
                told.add(short.resource)
                yield _hazard(it, _room(it, resized, short.resource), scaler, short, variant)


def fix(hazard: Hazard, it: Member) -> Iterator[Remedy]:
    """Lower the bound to what the nodes leave; with a minimum, also the maximum, which is at least as high."""
    *policy, bound, resource = hazard.at
    most = hazard.values["most"]
    if most and hazard.source is not None:
        highest = (*policy, "maxAllowed", resource)
        places = dict.fromkeys([hazard.at, highest] if written_at(hazard.source, highest) else [hazard.at])
        title = f"lower {bound} of {hazard.values['scaler']} to {resource} {most}"
        yield Remedy(title, safe=False, changes=tuple(Put(at, most) for at in places), source=hazard.source)


def _resized(it: Member, scaler: VerticalAutoscaler, variant: str) -> Member:
    """Return the workload with the requests that its pods have in this case."""
    pod = it.workload.pod
    containers = tuple(
        replace(c, requests={**c.requests, **scaler.policy_of(c.name).allowed(c, _targets(scaler, c, variant))})
        for c in pod.containers
    )
    total = effective_requests(containers, pod.init_containers, pod.pod_requests, pod.overhead)
    return Member(replace(it.workload, pod=replace(pod, containers=containers, requests=total)), it.world)


def _targets(scaler: VerticalAutoscaler, container: Container, variant: str) -> Resources:
    """Return what the recommender says before the policy cuts it; 0 where nothing more is known."""
    if variant == "recommended":
        found = scaler.recommended.get(container.name)
        return {} if found is None else found.target
    policy = scaler.policy_of(container.name)
    most = policy.most if variant == "maximum" else {}
    return {name: most.get(name, 0) for name in policy.controlled}


def _hazard(it: Member, room: int, scaler: VerticalAutoscaler, short: Shortage, variant: str) -> Hazard:
    among, resource = it.reach.tolerated, short.resource
    bound = "minAllowed" if variant == "minimum" else "maxAllowed"
    policy = None if variant == "recommended" else _blamed(it, scaler, resource, bound)
    lower = _lower(it, room, scaler, policy, short, bound) if policy else 0
    most = _written(resource, lower)
    return Hazard(
        at=_place(it, scaler, resource, (*policy.path, bound, resource) if policy else ()),
        source=scaler.source,
        evidence=proof(
            f"{resource} {show(resource, short.wanted)} > {show(resource, short.largest)}, the largest allocatable of "
            f"{nodes_in_words(it.world, among)} ({short.node})",
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


def _bounds(policy: ContainerPolicy, bound: str) -> Resources:
    return policy.least if bound == "minAllowed" else policy.most


def _blamed(it: Member, scaler: VerticalAutoscaler, resource: str, bound: str) -> ContainerPolicy | None:
    """The policy in force with the largest bound on the resource; None if no container has one."""
    policies = (scaler.policy_of(container.name) for container in it.pod.containers)
    in_force = (policy for policy in policies if policy.is_on and resource in policy.controlled)
    bounded = (policy for policy in in_force if resource in _bounds(policy, bound))
    return max(bounded, key=lambda policy: _bounds(policy, bound)[resource], default=None)


def _place(it: Member, scaler: VerticalAutoscaler, resource: str, bound: Path) -> Path:
    """The bound, else the largest target; the first container if only the cluster has the autoscaler."""
    if scaler.source is None:
        return it.pod.containers[0].path
    if bound:
        return bound
    targets = (scaler.recommended[c.name] for c in it.pod.containers if c.name in scaler.recommended)
    largest = max(targets, key=lambda found: found.target.get(resource, 0))
    return (*largest.path, resource) if largest.path else ("spec", "targetRef")


def _room(it: Member, resized: Member, resource: str) -> int:
    """What a pod may request beside the DaemonSets of the best node that holds its other requests; at least 0."""
    roomy = large_enough(resized, it.reach.tolerated & it.world.today, but=resource)
    return left_by_others(it, roomy, resource)[0] if roomy else 0


def _lower(
    it: Member, room: int, scaler: VerticalAutoscaler, policy: ContainerPolicy, short: Shortage, bound: str
) -> int:
    """The largest value of this bound with which a pod fits; 0 or less if there is none."""
    users = sum(scaler.policy_of(container.name) is policy for container in it.pod.containers)
    lower = _bounds(policy, bound)[short.resource] + (room - short.wanted) // users
    return 0 if bound == "maxAllowed" and lower < policy.least.get(short.resource, 0) else lower


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
    left = plural(evicted, "successor stays", "successors stay")
    return f"it may evict {evicted} of {pods} running pods, and the {left} Pending"
