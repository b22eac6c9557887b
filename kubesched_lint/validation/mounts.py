"""Where a container mounts its volumes, and its raw block devices.

Mirrors ``ValidateVolumeMounts`` and ``ValidateVolumeDevices`` in ``pkg/apis/core/validation/validation.go`` (v1.36).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kubesched_lint.findings import Path
from kubesched_lint.validation.causes import (
    Cause,
    descending,
    field_of,
    forbidden,
    invalid,
    named,
    not_found,
    not_supported,
    required,
)

Value = dict[str, Any]
_OPTIONS = frozenset(("subPath", "subPathExpr", "mountPropagation", "recursiveReadOnly"))
_PROPAGATIONS = ("Bidirectional", "HostToContainer", "None")
_RECURSIVE = ("Disabled", "Enabled", "IfPossible")


def mounts(container: Value, volumes: Mapping[str, Value], path: Path) -> Iterator[Cause]:
    """``volumes`` are the sound ones; a mount of a volume with a complaint is not found either."""
    block = {device.get("name", ""): device.get("devicePath", "") for device in container.get("volumeDevices", ())}
    points = set()
    for i, mount in enumerate(container["volumeMounts"]):
        here = (*path, i)
        name, point = mount.get("name", ""), mount.get("mountPath", "")
        if not name:
            yield required((*here, "name"))
        if name not in volumes:
            yield not_found((*here, "name"), name)
        if not point:
            yield required((*here, "mountPath"))
        if point in points:
            yield invalid((*here, "mountPath"), point, "must be unique")
        points.add(point)
        if name in block:
            yield invalid((*here, "name"), name, "must not already exist in volumeDevices")
        if point in block.values():
            yield invalid((*here, "mountPath"), point, "must not already exist as a path in volumeDevices")
        if not _OPTIONS.isdisjoint(mount):
            yield from _mount_options(mount, container, here)


def _mount_options(mount: Value, container: Value, path: Path) -> Iterator[Cause]:
    """Upstream names these options as if they stood in the list itself, without an index."""
    listed = field_of(path[:-1])
    sub_path, expression = mount.get("subPath", ""), mount.get("subPathExpr", "")
    if sub_path:
        yield from descending(sub_path, (*path, "subPath"), field=f"{listed}.subPath")
    if expression:
        if sub_path:
            yield invalid((*path, "subPathExpr"), expression, "subPathExpr and subPath are mutually exclusive")
        yield from descending(expression, (*path, "subPathExpr"), field=f"{listed}.subPathExpr")
    if "mountPropagation" in mount:
        at, field = (*path, "mountPropagation"), f"{listed}.mountPropagation"
        propagation = mount["mountPropagation"]
        if propagation not in _PROPAGATIONS:
            yield not_supported(at, named(propagation), _PROPAGATIONS, field=field)
        if propagation == "Bidirectional" and container.get("securityContext", {}).get("privileged") is not True:
            detail = "Bidirectional mount propagation is available only to privileged containers"
            yield forbidden(at, detail, field=field)
    if "recursiveReadOnly" in mount:
        yield from _recursive(mount, (*path, "recursiveReadOnly"), f"{listed}.recursiveReadOnly")


def _recursive(mount: Value, path: Path, field: str) -> Iterator[Cause]:
    wish = mount["recursiveReadOnly"]
    if wish not in _RECURSIVE:
        yield not_supported(path, named(wish), _RECURSIVE, field=field)
    elif wish != "Disabled":
        if not mount.get("readOnly"):
            yield forbidden(path, "may only be specified when readOnly is true", field=field)
        if mount.get("mountPropagation", "None") != "None":
            detail = "may only be specified when mountPropagation is None or not specified"
            yield forbidden(path, detail, field=field)


def devices(container: Value, volumes: Mapping[str, Value], path: Path) -> Iterator[Cause]:
    mounted = {mount.get("name", ""): mount.get("mountPath", "") for mount in container.get("volumeMounts", ())}
    names: set[str] = set()
    points: set[str] = set()
    for i, device in enumerate(container["volumeDevices"]):
        here = (*path, i)
        name, point = device.get("name", ""), device.get("devicePath", "")
        if not name:
            yield required((*here, "name"))
        if name in names:
            yield invalid((*here, "name"), name, "must be unique")
        if name not in volumes:
            yield not_found((*here, "name"), name)
        elif "persistentVolumeClaim" not in volumes[name] and "ephemeral" not in volumes[name]:
            detail = "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode"
            yield invalid((*here, "name"), name, detail)
        if not point:
            yield required((*here, "devicePath"))
        if point in points:
            yield invalid((*here, "devicePath"), point, "must be unique")
        if ".." in point.split("/"):
            yield invalid((*here, "devicePath"), point, "can not contain backsteps ('..')")
        else:
            points.add(point)
        if name in mounted:
            yield invalid((*here, "name"), name, "must not already exist in volumeMounts")
        if point in mounted.values():
            yield invalid((*here, "devicePath"), point, "must not already exist as a path in volumeMounts")
        if name:
            names.add(name)
