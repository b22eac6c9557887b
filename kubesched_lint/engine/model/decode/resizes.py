"""What a bound pod counts with while it is resized in place: its spec, what the kubelet allocated, and what it has set.

Mirrors ``determineEffectiveRequests`` and ``determineEffectiveLimits`` of ``component-helpers/resource/helpers.go``
(v1.36), which kube-scheduler asks for pods on nodes (``PodInfo.CalculateResource``) and the API server for quotas
(``PodUsageFunc``); v1.37 compares sums over the containers instead (``quirks.RESIZES_COUNT_BY_SUMS``). An API server
stores none of these fields while their gate is off (``dropDisabledPodStatusFields``).
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from kubesched_lint.engine.base.places import Path
from kubesched_lint.engine.model.decode.fields import Value, items, optional_mapping, resources, shared, text
from kubesched_lint.engine.model.pod import Container, Held, Pod, Resources
from kubesched_lint.engine.model.resources import effective_requests, is_pod_level, pod_level

PENDING, INFEASIBLE = "PodResizePending", "Infeasible"
_STATUS = ("status",)


def is_infeasible(status: Value) -> bool:
    """Return whether the kubelet can never carry out the resize of a pod with this status (IsPodResizeInfeasible)."""
    reasons = (
        text(c, "reason", at) for c, at in items(status, "conditions", _STATUS) if text(c, "type", at) == PENDING
    )
    return next(reasons, "") == INFEASIBLE


def with_held(pod: Pod, status: Value) -> Pod:
    """Return the pod with what its containers hold by the status of a bound Pod; the same pod if that is what they ask.

    Only containers that run have such a status, and of the init containers only sidecars count with it. Raises
    DecodeError.
    """
    statuses = _by_name(status)
    of_pod = optional_mapping(status, "resources", _STATUS) if pod.pod_requests else None
    if not statuses and of_pod is None:
        return pod
    without_spec = is_infeasible(status)
    containers = tuple(_holding(c, statuses, without_spec) for c in pod.containers)
    init = tuple(_holding(c, statuses, without_spec) if c.restart_always else c for c in pod.init_containers)
    held = None if of_pod is None else _held_by_pod(pod, of_pod, status, without_spec)
    if held is not None and held.requests == pod.pod_requests:
        held = None
    if held is None and containers == pod.containers and init == pod.init_containers:
        return pod
    resized = replace(pod, containers=containers, init_containers=init, pod_held=held)
    wanted = effective_requests(containers, init, pod_level(resized), pod.overhead)
    return replace(resized, requests=shared(wanted))


def _by_name(status: Value) -> Mapping[str, tuple[Value, Path]]:
    """Return the statuses that have resources."""
    return {
        text(status_of_container, "name", at): (status_of_container, at)
        for key in ("containerStatuses", "initContainerStatuses")
        for status_of_container, at in (items(status, key, _STATUS) if key in status else ())
        if status_of_container.get("resources") is not None
    }


def _holding(container: Container, statuses: Mapping[str, tuple[Value, Path]], without_spec: bool) -> Container:
    if container.name not in statuses:
        return container
    status, at = statuses[container.name]
    actual, actual_path = optional_mapping(status, "resources", at) or {}, (*at, "resources")
    set_requests, set_limits = resources(actual, "requests", actual_path), resources(actual, "limits", actual_path)
    allocated = resources(status, "allocatedResources", at)
    requests = _most(set_requests, allocated, *(() if without_spec else (container.requests,)))
    limits = _most(set_limits, *(() if without_spec else (container.limits,)))
    if requests == container.requests and limits == container.limits:
        return container
    later = shared(allocated or set_requests) if without_spec else container.requests
    return replace(container, held=Held(shared(requests), later, shared(limits)))


def _held_by_pod(pod: Pod, of_pod: Value, status: Value, without_spec: bool) -> Held:
    """Return what stands for the pod-level requests (``PodRequests``): of each, 0 if no part of the status has it."""
    spec = pod.pod_requests or {}
    actual, allocated = (
        resources(of_pod, "requests", (*_STATUS, "resources")),
        resources(status, "allocatedResources", _STATUS),
    )
    counted = _most(actual, allocated, *(() if without_spec else (spec,)))
    later = (allocated or actual) if without_spec else spec
    requests, later = (
        shared({name: each.get(name, 0) if is_pod_level(name) else amount for name, amount in spec.items()})
        for each in (counted, later)
    )
    return Held(requests, later)


def _most(*amounts: Resources) -> dict[str, int]:
    most: dict[str, int] = {}
    for each in amounts:
        for name, amount in each.items():
            most[name] = max(amount, most.get(name, 0))
    return most
