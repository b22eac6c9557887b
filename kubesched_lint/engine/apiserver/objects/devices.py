"""DeviceClasses, ResourceClaims and ResourceClaimTemplates of resource.k8s.io.

Mirrors ``pkg/apis/resource/validation/validation.go``, the defaults of each version, and what
``pkg/apis/resource/v1beta1/conversion.go`` moves to ``exactly`` (v1.36, whose declarative rules are in shadow mode).
The rule about the namespace of ``adminAccess`` needs the namespace.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from kubesched_lint.engine.apiserver.pods.sources import csi_driver
from kubesched_lint.engine.apiserver.selectors import refusal
from kubesched_lint.engine.apiserver.values.causes import (
    Cause,
    as_json,
    complaints,
    duplicate,
    invalid,
    named,
    not_supported,
    one_of,
    required,
    required_name,
    too_long,
    too_many,
)
from kubesched_lint.engine.apiserver.values.labels import label_name
from kubesched_lint.engine.apiserver.values.metadata import object_meta, template_meta
from kubesched_lint.engine.apiserver.values.names import (
    dns_label,
    dns_subdomain,
    label_key,
    label_value,
    regex_error,
    size,
)
from kubesched_lint.engine.base.places import Path
from kubesched_lint.engine.model.devices.devices import ALL, ALTERNATIVES_OF_A_REQUEST, EXACT_COUNT
from kubesched_lint.engine.model.resources import is_extended

Value = dict[str, Any]
Rule = Callable[[Any, Path], Iterable[Cause]]
_SPEC: Path = ("spec",)
_API_ENTRIES = 32
"""Of requests, selectors, constraints and configurations alike."""
_API_EXPRESSION = _API_PARAMETERS = 10 * 1024
_API_NAME = 32
V1BETA1 = "resource.k8s.io/v1beta1"
"""This version writes the fields of ``exactly`` into the request, and those of a device under ``basic``."""
_OF_EXACTLY = ("deviceClassName", "selectors", "allocationMode", "count", "adminAccess", "tolerations", "capacity")
_IDENTIFIER = "[A-Za-z_][A-Za-z0-9_]*"
_NO_IDENTIFIER = regex_error(
    "a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric characters "
    "or '_'",
    _IDENTIFIER,
    "my_name",
    "MY_NAME",
    "MyName",
)
EFFECTS = ("NoExecute", "NoSchedule", "None")
_ONE_KIND = "exactly one of `exactly` or `firstAvailable` is required"
_ONE_ATTRIBUTE = 'exactly one of "matchAttribute" or "distinctAttribute" is required, but multiple fields are set'
_NO_REQUEST = "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'"


def device_class(value: Value) -> Iterator[Cause]:
    spec = value.get("spec", {})
    yield from object_meta(value.get("metadata", {}), namespaced=False)
    yield from listed(spec.get("selectors", ()), (*_SPEC, "selectors"), _selector)
    yield from listed(spec.get("config", ()), (*_SPEC, "config"), _configuration)
    resource = spec.get("extendedResourceName")
    if resource is not None and not (is_extended(resource) and not list(label_key(f"requests.{resource}"))):
        yield invalid((*_SPEC, "extendedResourceName"), resource, "must be a valid extended resource name")


def claim(value: Value) -> Iterator[Cause]:
    yield from object_meta(value.get("metadata", {}))
    yield from _claim(value, value.get("spec", {}), _SPEC)


def claim_template(value: Value) -> Iterator[Cause]:
    spec = value.get("spec", {})
    yield from object_meta(value.get("metadata", {}))
    yield from template_meta(spec.get("metadata", {}), (*_SPEC, "metadata"))
    yield from _claim(value, spec.get("spec", {}), (*_SPEC, "spec"))


def _claim(value: Value, spec: Value, path: Path) -> Iterator[Cause]:
    devices, at = spec.get("devices", {}), (*path, "devices")
    is_flat = value["apiVersion"] == V1BETA1
    requests = [_stored(request, is_flat) for request in devices.get("requests", ())]
    names = {r.get("name", ""): {s.get("name", "") for s in r.get("firstAvailable", ())} for r in requests}

    def reference(name: str, place: Path) -> Iterator[Cause]:
        yield from _reference(name, place, names)

    def constraint(item: Value, place: Path) -> Iterator[Cause]:
        yield from listed(item.get("requests", ()), (*place, "requests"), reference, key=str)
        yield from _constraint(item, place)

    def configuration(item: Value, place: Path) -> Iterator[Cause]:
        yield from listed(item.get("requests", ()), (*place, "requests"), reference, key=str)
        yield from _configuration(item, place)

    for cause in listed(requests, (*at, "requests"), _request, key=_name):
        yield _as_written(cause) if is_flat else cause
    yield from listed(devices.get("constraints", ()), (*at, "constraints"), constraint)
    yield from listed(devices.get("config", ()), (*at, "config"), configuration)


def _stored(request: Value, is_flat: bool) -> Value:
    """Return a request as the server stores it: with defaults, and in the shape of v1."""
    if is_flat:
        flat = {name: request[name] for name in _OF_EXACTLY if name in request}
        rest = {name: field for name, field in request.items() if name not in flat}
        request = {**rest, "exactly": flat} if any(flat.values()) else rest
    stored = dict(request)
    if "exactly" in stored and (not is_flat or stored["exactly"].get("deviceClassName")):
        stored["exactly"] = _defaulted(stored["exactly"])
    if "firstAvailable" in stored:
        stored["firstAvailable"] = [_defaulted(each) for each in stored["firstAvailable"]]
    return stored


def _defaulted(request: Value) -> Value:
    mode = request.get("allocationMode") or EXACT_COUNT
    count = request.get("count") or (1 if mode == EXACT_COUNT else 0)
    return {**request, "allocationMode": mode, "count": count}


def _as_written(cause: Cause) -> Cause:
    """Return a cause with the position in a request of v1beta1; the server names the field of v1."""
    return replace(cause, path=tuple(step for step in cause.path if step != "exactly"))


# --- requests -------------------------------------------------------------------------------------------------------


def _request(request: Value, path: Path) -> Iterator[Cause]:
    yield from complaints((*path, "name"), _name(request), dns_label(_name(request)))
    alternatives, exactly = request.get("firstAvailable"), request.get("exactly")
    if not alternatives and exactly is None:
        yield required(path, _ONE_KIND)
    elif alternatives and exactly is not None:
        yield invalid(path, None, f"{_ONE_KIND}, but multiple fields are set")
    elif alternatives:
        yield from listed(alternatives, (*path, "firstAvailable"), _alternative, ALTERNATIVES_OF_A_REQUEST, key=_name)
    else:
        yield from _exactly(exactly or {}, (*path, "exactly"))


def _alternative(request: Value, path: Path) -> Iterator[Cause]:
    yield from complaints((*path, "name"), _name(request), dns_label(_name(request)))
    yield from _exactly(request, path)


def _exactly(request: Value, path: Path) -> Iterator[Cause]:
    yield from required_name((*path, "deviceClassName"), request.get("deviceClassName", ""), dns_subdomain)
    yield from listed(request.get("selectors", ()), (*path, "selectors"), _selector)
    mode, count = request.get("allocationMode", ""), request.get("count", 0)
    if mode == ALL and count:
        yield invalid((*path, "count"), count, f"must not be specified when allocationMode is '{ALL}'")
    elif mode == EXACT_COUNT and count <= 0:
        yield invalid((*path, "count"), count, "must be greater than zero")
    elif mode not in (ALL, EXACT_COUNT):
        yield not_supported((*path, "allocationMode"), named(mode), (ALL, EXACT_COUNT))
    for i, toleration in enumerate(request.get("tolerations", ())):
        yield from _toleration(toleration, (*path, "tolerations", i))


def _selector(selector: Value, path: Path) -> Iterator[Cause]:
    at = (*path, "cel")
    if "cel" not in selector:
        yield required(at)
        return
    expression, at = selector["cel"].get("expression", ""), (*at, "expression")
    if size(expression) > _API_EXPRESSION:
        yield too_long(at, _API_EXPRESSION)
    elif why := refusal(expression):
        yield invalid(at, expression, why)


def _toleration(toleration: Value, path: Path) -> Iterator[Cause]:
    if toleration.get("key"):
        yield from label_name(toleration["key"], (*path, "key"))
    operator, value = toleration.get("operator") or "Equal", toleration.get("value", "")
    if operator == "Exists" and value:
        yield invalid((*path, "value"), value, "must be empty for operator `Exists`")
    elif operator == "Equal":
        yield from complaints((*path, "value"), value, label_value(value))
    yield from one_of((*path, "operator"), operator, ("Equal", "Exists"))
    if toleration.get("effect"):
        yield from one_of((*path, "effect"), toleration["effect"], EFFECTS)


# --- constraints and configurations ---------------------------------------------------------------------------------


def _reference(name: str, path: Path, names: Mapping[str, set[str]]) -> Iterator[Cause]:
    first, *others = name.split("/")
    if len(others) > 1:
        yield invalid(path, name, _NO_REQUEST)
        return
    for part in (first, *others):
        yield from complaints(path, part, dns_label(part))
    if first not in names or not names[first].issuperset(others):
        yield invalid(path, name, _NO_REQUEST)


def _constraint(constraint: Value, path: Path) -> Iterator[Cause]:
    field = next((name for name in ("matchAttribute", "distinctAttribute") if name in constraint), None)
    if field is None:
        yield required(path, _ONE_ATTRIBUTE)
        return
    name, at = constraint[field], (*path, field)
    yield from attribute_name(name, at)
    if "/" not in name:
        yield invalid(at, named(name), "a fully qualified name must be a domain and a name separated by a slash")


def attribute_name(name: str, path: Path) -> Iterator[Cause]:
    """Yield what is wrong with the name of an attribute or a capacity (``validateQualifiedName``)."""
    domain, *rest = name.split("/")
    if not rest:
        yield from _identifier(domain, path)
    elif len(rest) == 1:  # upstream takes names with more slashes
        yield from csi_driver(domain, path) if domain else [invalid(path, "", "the domain must not be empty")]
        yield from _identifier(rest[0], path) if rest[0] else [invalid(path, "", "the name must not be empty")]


def _identifier(name: str, path: Path) -> Iterator[Cause]:
    if size(name) > _API_NAME:
        yield too_long(path, _API_NAME)
    if not re.fullmatch(_IDENTIFIER, name):
        yield invalid(path, name, _NO_IDENTIFIER)


def _configuration(value: Value, path: Path) -> Iterator[Cause]:
    at = (*path, "opaque")
    if "opaque" not in value:
        yield required(at)
        return
    opaque = value["opaque"]
    yield from csi_driver(opaque.get("driver", ""), (*at, "driver"))
    parameters, parameters_path = opaque.get("parameters"), (*at, "parameters")
    if parameters is None:
        yield required(parameters_path)
    elif size(as_json(parameters)) > _API_PARAMETERS:
        yield too_long(parameters_path, _API_PARAMETERS)
    elif not isinstance(parameters, dict):
        yield invalid(parameters_path, "<value omitted>", "must be a valid JSON object")


# --- lists ----------------------------------------------------------------------------------------------------------


def _name(value: Value) -> str:
    return str(value.get("name", ""))


def listed(
    entries: Sequence[Any], path: Path, rule: Rule, most: int = _API_ENTRIES, key: Callable[[Any], str] | None = None
) -> Iterator[Cause]:
    """Yield what is wrong with the entries of a list; with ``key``, no two may have the same (``validateSet``)."""
    if len(entries) > most:
        yield too_many(path, len(entries), most)
        return
    for i, entry in enumerate(entries):
        yield from rule(entry, (*path, i))
    if key is not None:
        names = [key(entry) for entry in entries]
        yield from (duplicate((*path, i), name) for i, name in enumerate(names) if name in names[:i])
