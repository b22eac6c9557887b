"""Resource names, amounts, and the relation of requests to limits, of a container and of a whole pod.

Mirrors ``validateResourceRequirements`` and ``validatePodResources`` in ``pkg/apis/core/validation/validation.go``,
``pkg/apis/core/helper/helpers.go``, and ``AggregateContainerRequests`` of
``k8s.io/component-helpers/resource/helpers.go`` (v1.36).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from kubesched_lint.engine.apiserver.values.causes import (
    Cause,
    MapKey,
    complaints,
    duplicate,
    field_of,
    forbidden,
    invalid,
    named,
    not_found,
    not_supported,
    required,
)
from kubesched_lint.engine.apiserver.values.names import dns_label, qualified_name
from kubesched_lint.engine.apiserver.values.quantities import NotAQuantityError, Quantity, in_resource_list, parse
from kubesched_lint.engine.base.places import Path

Value = dict[str, Any]
NameCheck = Callable[[str, Path], Iterator[Cause]]
_CONTAINER = frozenset(("cpu", "memory", "ephemeral-storage"))
_OBJECTS = (
    "pods",
    "resourcequotas",
    "services",
    "replicationcontrollers",
    "secrets",
    "configmaps",
    "persistentvolumeclaims",
    "services.nodeports",
    "services.loadbalancers",
)
_QUOTA = frozenset(
    (
        *_CONTAINER,
        *(f"requests.{name}" for name in (*_CONTAINER, "storage")),
        *(f"limits.{name}" for name in _CONTAINER),
        *_OBJECTS,
    )
)
_STANDARD = _QUOTA | {"storage"}
_HUGE_PAGES = "hugepages-"
NEGATIVE = "must be greater than or equal to 0"


def is_huge_page(name: str) -> bool:
    return name.startswith(_HUGE_PAGES)


def is_native(name: str) -> bool:
    return "/" not in name or "kubernetes.io/" in name


def allows_overcommit(name: str) -> bool:
    return is_native(name) and not is_huge_page(name)


@lru_cache(maxsize=512)
def is_extended(name: str) -> bool:
    return not is_native(name) and not name.startswith("requests.") and not qualified_name(f"requests.{name}")


def is_standard_for_quota(name: str) -> bool:
    return name in _QUOTA or name.startswith((_HUGE_PAGES, f"requests.{_HUGE_PAGES}"))


def resource_name(name: str, path: Path) -> Iterator[Cause]:
    bad = qualified_name(name)
    for detail in bad:
        yield invalid(path, named(name), detail)
    if not bad and "/" not in name and name not in _STANDARD and not is_standard_for_quota(name):
        yield invalid(path, named(name), "must be a standard resource type or fully qualified")


def container_resource_name(name: str, path: Path) -> Iterator[Cause]:
    if name in _CONTAINER:
        return
    yield from resource_name(name, path)
    if "/" not in name:
        if not is_huge_page(name):
            yield invalid(path, named(name), "must be a standard resource for containers")
    elif not is_native(name) and not is_extended(name):
        yield invalid(path, named(name), "doesn't follow extended resource name standard")


def pod_resource_name(name: str, path: Path) -> Iterator[Cause]:
    """Yield causes: pod-level resources may only be cpu, memory and huge pages."""
    bad = tuple(resource_name(name, path))
    yield from bad
    if not bad and name not in ("cpu", "memory") and not is_huge_page(name):
        yield not_supported(path, named(name), ("cpu", "hugepages-", "memory"))


def amount(name: str, value: object, path: Path) -> Iterator[Cause]:
    """Yield the causes of ``ValidateResourceQuantityValue``: not negative, and whole if the resource is a count."""
    parsed = in_resource_list(value)
    if parsed.nanos < 0:
        yield invalid(path, str(parsed), NEGATIVE)
    if not parsed.is_whole and (name in _OBJECTS or is_extended(name)):
        yield invalid(path, str(parsed), "must be an integer")


def requirements(
    value: Value, path: Path, *, claims: Collection[str] = (), name_check: NameCheck = container_resource_name
) -> Iterator[Cause]:
    """Yield the causes of ``resources`` in a container or a pod; ``claims`` are the names in ``resourceClaims``."""
    limits, requests = value.get("limits", {}), value.get("requests", {})
    for name, written in limits.items():
        yield from _entry(name, written, (*path, "limits", MapKey(name)), name_check)
    for name, written in requests.items():
        yield from _entry(name, written, (*path, "requests", MapKey(name)), name_check, limits, path)
    names = limits.keys() | requests.keys()
    if "cpu" not in names and "memory" not in names and any(map(is_huge_page, names)):
        yield forbidden(path, "HugePages require cpu or memory")
    if "claims" in value:
        yield from _claims(value["claims"], claims, (*path, "claims"))


def _entry(
    name: str,
    written: object,
    path: Path,
    name_check: NameCheck,
    limits: Mapping[str, object] | None = None,
    parent: Path = (),
) -> Iterator[Cause]:
    """Yield the causes of one limit, or with ``limits`` of one request."""
    if name not in _CONTAINER or name_check is not container_resource_name:
        yield from name_check(name, path)
    yield from amount(name, written, path)
    if limits is not None:
        yield from _within_limit(name, written, limits, path, parent)
    if is_huge_page(name) and not _is_whole_pages(name, in_resource_list(written)):
        shown = str(in_resource_list(written))
        yield invalid(path, shown, f"{shown} is not positive integer multiple of {name}")


def _within_limit(
    name: str, written: object, limits: Mapping[str, object], path: Path, parent: Path
) -> Iterator[Cause]:
    """Yield causes; upstream names the whole map of requests, or of limits, not the entry."""
    if name not in limits:
        if not allows_overcommit(name):
            yield required((*parent, "limits"), "Limit must be set for non overcommitable resources")
        return
    request, limit = in_resource_list(written), in_resource_list(limits[name])
    relation = ""
    if request.nanos != limit.nanos and not allows_overcommit(name):
        relation = "equal to"
    elif request.nanos > limit.nanos:
        relation = "less than or equal to"
    if relation:
        detail = f"must be {relation} {name} limit of {limit}"
        yield invalid(path, str(request), detail, field=f"{field_of(parent)}.requests")


def _is_whole_pages(name: str, quantity: Quantity) -> bool:
    try:
        page = parse(name.removeprefix(_HUGE_PAGES))
    except NotAQuantityError:
        return False
    return page.nanos > 0 and page.is_whole and quantity.value % page.value == 0


def _claims(entries: Sequence[Value], claims: Collection[str], path: Path) -> Iterator[Cause]:
    seen: set[str] = set()
    for i, entry in enumerate(entries):
        claim_path = (*path, i)
        name, request = entry.get("name", ""), entry.get("request", "")
        if not name:
            yield required(claim_path)
        elif name in seen:
            yield duplicate(claim_path, name)
        else:
            if request:
                yield from complaints((*claim_path, "request"), request, dns_label(request))
            key = f"{name}/{request}" if request else name
            if key in seen:
                yield duplicate(claim_path, key)
            elif not request:
                for _ in (other for other in seen if other.partition("/")[0] == name):
                    yield duplicate(claim_path, name)
            seen.add(key)
        if name and name not in claims:
            known = f": {', '.join(sorted(claims))}" if claims else " which is empty"
            yield not_found(claim_path, name, f"must be one of the names in pod.spec.resourceClaims{known}")


# --- Resources of a whole pod, and their relation to the resources of its containers ----------------------------------

Amounts = dict[str, Quantity]


def pod_resources(spec: Value, path: Path) -> Iterator[Cause]:
    resources, resources_path = spec["resources"], (*path, "resources")
    if spec.get("os", {}).get("name") == "windows":
        yield forbidden(resources_path, "may not be set for a windows pod")
        return
    if "claims" in resources:
        yield forbidden((*resources_path, "claims"), "claims may not be set for Resources at pod-level")
    yield from requirements(resources, resources_path, name_check=pod_resource_name)
    yield from _consistent(spec, resources, resources_path)


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


def _sum(amounts: Amounts, other: Amounts) -> Amounts:
    total = dict(amounts)
    for name, amount in other.items():
        known = total.get(name)
        total[name] = amount if known is None else Quantity(known.nanos + amount.nanos, known.form)
    return total


def _greater(amounts: Amounts, other: Amounts) -> Amounts:
    most = dict(amounts)
    for name, amount in other.items():
        if name not in most or amount.nanos > most[name].nanos:
            most[name] = amount
    return most
