"""Resources of a whole pod, and their relation to the resources of its containers.

Mirrors ``validatePodResources`` in ``pkg/apis/core/validation/validation.go`` and ``AggregateContainerRequests`` of
``k8s.io/component-helpers/resource/helpers.go`` (v1.36).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kubesched_lint.findings import Path
from kubesched_lint.validation.causes import Cause, MapKey, field_of, forbidden, invalid
from kubesched_lint.validation.quantities import Quantity, in_resource_list
from kubesched_lint.validation.resources import is_huge_page, pod_resource_name, requirements

Value = dict[str, Any]
Amounts = dict[str, Quantity]


def pod_resources(spec: Value, path: Path) -> Iterator[Cause]:
    resources, here = spec["resources"], (*path, "resources")
    if spec.get("os", {}).get("name") == "windows":
        yield forbidden(here, "may not be set for a windows pod")
        return
    if "claims" in resources:
        yield forbidden((*here, "claims"), "claims may not be set for Resources at pod-level")
    yield from requirements(resources, here, name_check=pod_resource_name)
    yield from _consistent(spec, resources, here)


def _consistent(spec: Value, resources: Value, path: Path) -> Iterator[Cause]:
    for kind, counted in (("requests", lambda name: True), ("limits", is_huge_page)):
        given = resources.get(kind, {})
        for name, total in aggregate(spec, kind).items():
            if name in given and counted(name) and total.nanos > in_resource_list(given[name]).nanos:
                detail = f"must be greater than or equal to aggregate container {kind} of {total}"
                yield invalid((*path, kind, MapKey(name)), str(in_resource_list(given[name])), detail)
    limits = resources.get("limits", {})
    for i, container in enumerate(spec.get("containers", ())):
        for name, written in container.get("resources", {}).get("limits", {}).items():
            limit = in_resource_list(written)
            if name in limits and limit.nanos > in_resource_list(limits[name]).nanos:
                detail = f"must be less than or equal to pod limits of {in_resource_list(limits[name])}"
                at = (*path[:-1], "containers", i, "resources", "limits", MapKey(name))
                field = f"{field_of(path)}.containers[{i}][{name}].limits"
                yield invalid(at, str(limit), detail, field=field)


def aggregate(spec: Value, kind: str) -> Amounts:
    """Return the sum over containers and sidecars, or the peak during initialisation if that is larger."""
    running: Amounts = {}
    for container in spec.get("containers", ()):
        running = _sum(running, _of(container, kind))
    sidecars: Amounts = {}
    peak: Amounts = {}
    for container in spec.get("initContainers", ()):
        own = _of(container, kind)
        if container.get("restartPolicy") == "Always":
            running = _sum(running, own)
            sidecars = own = _sum(sidecars, own)
        else:
            own = _sum(own, sidecars)
        peak = _greater(peak, own)
    return _greater(running, peak)


def _of(container: Value, kind: str) -> Amounts:
    written = container.get("resources", {}).get(kind, {})
    return {name: in_resource_list(value) for name, value in written.items()}


def _sum(one: Amounts, other: Amounts) -> Amounts:
    total = dict(one)
    for name, amount in other.items():
        known = total.get(name)
        total[name] = amount if known is None else Quantity(known.nanos + amount.nanos, known.form)
    return total


def _greater(one: Amounts, other: Amounts) -> Amounts:
    most = dict(one)
    for name, amount in other.items():
        if name not in most or amount.nanos > most[name].nanos:
            most[name] = amount
    return most
