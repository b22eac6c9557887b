"""The spec of a PersistentVolumeClaim, also as a template in a StatefulSet or an ephemeral volume.

Mirrors ``ValidatePersistentVolumeClaimSpec`` in ``pkg/apis/core/validation/validation.go`` (v1.36).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from kubesched_lint.engine.apiserver.values.causes import (
    Cause,
    Raw,
    complaints,
    field_of,
    forbidden,
    invalid,
    one_of,
    required,
)
from kubesched_lint.engine.apiserver.values.labels import label_selector
from kubesched_lint.engine.apiserver.values.names import dns_label, dns_subdomain
from kubesched_lint.engine.apiserver.values.quantities import in_resource_list
from kubesched_lint.engine.base.places import Path

Value = dict[str, Any]
_ACCESS_MODES = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
VOLUME_MODES = ("Block", "Filesystem")


def claim_spec(spec: Value, path: Path) -> Iterator[Cause]:
    modes = spec.get("accessModes", ())
    if not modes:
        yield required((*path, "accessModes"), "at least 1 access mode is required")
    yield from label_selector(spec.get("selector"), (*path, "selector"))
    yield from access_modes(modes, (*path, "accessModes"))
    yield from _size(spec.get("resources", {}).get("requests", {}), path)
    yield from _class_name(spec, "storageClassName", path)
    mode = spec.get("volumeMode", "Filesystem")
    yield from one_of((*path, "volumeMode"), mode, VOLUME_MODES)
    yield from _data_source(spec, path)
    yield from _class_name(spec, "volumeAttributesClassName", path)


def access_modes(modes: Sequence[str], path: Path) -> Iterator[Cause]:
    """Yield causes; upstream names the list, not the entry."""
    for mode in modes:
        yield from one_of(path, mode, _ACCESS_MODES)
    if "ReadWriteOncePod" in modes and any(m in _ACCESS_MODES and m != "ReadWriteOncePod" for m in modes):
        yield forbidden(path, "may not use ReadWriteOncePod with other access modes")


def _size(requests: Value, path: Path) -> Iterator[Cause]:
    at, field = (*path, "resources", "requests", "storage"), f"{field_of(path)}.resources[storage]"
    if "storage" not in requests:
        yield required(at, field=field)
        return
    size = in_resource_list(requests["storage"])
    if size.nanos <= 0:
        yield invalid(at, str(size), "must be greater than zero", field=field)


def _class_name(spec: Value, name: str, path: Path) -> Iterator[Cause]:
    if spec.get(name):
        yield from complaints((*path, name), spec[name], dns_subdomain(spec[name]))


def _data_source(spec: Value, path: Path) -> Iterator[Cause]:
    source, reference = spec.get("dataSource"), spec.get("dataSourceRef")
    if source is not None:
        yield from _reference(source, (*path, "dataSource"))
    if reference is not None:
        yield from _reference(reference, (*path, "dataSourceRef"))
        for detail in dns_label(reference["namespace"]) if reference.get("namespace") else ():
            yield invalid((*path, "dataSourceRef", "namespace"), reference["namespace"], detail)
    if source is not None and reference is not None:
        # The bad value upstream is the path itself, which has no fields to marshal.
        if reference.get("namespace"):
            detail = "may not be specified when dataSourceRef.namespace is specified"
            yield invalid((*path, "dataSource"), Raw("{}"), detail, field=field_of(path))
        elif any(source.get(part) != reference.get(part) for part in ("apiGroup", "kind", "name")):
            yield invalid((*path, "dataSource"), Raw("{}"), "must match dataSourceRef", field=field_of(path))


def _reference(reference: Value, path: Path) -> Iterator[Cause]:
    for part in ("name", "kind"):
        if not reference.get(part):
            yield required((*path, part))
    group, kind = reference.get("apiGroup", ""), reference.get("kind", "")
    if not group and kind != "PersistentVolumeClaim":
        yield invalid(path, kind, "must be 'PersistentVolumeClaim' when referencing the default apiGroup")
    for detail in dns_subdomain(group) if group else ():
        yield invalid((*path, "apiGroup"), group, detail)
