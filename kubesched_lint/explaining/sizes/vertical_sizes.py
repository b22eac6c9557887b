"""Requests that a VerticalPodAutoscaler may give the pods of a workload, and the bound of its that says so."""

from __future__ import annotations

from msgspec.structs import replace

from kubesched_lint.engine.base.places import Path
from kubesched_lint.engine.model.pod import Container, Resources
from kubesched_lint.engine.model.resources import effective_requests
from kubesched_lint.engine.model.workloads.vertical import ContainerPolicy, VerticalAutoscaler
from kubesched_lint.engine.scenario.others.room import large_enough, left_by_others
from kubesched_lint.engine.scenario.scenario import Member
from kubesched_lint.engine.scheduler.capacity import Shortage


def resized(it: Member, scaler: VerticalAutoscaler, variant: str) -> Member:
    """Return the workload with the requests that its pods have in this case."""
    pod = it.workload.pod
    containers = tuple(
        replace(c, requests={**c.requests, **scaler.policy_of(c.name).allowed(c, _targets(scaler, c, variant))})
        for c in pod.containers
    )
    total = effective_requests(containers, pod.init_containers, pod.pod_requests, pod.overhead)
    return Member(replace(it.workload, pod=replace(pod, containers=containers, requests=total)), it.scenario)


def _targets(scaler: VerticalAutoscaler, container: Container, variant: str) -> Resources:
    """Return what the recommender says before the policy cuts it; 0 where nothing more is known."""
    if variant == "recommended":
        recommendation = scaler.recommended.get(container.name)
        return {} if recommendation is None else recommendation.target
    policy = scaler.policy_of(container.name)
    most = policy.most if variant == "maximum" else {}
    return {name: most.get(name, 0) for name in policy.controlled}


def blamed_policy(it: Member, scaler: VerticalAutoscaler, resource: str, bound: str) -> ContainerPolicy | None:
    """The policy in force with the largest bound on the resource; None if no container has one."""
    policies = (scaler.policy_of(container.name) for container in it.pod.containers)
    in_force = (policy for policy in policies if policy.is_on and resource in policy.controlled)
    bounded = (policy for policy in in_force if resource in _bounds(policy, bound))
    return max(bounded, key=lambda policy: _bounds(policy, bound)[resource], default=None)


def fitting_bound(
    it: Member, resized: Member, scaler: VerticalAutoscaler, policy: ContainerPolicy, short: Shortage, bound: str
) -> int:
    """The largest value of this bound with which a pod fits; 0 or less if there is none."""
    users = sum(scaler.policy_of(container.name) is policy for container in it.pod.containers)
    room = _room(it, resized, short.resource)
    lower = _bounds(policy, bound)[short.resource] + (room - short.wanted) // users
    return 0 if bound == "maxAllowed" and lower < policy.least.get(short.resource, 0) else lower


def _room(it: Member, resized: Member, resource: str) -> int:
    """What a pod may request beside the DaemonSets of the best node that holds its other requests; at least 0."""
    roomy = large_enough(resized, it.reach.tolerated & it.scenario.today, but=resource)
    return left_by_others(it, roomy, resource)[0] if roomy else 0


def _bounds(policy: ContainerPolicy, bound: str) -> Resources:
    return policy.least if bound == "minAllowed" else policy.most


def place_of_bound(it: Member, scaler: VerticalAutoscaler, resource: str, bound: Path) -> Path:
    """The bound, else the largest target; the first container if only the cluster has the autoscaler."""
    if scaler.source is None:
        return it.pod.containers[0].path
    if bound:
        return bound
    targets = (scaler.recommended[c.name] for c in it.pod.containers if c.name in scaler.recommended)
    largest = max(targets, key=lambda recommendation: recommendation.target.get(resource, 0))
    return (*largest.path, resource) if largest.path else ("spec", "targetRef")
