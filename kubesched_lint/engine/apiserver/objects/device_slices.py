"""ResourceSlices of resource.k8s.io, which drivers write, and users for tests of drivers.

Mirrors validateResourceSliceSpec of ``pkg/apis/resource/validation/validation.go`` (v1.36), except for the contents of
request policies. v1beta1 writes the fields of a device under ``basic``; the server names them as v1 does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from kubesched_lint.engine.apiserver.objects.devices import EFFECTS, V1BETA1, Rule, Value, attribute_name, listed
from kubesched_lint.engine.apiserver.pods.affinity import node_selector
from kubesched_lint.engine.apiserver.pods.sources import csi_driver
from kubesched_lint.engine.apiserver.values.causes import (
    Cause,
    MapKey,
    Raw,
    as_json,
    complaints,
    duplicate,
    forbidden,
    invalid,
    one_of,
    required,
    required_name,
    too_long,
    too_many,
)
from kubesched_lint.engine.apiserver.values.labels import label_name
from kubesched_lint.engine.apiserver.values.metadata import object_meta
from kubesched_lint.engine.apiserver.values.names import dns_label, dns_subdomain, label_value, size
from kubesched_lint.engine.base.places import Path
from kubesched_lint.engine.model.devices.devices import SEMVER

_SPEC: Path = ("spec",)
_API_DEVICES, _API_RICH_DEVICES = 128, 64
_API_SETS, _API_COUNTERS, _API_CONSUMED, _API_TAINTS, _API_CONDITIONS = 8, 32, 2, 16, 4
_API_NAMES, _API_VALUES = 32, 48
_API_POOL, _API_VALUE = 253, 64
_ATTRIBUTES = ("int", "bool", "string", "version", "ints", "bools", "strings", "versions")
_ACCESS = ("nodeName", "nodeSelector", "allNodes", "perDeviceNodeSelection")
_ONE_ACCESS = "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required"
_ONE_OF_DEVICE = (
    "exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when `perDeviceNodeSelection` is set to true "
    "in the ResourceSlice spec"
)
_NOT_OF_DEVICE = (
    "`nodeName`, `nodeSelector` and `allNodes` can only be set if `perDeviceNodeSelection` is set to true in the "
    "ResourceSlice spec"
)
_EXPRESSION = ("key", "operator", "values")


def resource_slice(value: Value) -> Iterator[Cause]:
    yield from object_meta(value.get("metadata", {}), namespaced=False)
    is_nested = value["apiVersion"] == V1BETA1
    spec = value.get("spec", {})
    devices = [{**d.get("basic", {}), "name": d.get("name", "")} if is_nested else d for d in spec.get("devices", ())]
    for cause in _spec({**spec, "devices": devices} if "devices" in spec else spec):
        yield replace(cause, path=_under_basic(cause.path)) if is_nested else cause


def _under_basic(path: Path) -> Path:
    is_of_body = path[:2] == ("spec", "devices") and len(path) > 3 and path[3] != "name"
    return (*path[:3], "basic", *path[3:]) if is_of_body else path


def _spec(spec: Value) -> Iterator[Cause]:
    yield from csi_driver(spec.get("driver", ""), (*_SPEC, "driver"))
    yield from _pool(spec.get("pool", {}), (*_SPEC, "pool"))
    given: list[str] = []
    yield from _access(spec, _SPEC, given, "must be either unset or set to a non-empty string")
    terms = spec.get("nodeSelector", {}).get("nodeSelectorTerms") or []
    if "nodeSelector" in spec and len(terms) != 1:
        shown = Raw(as_json([_as_stored(term) for term in terms] or None))
        yield invalid((*_SPEC, "nodeSelector", "nodeSelectorTerms"), shown, "must have exactly one node selector term")
    by_device = spec.get("perDeviceNodeSelection")
    if by_device:
        given.append("perDeviceNodeSelection")
    elif by_device is not None:
        yield invalid((*_SPEC, "perDeviceNodeSelection"), by_device, "must be either unset or set to true")
    yield from _one_access(given, _SPEC, _ONE_ACCESS, f"{_ONE_ACCESS}, but multiple fields are set")
    if "sharedCounters" in spec and "devices" in spec:
        yield invalid(_SPEC, "", "only one of `sharedCounters` or `devices` is allowed")
    devices, at = spec.get("devices", ()), (*_SPEC, "devices")
    is_rich = any(device.get("taints") or device.get("consumesCounters") or _has_list(device) for device in devices)

    def device(value: Value, path: Path) -> Iterator[Cause]:
        yield from _device(value, path, by_device=bool(by_device))

    yield from listed(devices, at, device, _API_RICH_DEVICES if is_rich else _API_DEVICES, key=_name)
    yield from listed(spec.get("sharedCounters", ()), (*_SPEC, "sharedCounters"), _counter_set, _API_SETS, key=_name)


def _as_stored(term: Value) -> Value:
    """Return a term of a node selector as the server's own type shows it."""
    fields = ("matchExpressions", "matchFields")
    parts = ([{key.capitalize(): e.get(key) for key in _EXPRESSION} for e in term.get(f, ())] or None for f in fields)
    return dict(zip(("MatchExpressions", "MatchFields"), parts, strict=True))


def _pool(pool: Value, path: Path) -> Iterator[Cause]:
    name, at = pool.get("name", ""), (*path, "name")
    if not name:
        yield required(at)
    else:
        if size(name) > _API_POOL:
            yield too_long(at, _API_POOL)
        for part in name.split("/"):
            yield from complaints(at, part, dns_subdomain(part))
    count, generation = pool.get("resourceSliceCount", 0), pool.get("generation", 0)
    if count <= 0:
        yield invalid((*path, "resourceSliceCount"), count, "must be greater than zero")
    if generation < 0:
        yield invalid((*path, "generation"), generation, "must be greater than or equal to zero")


def _access(value: Value, path: Path, given: list[str], on_empty: str) -> Iterator[Cause]:
    """Yield what is wrong with the nodes of a slice or of a device, and add the fields that are set to ``given``."""
    node = value.get("nodeName")
    if node:
        given.append("nodeName")
        yield from complaints((*path, "nodeName"), node, dns_subdomain(node))
    elif node is not None:
        yield invalid((*path, "nodeName"), node, on_empty)
    if "nodeSelector" in value:
        given.append("nodeSelector")
        yield from node_selector(value["nodeSelector"], (*path, "nodeSelector"))
    if value.get("allNodes"):
        given.append("allNodes")
    elif "allNodes" in value:
        yield invalid((*path, "allNodes"), value["allNodes"], "must be either unset or set to true")


def _one_access(given: Sequence[str], path: Path, on_none: str, on_many: str) -> Iterator[Cause]:
    if not given:
        yield required(path, on_none)
    elif len(given) > 1:
        yield invalid(path, f"{{{', '.join(f'`{name}`' for name in given)}}}", on_many)


# --- devices --------------------------------------------------------------------------------------------------------


def _device(device: Value, path: Path, *, by_device: bool) -> Iterator[Cause]:
    yield from complaints((*path, "name"), _name(device), dns_label(_name(device)))
    attributes, capacity = device.get("attributes", {}), device.get("capacity", {})
    if len(attributes) + len(capacity) > _API_NAMES:
        text = f"the total number of attributes and capacities must not exceed {_API_NAMES}"
        yield invalid(path, len(attributes) + len(capacity), text)
    values = sum(
        len(attribute) if isinstance(attribute, list) else 1
        for each in attributes.values()
        for attribute in each.values()
    )
    if values > _API_VALUES:
        yield invalid(path, values, f"the total number of attribute values must not exceed {_API_VALUES}")
    yield from _mapped(attributes, (*path, "attributes"), attribute_name, _attribute)
    is_shared = device.get("allowMultipleAllocations", False)
    yield from _mapped(capacity, (*path, "capacity"), attribute_name, _of_any if is_shared else _of_single)
    yield from listed(device.get("taints", ()), (*path, "taints"), _taint, _API_TAINTS)
    yield from listed(
        device.get("consumesCounters", ()),
        (*path, "consumesCounters"),
        _consumption,
        _API_CONSUMED,
        key=lambda consumption: str(consumption.get("counterSet", "")),
    )
    if by_device:
        given: list[str] = []
        yield from _access(device, path, given, "must not be empty")
        yield from _one_access(given, path, _ONE_OF_DEVICE, _ONE_OF_DEVICE)
    elif any(name in device for name in _ACCESS[:3]):
        yield invalid(path, None, _NOT_OF_DEVICE)
    yield from _conditions(device.get("bindingConditions", []), device.get("bindingFailureConditions", []), path)


def _has_list(device: Value) -> bool:
    return any(name in each for each in device.get("attributes", {}).values() for name in _ATTRIBUTES[4:])


def _attribute(attribute: Value, path: Path) -> Iterator[Cause]:
    given = {name: attribute[name] for name in _ATTRIBUTES if name in attribute}
    for name in ("string", "strings", "version", "versions"):
        values = given.get(name, [])
        for i, text in enumerate(values if isinstance(values, list) else [values]):
            at = (*path, name, i) if isinstance(values, list) else (*path, name)
            if name.startswith("version") and not SEMVER.fullmatch(text):
                yield invalid(at, text, "must be a string compatible with semver.org spec 2.0.0")
            if size(text) > _API_VALUE:
                yield too_long(at, _API_VALUE)
    for name in _ATTRIBUTES[4:]:
        if given.get(name) == []:
            yield invalid((*path, name), [], "must not be empty if specified")
    if len(given) != 1:
        yield invalid(path, given or "", "exactly one value must be specified")


def _of_any(capacity: Value, path: Path) -> Iterator[Cause]:
    """Yield nothing: what a request policy may say is not checked."""
    yield from ()


def _of_single(capacity: Value, path: Path) -> Iterator[Cause]:
    if "requestPolicy" in capacity:
        yield forbidden((*path, "requestPolicy"), "allowMultipleAllocations must be true")


def _taint(taint: Value, path: Path) -> Iterator[Cause]:
    yield from label_name(taint.get("key", ""), (*path, "key"))
    if taint.get("value"):
        yield from complaints((*path, "value"), taint["value"], label_value(taint["value"]))
    if not taint.get("effect"):
        yield required((*path, "effect"))
    else:
        yield from one_of((*path, "effect"), taint["effect"], EFFECTS)


def _consumption(value: Value, path: Path) -> Iterator[Cause]:
    yield from required_name((*path, "counterSet"), value.get("counterSet", ""), dns_label)
    yield from _counters(value, path)


def _counter_set(value: Value, path: Path) -> Iterator[Cause]:
    yield from required_name((*path, "name"), _name(value), dns_label)
    yield from _counters(value, path)


def _counters(value: Value, path: Path) -> Iterator[Cause]:
    counters, at = value.get("counters", {}), (*path, "counters")
    if not counters:
        yield required(at)
    elif len(counters) > _API_COUNTERS:
        yield too_many(at, len(counters), _API_COUNTERS)
    else:
        for name in counters:
            yield from complaints(at, name, dns_label(name))


def _conditions(starting: Sequence[str], failing: Sequence[str], path: Path) -> Iterator[Cause]:
    for field, conditions in (("bindingConditions", starting), ("bindingFailureConditions", failing)):
        yield from listed(conditions, (*path, field), label_name, _API_CONDITIONS)
    for i, condition in enumerate(starting):
        if condition in starting[:i]:
            yield duplicate((*path, "bindingConditions", i), condition)
    for i, condition in enumerate(failing):
        at = (*path, "bindingFailureConditions", i)
        if condition in failing[:i]:
            yield duplicate(at, condition)
        if condition in starting:
            yield invalid(at, condition, "bindingFailureConditions must not overlap with bindingConditions")
    if failing and not starting:
        text = "bindingConditions are required to use bindingFailureConditions"
        yield invalid((*path, "bindingConditions"), None, text)
    if starting and not failing:
        text = "bindingFailureConditions are required to use bindingConditions"
        yield invalid((*path, "bindingFailureConditions"), None, text)


def _mapped(values: Mapping[str, Any], path: Path, name_rule: Rule, rule: Rule) -> Iterator[Cause]:
    for name, value in values.items():
        yield from name_rule(name, path)
        yield from rule(value, (*path, MapKey(name)))


def _name(value: Value) -> str:
    return str(value.get("name", ""))
