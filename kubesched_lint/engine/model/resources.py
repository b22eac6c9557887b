"""The effective resource request of a pod.

Mirrors ``k8s.io/component-helpers/resource/helpers.go`` (v1.36), ``PodRequests`` and ``AggregateContainerRequests``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING

from msgspec.structs import replace

from kubesched_lint.engine.base.identity import while_it_lives
from kubesched_lint.engine.base.places import Path
from kubesched_lint.engine.base.quirks import EXTENDED_RESOURCES_OF_DEVICES, has
from kubesched_lint.engine.model.pod import Container, Held, Pod, Resources, SchedulerProfile
from kubesched_lint.engine.model.workloads.workload import Workload

if TYPE_CHECKING:
    from kubesched_lint.engine.model.devices.devices import DeviceClass


_POD_LEVEL = ("cpu", "memory")
DEVICE_CLASS = "deviceclass.resource.kubernetes.io/"


def effective_requests(
    containers: tuple[Container, ...],
    init_containers: tuple[Container, ...],
    of_pod: Resources | None = None,
    overhead: Resources | None = None,
) -> dict[str, int]:
    """Return what NodeResourcesFit subtracts from a node, per resource (millicores, bytes, counts).

    Containers and sidecars run together and add up; an ordinary init container runs with the sidecars started before
    it. The pod-level request overrides cpu, memory and huge pages. Overhead is added to the result. A container that is
    resized in place counts with what it holds.
    """
    total: dict[str, int] = {}
    for container in containers:
        _add(total, counted_requests(container))
    if init_containers:
        sidecars: dict[str, int] = {}
        peak: dict[str, int] = {}
        for container in init_containers:
            if container.restart_always:
                _add(total, counted_requests(container))
                _add(sidecars, counted_requests(container))
                running = sidecars
            else:
                running = dict(sidecars)
                _add(running, counted_requests(container))
            _raise_to(peak, running)
        _raise_to(total, peak)
    if of_pod:
        for name, amount in of_pod.items():
            if is_pod_level(name):
                total[name] = amount
    if overhead:
        _add(total, overhead)
    return total


def counted_requests(container: Container) -> Resources:
    """Return the requests that count: what a container holds while it is resized in place, else those of its spec."""
    return container.requests if container.held is None else container.held.requests


def pod_level(pod: Pod) -> Resources | None:
    """Return the pod-level requests that count; None if the pod has none."""
    return pod.pod_requests if pod.pod_held is None else pod.pod_held.requests


def is_resizing(pod: Pod) -> bool:
    """Return whether a pod of the cluster requests less or more than its spec, because it is resized in place."""
    return made_anew(pod).requests != pod.requests


def made_anew(pod: Pod, template: Pod | None = None) -> Pod:
    """Return a pod of the cluster as its next copy counts: without what it holds, and with its spec.

    ``template``: that of its workload, which has the requests before the resize.
    """
    released = _with_held(pod, lambda held, spec: None)
    if released is pod or template is None:
        return released
    written = {c.name: c.requests for c in (*template.containers, *template.init_containers)}
    containers, init = (
        tuple(replace(c, requests={**c.requests, **written.get(c.name, {})}) for c in each)
        for each in (released.containers, released.init_containers)
    )
    of_pod = None if released.pod_requests is None else {**released.pod_requests, **(template.pod_requests or {})}
    wanted = effective_requests(containers, init, of_pod, pod.overhead)
    return replace(released, containers=containers, init_containers=init, pod_requests=of_pod, requests=wanted)


def settled(pod: Pod) -> Pod:
    """Return a pod of the cluster after what its kubelet is doing; the same pod if its requests are the same then."""
    later = _with_held(pod, _later)
    return pod if later.requests == pod.requests else later


def _later(held: Held, spec: Resources) -> Held | None:
    return None if held.later == spec else replace(held, requests=held.later)


def _with_held(pod: Pod, of: Callable[[Held, Resources], Held | None]) -> Pod:
    """Return the pod with what ``of`` returns for what each container, and the pod, holds, and for its requests."""

    if pod.pod_held is None and all(c.held is None for c in (*pod.containers, *pod.init_containers)):
        return pod

    def each(containers: tuple[Container, ...]) -> tuple[Container, ...]:
        return tuple(c if c.held is None else replace(c, held=of(c.held, c.requests)) for c in containers)

    of_pod = None if pod.pod_held is None else of(pod.pod_held, pod.pod_requests or {})
    changed = replace(pod, containers=each(pod.containers), init_containers=each(pod.init_containers), pod_held=of_pod)
    wanted = effective_requests(changed.containers, changed.init_containers, pod_level(changed), pod.overhead)
    return replace(changed, requests=wanted)


def is_pod_level(name: str) -> bool:
    """Return whether a pod can request a resource as a whole (IsSupportedPodLevelResource)."""
    return name in _POD_LEVEL or name.startswith("hugepages-")


def device_class_resources(classes: Collection[DeviceClass], version: str) -> frozenset[str]:
    """Return the extended resources that DRA can allocate, by their own name or by the class's name.

    None if the gate DRAExtendedResource is off in this version of Kubernetes.
    Mirrors ``dynamic-resource-allocation/deviceclass/extendedresourcecache`` and ``api/resource/v1`` (v1.36).
    """
    if not has(version, EXTENDED_RESOURCES_OF_DEVICES):
        return frozenset()
    implicit = {DEVICE_CLASS + c.name for c in classes}
    return frozenset(implicit | {c.extended_resource for c in classes if c.extended_resource})


def may_be_devices(resource: str) -> bool:
    """Return whether a DeviceClass may serve a resource (``IsDRAExtendedResourceName``)."""
    return is_extended(resource) or resource.startswith(DEVICE_CLASS)


def is_extended(resource: str) -> bool:
    """Return whether a device plugin or DRA offers it: its domain is not Kubernetes' own.

    Mirrors IsExtendedResourceName, ``pkg/apis/core/v1/helper/helpers.go`` (v1.36).
    """
    return "/" in resource and "kubernetes.io/" not in resource and not resource.startswith("requests.")


def is_ignored(resource: str, profile: SchedulerProfile) -> bool:
    """Return whether NodeResourcesFit passes over a resource: only an extended one (fitsRequest)."""
    if not (profile.ignored_resources or profile.ignored_resource_groups) or not is_extended(resource):
        return False
    return resource in profile.ignored_resources or resource.partition("/")[0] in profile.ignored_resource_groups


DEFAULT_MILLI_CPU = 100
DEFAULT_MEMORY = 200 << 20


@while_it_lives
def nonzero_requests(pod: Pod) -> tuple[int, int]:
    """Return the (millicores, bytes) that scoring counts: a container without requests counts 100m and 200Mi.

    Mirrors ``pkg/scheduler/framework/types.go`` (v1.36), getNonMissingContainerRequests: with pod-level requests, only
    a resource requested at neither level gets the default; an explicit zero stays zero.
    """
    missing = {"cpu": DEFAULT_MILLI_CPU, "memory": DEFAULT_MEMORY}
    if pod.pod_requests and any(is_pod_level(name) for name in pod.pod_requests):
        missing = {name: amount for name, amount in missing.items() if name not in pod.requests}

    def filled(containers: tuple[Container, ...]) -> tuple[Container, ...]:
        return tuple(
            c
            if missing.keys() <= counted_requests(c).keys()
            else replace(c, requests={**missing, **counted_requests(c)}, held=None)
            for c in containers
        )

    total = effective_requests(filled(pod.containers), filled(pod.init_containers), pod_level(pod), pod.overhead)
    return total.get("cpu", 0), total.get("memory", 0)


def _add(total: dict[str, int], more: Resources) -> None:
    for name, amount in more.items():
        total[name] = total.get(name, 0) + amount


def _raise_to(peak: dict[str, int], other: Resources) -> None:
    for name, amount in other.items():
        if amount > peak.get(name, 0):
            peak[name] = amount


# --- The place of a pod's request in its manifest
# -------------------------------------------------------------------------


def request_path(workload: Workload, resource: str) -> Path:
    """Return the path of the largest request of a resource: the pod's, a container's, or the limit that implies it."""
    pod = workload.pod
    if pod.pod_requests and resource in pod.pod_requests:
        return (*pod.path, "resources", "requests", resource)
    asking = [c for c in (*pod.containers, *pod.init_containers) if c.requests.get(resource)]
    if not asking:
        return (*pod.path, "overhead") if resource in pod.overhead else pod.path
    largest = max(asking, key=lambda c: c.requests[resource])
    where: Path = (*largest.path, "resources", "requests", resource)
    if workload.source is not None and workload.source.span(where) == workload.source.span(where[:-1]):
        return (*largest.path, "resources", "limits", resource)  # only a limit is written: it is the request too
    return where
