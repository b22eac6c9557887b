"""Decode the objects of resource.k8s.io (v1, v1beta2 and v1beta1) with the API server's defaults.

v1beta1 writes the fields of ``exactly`` into the request itself, and those of a device under ``basic``. Mirrors
``pkg/apis/resource/v1/defaults.go`` and ``pkg/apis/resource/v1beta1/conversion.go`` (v1.36).
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from kubesched_lint.engine.base.places import Path, Source
from kubesched_lint.engine.model.decode.fields import (
    DecodeError,
    Value,
    boolean,
    each,
    integer,
    items,
    labels,
    mapping,
    optional_mapping,
    text,
    texts,
    words,
    wrong,
)
from kubesched_lint.engine.model.decode.pods import node_terms
from kubesched_lint.engine.model.devices.devices import (
    EXACT_COUNT,
    LISTS,
    AllocatedDevice,
    Allocation,
    Amounts,
    Attribute,
    Capacity,
    Device,
    DeviceClaim,
    DeviceClaimTemplate,
    DeviceClass,
    DeviceConstraint,
    DeviceRequest,
    DeviceTaint,
    DeviceTaintRule,
    DeviceToleration,
    NodeAccess,
    ResourceSlice,
    Scalar,
)
from kubesched_lint.engine.model.quantity import QuantityError, nanos

_META, _SPEC = ("metadata",), ("spec",)


def decode_device_class(value: Value, namespace: str, source: Source | None) -> DeviceClass:
    """Return a DeviceClass. Raises DecodeError."""
    meta, spec = mapping(value, "metadata", ()), mapping(value, "spec", ())
    return DeviceClass(
        text(meta, "name", _META),
        text(spec, "extendedResourceName", _SPEC),
        source,
        each(_selector, spec, "selectors", _SPEC),
        text(meta, "creationTimestamp", _META),
    )


def decode_resource_slice(value: Value, namespace: str, source: Source | None) -> ResourceSlice:
    """Return a ResourceSlice. Raises DecodeError."""
    spec = mapping(value, "spec", ())
    pool, at = mapping(spec, "pool", _SPEC), (*_SPEC, "pool")
    return ResourceSlice(
        name=text(mapping(value, "metadata", ()), "name", _META),
        driver=text(spec, "driver", _SPEC),
        pool=text(pool, "name", at),
        generation=integer(pool, "generation", at) or 0,
        slice_count=integer(pool, "resourceSliceCount", at) or 0,
        access=_access(spec, _SPEC),
        is_per_device=boolean(spec, "perDeviceNodeSelection", _SPEC),
        devices=each(_device, spec, "devices", _SPEC),
        counter_sets=each(_counter_set, spec, "sharedCounters", _SPEC),
        source=source,
    )


def decode_device_claim(value: Value, namespace: str, source: Source | None) -> DeviceClaim:
    """Return a ResourceClaim with its allocation. Raises DecodeError."""
    meta = mapping(value, "metadata", ())
    status, at = mapping(value, "status", ()), ("status",)
    requests, constraints = _wanted(mapping(value, "spec", ()), _SPEC)
    return DeviceClaim(
        namespace=text(meta, "namespace", _META) or namespace,
        name=text(meta, "name", _META),
        requests=requests,
        constraints=constraints,
        allocation=_allocation(optional_mapping(status, "allocation", at), (*at, "allocation")),
        reserved_for=tuple(text(item, "name", item_path) for item, item_path in items(status, "reservedFor", at)),
        deleting=meta.get("deletionTimestamp") is not None,
        annotations=labels(meta, "annotations", _META),
        owner=next(_owners(meta), ""),
        source=source,
    )


def decode_device_claim_template(value: Value, namespace: str, source: Source | None) -> DeviceClaimTemplate:
    """Return a ResourceClaimTemplate. Raises DecodeError."""
    meta, at = mapping(value, "metadata", ()), (*_SPEC, "spec")
    requests, constraints = _wanted(mapping(mapping(value, "spec", ()), "spec", _SPEC), at)
    name = text(meta, "name", _META)
    return DeviceClaimTemplate(text(meta, "namespace", _META) or namespace, name, requests, constraints, source)


def decode_device_taint_rule(value: Value, namespace: str, source: Source | None) -> DeviceTaintRule:
    """Return a DeviceTaintRule. Raises DecodeError."""
    spec, at = mapping(value, "spec", ()), (*_SPEC, "deviceSelector")
    selector = mapping(spec, "deviceSelector", _SPEC)
    driver, pool, device = (
        text(selector, name, at) if selector.get(name) is not None else None for name in ("driver", "pool", "device")
    )
    name = text(mapping(value, "metadata", ()), "name", _META)
    taint = _taint(mapping(spec, "taint", _SPEC), (*_SPEC, "taint"))
    return DeviceTaintRule(name, taint, driver, pool, device, source)


def _owners(meta: Value) -> Iterator[str]:
    for owner, owner_path in items(meta, "ownerReferences", _META):
        if text(owner, "kind", owner_path) == "Pod" and boolean(owner, "controller", owner_path):
            yield text(owner, "name", owner_path)


# --- amounts ---------------------------------------------------------------------------------------------------------


def _amount(value: Value, key: str, path: Path) -> Fraction | None:
    """Return a quantity exactly; None if it is absent."""
    written = value.get(key)
    return None if written is None else quantity(written, (*path, key))


def quantity(value: object, path: Path) -> Fraction:
    """Return a quantity exactly. Raises DecodeError."""
    if not isinstance(value, (str, int, float)) or isinstance(value, bool):
        raise wrong(path, "a quantity", value)
    try:
        return Fraction(*nanos(str(value)))
    except QuantityError as error:
        raise DecodeError(path, f"{words(path)}: {str(value)[:40]!r}: {error}") from None


def _amounts(value: Value, key: str, path: Path) -> Amounts:
    written = mapping(value, key, path)
    return {name: _amount(written, name, (*path, key)) or Fraction(0) for name in written}


def _named_values(value: Value, key: str, path: Path) -> Iterator[tuple[str, Value, Path]]:
    """Yield name, mapping and path of each entry of a map of mappings."""
    entries, map_path = mapping(value, key, path), (*path, key)
    for name in entries:
        if not isinstance(name, str):
            raise wrong((*map_path, str(name)), "a string as the key", name)
        yield name, mapping(entries, name, map_path), (*map_path, name)


def _counter_set(item: Value, path: Path, name_key: str = "name") -> tuple[str, Amounts]:
    counters = _named_values(item, "counters", path)
    return text(item, name_key, path), {n: _amount(value, "value", at) or Fraction(0) for n, value, at in counters}


def _consumed_set(item: Value, path: Path) -> tuple[str, Amounts]:
    return _counter_set(item, path, "counterSet")


# --- devices ---------------------------------------------------------------------------------------------------------


def _access(value: Value, path: Path) -> NodeAccess:
    selector = optional_mapping(value, "nodeSelector", path)
    return NodeAccess(
        text(value, "nodeName", path),
        boolean(value, "allNodes", path),
        node_terms(selector, (*path, "nodeSelector")),
    )


def _device(item: Value, path: Path) -> Device:
    name = text(item, "name", path)
    if item.get("basic") is not None:
        item, path = mapping(item, "basic", path), (*path, "basic")
    return Device(
        name=name,
        attributes={n: _attribute(value, at) for n, value, at in _named_values(item, "attributes", path)},
        capacity={n: _capacity(value, at) for n, value, at in _named_values(item, "capacity", path)},
        consumes=each(_consumed_set, item, "consumesCounters", path),
        taints=each(_taint, item, "taints", path),
        is_shared=boolean(item, "allowMultipleAllocations", path),
        access=_access(item, path),
        binds_to_node=boolean(item, "bindsToNode", path),
        has_binding_conditions=bool(texts(item, "bindingConditions", path)),
    )


def _attribute(value: Value, path: Path) -> Attribute:
    if value.get("int") is not None:
        return "int", integer(value, "int", path) or 0
    if value.get("bool") is not None:
        return "bool", boolean(value, "bool", path)
    if value.get("string") is not None:
        return "string", text(value, "string", path)
    if value.get("version") is not None:
        return "version", text(value, "version", path)
    for kind in LISTS:
        if value.get(kind):
            return kind, tuple(_values(value, kind, path))
    return "unknown", ""


def _values(value: Value, kind: str, path: Path) -> Iterator[Scalar]:
    expected = {"ints": int, "bools": bool}.get(kind, str)
    values = value[kind]
    for i, scalar in enumerate(values if isinstance(values, list) else [None]):
        if not isinstance(scalar, (str, int)) or type(scalar) is not expected:
            raise wrong((*path, kind, i), f"a value of type {expected.__name__}", scalar)
        yield scalar


def _capacity(value: Value, path: Path) -> Capacity:
    policy, at = mapping(value, "requestPolicy", path), (*path, "requestPolicy")
    span, span_at = mapping(policy, "validRange", at), (*at, "validRange")
    return Capacity(
        value=_amount(value, "value", path) or Fraction(0),
        default=_amount(policy, "default", at),
        minimum=_amount(span, "min", span_at),
        maximum=_amount(span, "max", span_at),
        step=_amount(span, "step", span_at),
        valid_values=tuple(_list_of_amounts(policy, "validValues", at)),
        has_range=policy.get("validRange") is not None,
    )


def _list_of_amounts(value: Value, key: str, path: Path) -> Iterator[Fraction]:
    written = value.get(key)
    if written is None:
        return
    if not isinstance(written, list):
        raise wrong((*path, key), "a list of quantities", written)
    for i, item in enumerate(written):
        yield quantity(item, (*path, key, i))


def _taint(item: Value, path: Path) -> DeviceTaint:
    return DeviceTaint(text(item, "key", path), text(item, "value", path), text(item, "effect", path))


# --- claims ----------------------------------------------------------------------------------------------------------


def _wanted(spec: Value, path: Path) -> tuple[tuple[DeviceRequest, ...], tuple[DeviceConstraint, ...]]:
    """Return the requests and constraints of a claim's spec."""
    devices, devices_path = mapping(spec, "devices", path), (*path, "devices")
    return each(_request, devices, "requests", devices_path), each(_constraint, devices, "constraints", devices_path)


def _request(item: Value, path: Path) -> DeviceRequest:
    name = text(item, "name", path)
    if item.get("firstAvailable"):
        return DeviceRequest(name, alternatives=each(_alternative, item, "firstAvailable", path), path=path)
    if item.get("exactly") is not None:
        return _exactly(name, mapping(item, "exactly", path), (*path, "exactly"))
    return _exactly(name, item, path)


def _alternative(item: Value, path: Path) -> DeviceRequest:
    return _exactly(text(item, "name", path), item, path)


def _exactly(name: str, item: Value, path: Path) -> DeviceRequest:
    mode, count = text(item, "allocationMode", path) or EXACT_COUNT, integer(item, "count", path)
    return DeviceRequest(
        name=name,
        device_class=text(item, "deviceClassName", path),
        mode=mode,
        count=count or 1,
        admin_access=boolean(item, "adminAccess", path),
        selectors=each(_selector, item, "selectors", path),
        tolerations=each(_toleration, item, "tolerations", path),
        capacity=_amounts(mapping(item, "capacity", path), "requests", (*path, "capacity")),
        path=path,
    )


def _selector(item: Value, path: Path) -> str:
    return text(mapping(item, "cel", path), "expression", (*path, "cel"))


def _toleration(item: Value, path: Path) -> DeviceToleration:
    return DeviceToleration(
        text(item, "key", path),
        text(item, "operator", path) or "Equal",
        text(item, "value", path),
        text(item, "effect", path),
        item.get("tolerationSeconds") is not None,
    )


def _constraint(item: Value, path: Path) -> DeviceConstraint:
    return DeviceConstraint(
        text(item, "matchAttribute", path), text(item, "distinctAttribute", path), texts(item, "requests", path), path
    )


def _allocation(value: Value | None, path: Path) -> Allocation | None:
    if value is None:
        return None
    devices, at = mapping(value, "devices", path), (*path, "devices")
    selector = optional_mapping(value, "nodeSelector", path)
    return Allocation(each(_allocated, devices, "results", at), node_terms(selector, (*path, "nodeSelector")))


def _allocated(item: Value, path: Path) -> AllocatedDevice:
    return AllocatedDevice(
        request=text(item, "request", path),
        driver=text(item, "driver", path),
        pool=text(item, "pool", path),
        device=text(item, "device", path),
        admin_access=boolean(item, "adminAccess", path),
        is_share=item.get("shareID") is not None,
        consumed=_amounts(item, "consumedCapacity", path),
    )
