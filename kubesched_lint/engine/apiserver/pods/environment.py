"""Environment variables and the references that set them.

Mirrors ``ValidateEnv`` and ``ValidateEnvFrom`` in ``pkg/apis/core/validation/validation.go`` (v1.36).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

from kubesched_lint.engine.apiserver.values.causes import (
    Cause,
    complaints,
    field_of,
    invalid,
    not_supported,
    required,
    required_name,
    without_backsteps,
)
from kubesched_lint.engine.apiserver.values.names import (
    config_key,
    dns_label,
    dns_subdomain,
    environment_name,
    label_key,
    prefix_of,
)
from kubesched_lint.engine.apiserver.values.quantities import quantity
from kubesched_lint.engine.base.places import Path

Value = dict[str, Any]
_ENV_FIELDS = (
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
)
VOLUME_FIELDS = ("metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid")
_CONVERTIBLE = frozenset(
    (*_ENV_FIELDS, *VOLUME_FIELDS, "spec.restartPolicy", "spec.schedulerName", "status.phase", "spec.host")
)
_RESOURCES = (
    "limits.cpu",
    "limits.ephemeral-storage",
    "limits.memory",
    "requests.cpu",
    "requests.ephemeral-storage",
    "requests.memory",
)
_DIVISORS = ("1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei")
_SOURCES = "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`"


def variables(entries: Sequence[Value], path: Path) -> Iterator[Cause]:
    for i, entry in enumerate(entries):
        name = entry.get("name", "")
        if not name:
            yield required((*path, i, "name"))
        elif bad := environment_name(name):
            yield from complaints((*path, i, "name"), name, bad)
        if "valueFrom" in entry:
            yield from _value_from(entry, (*path, i, "valueFrom"))


def _value_from(entry: Value, path: Path) -> Iterator[Cause]:
    source = entry["valueFrom"]
    if "fieldRef" in source:
        yield from field_reference(source["fieldRef"], _ENV_FIELDS, (*path, "fieldRef"))
    if "resourceFieldRef" in source:
        yield from resource_reference(source["resourceFieldRef"], (*path, "resourceFieldRef"), volume=False)
    for kind in ("configMapKeyRef", "secretKeyRef"):
        if kind in source:
            yield from _key_reference(source[kind], (*path, kind))
    if "fileKeyRef" in source:
        yield from _file_reference(source["fileKeyRef"], (*path, "fileKeyRef"))
    if not source:
        yield invalid(path, "", _SOURCES)
    elif entry.get("value"):
        yield invalid(path, "", "may not be specified when `value` is not empty")
    elif len(source) > 1:
        yield invalid(path, "", "may not have more than one field specified at a time")


def field_reference(reference: Value, allowed: Collection[str], path: Path) -> Iterator[Cause]:
    """Yield the causes of ``validateObjectFieldSelector``; ``allowed`` is sorted."""
    version, at = reference.get("apiVersion") or "v1", reference.get("fieldPath", "")
    if not at:
        yield required((*path, "fieldPath"))
        return
    trouble = ""
    base, subscript = subscripted(at)
    if version != "v1":
        trouble = f"unsupported pod version: {version}"
    elif subscript is not None and base not in ("metadata.annotations", "metadata.labels"):
        trouble = f"field label does not support subscript: {at}"
    elif subscript is None and at not in _CONVERTIBLE:
        trouble = f"field label not supported: {at}"
    if trouble:
        yield invalid((*path, "fieldPath"), at, f"error converting fieldPath: {trouble}")
    elif subscript is not None:
        key = subscript.lower() if base == "metadata.annotations" else subscript
        for detail in label_key(key):
            yield invalid((*path, "fieldPath"), key, detail, field=field_of(path))
    elif at not in allowed and not (at == "spec.host" and "spec.nodeName" in allowed):
        yield not_supported((*path, "fieldPath"), "spec.nodeName" if at == "spec.host" else at, allowed)


def subscripted(path: str) -> tuple[str, str | None]:
    """Return the path and the key of ``metadata.labels['app']``; the key is None if there is none."""
    base, opened, key = path.removesuffix("']").partition("['") if path.endswith("']") else (path, "", "")
    return (base, key) if opened and base else (path, None)


def resource_reference(reference: Value, path: Path, *, volume: bool) -> Iterator[Cause]:
    name = reference.get("resource", "")
    if volume and not reference.get("containerName"):
        yield required((*path, "containerName"))
    elif not name:
        yield required((*path, "resource"))
    elif name not in _RESOURCES and not name.startswith(("requests.hugepages-", "limits.hugepages-")):
        yield not_supported((*path, "resource"), name, _RESOURCES)
    divisor = quantity(reference.get("divisor", "0"))
    if divisor.nanos:
        yield from _divisor(name, str(divisor), (*path, "divisor"))


def _divisor(name: str, divisor: str, path: Path) -> Iterator[Cause]:
    if name in ("limits.cpu", "requests.cpu"):
        if divisor not in ("1m", "1"):
            yield invalid(path, name, "only divisor's values 1m and 1 are supported with the cpu resource")
        return
    kind = name.partition(".")[2]
    known = {"memory": "memory", "ephemeral-storage": "local ephemeral storage"}.get(kind)
    if kind.startswith("hugepages-"):
        known = "hugepages"
    if known and divisor not in _DIVISORS:
        detail = f"only divisor's values {', '.join(_DIVISORS)} are supported with the {known} resource"
        yield invalid(path, name, detail)


def _key_reference(reference: Value, path: Path) -> Iterator[Cause]:
    """Yield the causes of a reference to a key of a ConfigMap or a Secret; an empty name is not a subdomain either."""
    name, key = reference.get("name", ""), reference.get("key", "")
    if bad := dns_subdomain(name):
        yield from complaints((*path, "name"), name, bad)
    if not key or config_key(key):
        yield from required_name((*path, "key"), key, config_key)


def _file_reference(reference: Value, path: Path) -> Iterator[Cause]:
    key, volume, file = reference.get("key", ""), reference.get("volumeName", ""), reference.get("path", "")
    yield from required_name((*path, "key"), key, environment_name)
    yield from required_name((*path, "volumeName"), volume, dns_label)
    if not file:
        yield required((*path, "path"))
    else:
        yield from without_backsteps(file, (*path, "path"))


def sources(entries: Sequence[Value], path: Path) -> Iterator[Cause]:
    """Yield the causes of ``envFrom``; upstream names the list if an entry has no source or two."""
    for i, entry in enumerate(entries):
        prefix = entry.get("prefix", "")
        for detail in environment_name(prefix) if prefix else ():
            yield invalid((*path, i, "prefix"), prefix, detail)
        kinds = [kind for kind in ("configMapRef", "secretRef") if kind in entry]
        for kind in kinds:
            name = entry[kind].get("name", "")
            yield from required_name((*path, i, kind, "name"), name, prefix_of(dns_subdomain))
        if not kinds:
            yield invalid((*path, i), "", "must specify one of: `configMapRef` or `secretRef`", field=field_of(path))
        elif len(kinds) > 1:
            detail = "may not have more than one field specified at a time"
            yield invalid((*path, i), "", detail, field=field_of(path))
