"""The effective resource request of a pod.

Mirrors ``k8s.io/component-helpers/resource/helpers.go`` (v1.36), ``PodRequests`` and ``AggregateContainerRequests``.
"""

from __future__ import annotations

from kubesched_lint.model.pod import Container, Resources

_POD_LEVEL = ("cpu", "memory")


def effective_requests(
    containers: tuple[Container, ...],
    init_containers: tuple[Container, ...],
    pod_level: Resources | None = None,
    overhead: Resources | None = None,
) -> dict[str, int]:
    """What NodeResourcesFit subtracts from a node, per resource (millicores, bytes, counts).

    Containers and sidecars run together and add up; an ordinary init container runs beside the sidecars started
    before it. The pod-level request overrides cpu, memory and huge pages. Overhead comes on top.
    """
    total: dict[str, int] = {}
    for container in containers:
        _add(total, container.requests)
    if init_containers:
        sidecars: dict[str, int] = {}
        peak: dict[str, int] = {}
        for container in init_containers:
            if container.restart_always:
                _add(total, container.requests)
                _add(sidecars, container.requests)
                running = sidecars
            else:
                running = dict(sidecars)
                _add(running, container.requests)
            _raise_to(peak, running)
        _raise_to(total, peak)
    if pod_level:
        for name, amount in pod_level.items():
            if name in _POD_LEVEL or name.startswith("hugepages-"):
                total[name] = amount
    if overhead:
        _add(total, overhead)
    return total


def _add(total: dict[str, int], more: Resources) -> None:
    for name, amount in more.items():
        total[name] = total.get(name, 0) + amount


def _raise_to(peak: dict[str, int], other: Resources) -> None:
    for name, amount in other.items():
        if amount > peak.get(name, 0):
            peak[name] = amount
