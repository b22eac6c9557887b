"""Extended resources that a DeviceClass serves: the requests of the claim that the scheduler makes for them.

Mirrors ``plugins/dynamicresources/extendeddynamicresources.go`` (v1.36).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from kubesched_lint.engine.cluster.devices import Devices
from kubesched_lint.engine.model.devices.devices import DeviceClaim, DeviceRequest
from kubesched_lint.engine.model.pod import Container, Pod

IN_MEMORY = "<extended-resources>"
"""The name of the claim until it is written."""
ANNOTATION = "resource.kubernetes.io/extended-resource-claim"


def extended_claim(pod: Pod, resources: Collection[str], devices: Devices) -> DeviceClaim:
    """Return the claim for those resources that no device plugin of the node offers; it may have no request."""
    requests: list[DeviceRequest] = []
    for name in sorted(resources):
        requests += _requests(pod, name, devices.class_of_resource[name].name)
    return DeviceClaim(pod.namespace, IN_MEMORY, tuple(sorted(requests, key=lambda request: request.name)))


def _requests(pod: Pod, resource: str, device_class: str) -> list[DeviceRequest]:
    """Return one request per long-lived container, and one for the neediest init container beyond what it can reuse."""
    containers = (*pod.init_containers, *pod.containers)
    passing = [i for i, c in enumerate(pod.init_containers) if not c.restart_always]
    lasting: dict[int, DeviceRequest] = {}
    for i, container in enumerate(containers):
        if i not in passing and container.requests.get(resource):
            lasting[i] = _request(i, container, resource, device_class, 0)
    neediest: DeviceRequest | None = None
    for i in passing:
        reusable = _reusable(lasting, i, containers[i].requests.get(resource, 0))
        if containers[i].requests.get(resource, 0) > reusable:
            request = _request(i, containers[i], resource, device_class, reusable)
            if neediest is None or neediest.count < request.count:
                neediest = request
    return [*([neediest] if neediest else []), *lasting.values()]


def _reusable(lasting: Mapping[int, DeviceRequest], i: int, wanted: int) -> int:
    """Return how many devices of later containers an init container can use before they start."""
    return min(wanted, sum(request.count for j, request in lasting.items() if j >= i))


def _request(i: int, container: Container, resource: str, device_class: str, reusable: int) -> DeviceRequest:
    names: Sequence[str] = sorted(container.requests)
    name = f"container-{i}-request-{names.index(resource)}"
    return DeviceRequest(name, device_class, count=container.requests[resource] - reusable, resource=resource)
