"""Volume sources: at most one per volume, each with its own required fields.

Mirrors ``validateVolumeSource`` and the sources' checks in ``pkg/apis/core/validation/validation.go`` (v1.36). A table
lists the required fields; other checks are functions.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from kubesched_lint.engine.apiserver.values.causes import (
    Cause,
    complaints,
    descending,
    descending_and_free,
    field_of,
    forbidden,
    invalid,
    not_supported,
    one_of,
    required,
    too_long,
    without_backsteps,
)
from kubesched_lint.engine.apiserver.values.names import dns_label, dns_subdomain, in_range
from kubesched_lint.engine.base.places import Path

Value = dict[str, Any]
Check = Callable[[Value, Path, str], Iterator[Cause]]
_MODE = "must be a number between 0 and 0777 (octal), both inclusive"
_HOST_PATH_TYPES = (
    "",
    "BlockDevice",
    "CharDevice",
    "Directory",
    "DirectoryOrCreate",
    "File",
    "FileOrCreate",
    "Socket",
)
_ISCSI = {
    "iqn": r"iqn\.\d{4}-\d{2}\.([a-zA-Z0-9.-]+)(:[^,;*&$|\s]+)$",
    "eui": r"^eui.[a-zA-Z0-9]{16}$",
    "naa": r"^naa.[a-zA-Z0-9]{32}$",
}
_HOST_PORT = "must be a host:port pair or multiple pairs separated by commas"
_AZURE_MANAGED = "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}"
_AZURE_BLOB = "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd"

_NEEDED = {
    "azureFile": ("secretName", "shareName"),
    "cephfs": ("monitors",),
    "cinder": ("volumeID",),
    "persistentVolumeClaim": ("claimName",),
    "photonPersistentDisk": ("pdID",),
    "portworxVolume": ("volumeID",),
    "rbd": ("monitors", "image"),
    "scaleIO": ("gateway", "system", "volumeName"),
    "vsphereVolume": ("volumePath",),
}
"""Source → its required fields."""
_SECRET_NAME_NEEDED = frozenset(("cinder", "storageos"))


def known_source(kind: str, value: Value, path: Path, volume: str = "") -> Iterator[Cause]:
    """Yield the causes of one source; ``path`` ends with the source's field name, ``volume`` is the volume's name."""
    for name in _NEEDED.get(kind, ()):
        if not value.get(name):
            yield required((*path, name))
    check = _CHECKS.get(kind)
    if check is not None:
        yield from check(value, path, volume)
    if kind in _SECRET_NAME_NEEDED and "secretRef" in value and not value["secretRef"].get("name"):
        yield required((*path, "secretRef", "name"))


def _host_path(value: Value, path: Path, volume: str) -> Iterator[Cause]:
    at = value.get("path", "")
    if not at:
        yield required((*path, "path"))
        return
    yield from without_backsteps(at, (*path, "path"))
    kind = value.get("type", "")
    yield from one_of((*path, "type"), kind, _HOST_PATH_TYPES)


def _git_repo(value: Value, path: Path, volume: str) -> Iterator[Cause]:
    if not value.get("repository"):
        yield required((*path, "repository"))
    yield from descending(value.get("directory", ""), (*path, "directory"))


def _disk(identity: str) -> Check:
    def check(value: Value, path: Path, volume: str) -> Iterator[Cause]:
        # Upstream names both kinds of disk persistentDisk in the field.
        field = f"{field_of(path[:-1])}.persistentDisk"
        if not value.get(identity):
            yield required((*path, identity), field=f"{field}.{identity}")
        partition = value.get("partition", 0)
        if not 0 <= partition <= 255:
            yield invalid((*path, "partition"), partition, in_range(1, 255), field=f"{field}.partition")

    return check


def _secret(value: Value, path: Path, volume: str) -> Iterator[Cause]:
    if not value.get("secretName"):
        yield required((*path, "secretName"))
    yield from _files(value, path)


def _config_map(value: Value, path: Path, volume: str) -> Iterator[Cause]:
    if not value.get("name"):
        yield required((*path, "name"))
    yield from _files(value, path)


def _files(value: Value, path: Path) -> Iterator[Cause]:
    if "defaultMode" in value:
        yield from mode(value, "defaultMode", path)
    for i, item in enumerate(value.get("items", ())):
        yield from key_to_path(item, (*path, "items", i))


def mode(value: Value, name: str, path: Path, *, field: str | None = None) -> Iterator[Cause]:
    if not 0 <= value.get(name, 0) <= 0o777:
        yield invalid((*path, name), value[name], _MODE, field=f"{field}.{name}" if field else None)


def key_to_path(item: Value, path: Path) -> Iterator[Cause]:
    if not item.get("key"):
        yield required((*path, "key"))
    target = item.get("path", "")
    if not target:
        yield required((*path, "path"))
    yield from descending_and_free(target, (*path, "path"))
    yield from mode(item, "mode", path)


def _nfs(value: Value, path: Path, volume: str) -> Iterator[Cause]:
    for name in ("server", "path"):
        if not value.get(name):
            yield required((*path, name))
    if not value.get("path", "").startswith("/"):
        yield invalid((*path, "path"), value.get("path", ""), "must be an absolute path")


def _iscsi(value: Value, path: Path, volume: str) -> Iterator[Cause]:
    for name in ("targetPortal", "iqn"):
        if not value.get(name):
            yield required((*path, name))
    if value.get("iqn"):
        yield from _iscsi_name(value["iqn"], (*path, "iqn"), None)
    lun = value.get("lun", 0)
    if not 0 <= lun <= 255:
        yield invalid((*path, "lun"), lun, in_range(0, 255))
    if (value.get("chapAuthDiscovery") or value.get("chapAuthSession")) and "secretRef" not in value:
        yield required((*path, "secretRef"))
    if "initiatorName" in value:
        yield from _iscsi_name(value["initiatorName"], (*path, "initiatorName"), f"{field_of(path)}.initiatorname")


def _iscsi_name(name: str, path: Path, field: str | None) -> Iterator[Cause]:
    pattern = _ISCSI.get(name[:3])
    if pattern is None:
        yield invalid(path, name, "must be valid format starting with iqn, eui, or naa", field=field)
    elif not re.search(pattern, name):
        yield invalid(path, name, "must be valid format", field=field)


def _glusterfs(value: Value, path: Path, volume: str) -> Iterator[Cause]:
    for name in ("endpoints", "path"):
        if not value.get(name):
            yield required((*path, name))
    if "endpointsNamespace" in value:
        name = value["endpointsNamespace"]
        empty = ("if the endpointnamespace is set, it must be a valid namespace name",)
        for detail in dns_label(name) if name else empty:
            yield invalid((*path, "endpointsNamespace"), name, detail)


def _flocker(value: Value, path: Path, volume: str) -> Iterator[Cause]:
    name, identity = value.get("datasetName", ""), value.get("datasetUUID", "")
    if not name and not identity:
        yield required(path, "one of datasetName and datasetUUID is required")
    if name and identity:
        yield invalid(path, "resource", "datasetName and datasetUUID can not be specified simultaneously")
    if "/" in name:
        yield invalid((*path, "datasetName"), name, "must not contain '/'")


def _quobyte(value: Value, path: Path, volume: str) -> Iterator[Cause]:
    registry = value.get("registry", "")
    if not registry:
        yield required((*path, "registry"), _HOST_PORT)
    elif len(value.get("tenant", "")) >= 65:
        yield required((*path, "tenant"), "must be a UUID and may not exceed a length of 64 characters")
    else:
        for pair in registry.split(","):
            if not re.fullmatch(r"(\[[^\]]*\]|[^:\[\]]*):[^:\[\]]*", pair):
                yield invalid((*path, "registry"), registry, _HOST_PORT)
    if not value.get("volume"):
        yield required((*path, "volume"))


def _fibre_channel(value: Value, path: Path, volume: str) -> Iterator[Cause]:
    names: Sequence[str] = value.get("targetWWNs", ())
    at = (*path, "targetWWNs")
    if not names and not value.get("wwids"):
        yield required(at, "must specify either targetWWNs or wwids, but not both")
    if names and value.get("wwids"):
        yield invalid(at, list(names), "targetWWNs and wwids can not be specified simultaneously")
    if names and "lun" not in value:
        yield required((*path, "lun"), "lun is required if targetWWNs is specified")
    elif names and not 0 <= value["lun"] <= 255:
        yield invalid((*path, "lun"), value["lun"], in_range(0, 255))


def _flex_volume(value: Value, path: Path, volume: str) -> Iterator[Cause]:
    if not value.get("driver"):
        yield required((*path, "driver"))
    for key in value.get("options", ()):
        namespace = f".{key.partition('/')[0].lower()}"
        if namespace.endswith((".kubernetes.io", ".k8s.io")):
            detail = "kubernetes.io and k8s.io namespaces are reserved"
            yield invalid((*path, "options", key), key, detail, field=f"{field_of(path)}.options[{key}]")


def _azure_disk(value: Value, path: Path, volume: str) -> Iterator[Cause]:
    for name in ("diskName", "diskURI"):
        if not value.get(name):
            yield required((*path, name))
    caching, kind, uri = value.get("cachingMode", "ReadWrite"), value.get("kind", "Shared"), value.get("diskURI", "")
    yield from one_of((*path, "cachingMode"), caching, ("None", "ReadOnly", "ReadWrite"))
    yield from one_of((*path, "kind"), kind, ("Dedicated", "Managed", "Shared"))
    if kind == "Managed" and not uri.startswith("/subscriptions/"):
        yield not_supported((*path, "diskURI"), uri, (_AZURE_MANAGED,))
    if kind != "Managed" and not uri.startswith("https://"):
        yield not_supported((*path, "diskURI"), uri, (_AZURE_BLOB,))


def _storage_os(value: Value, path: Path, volume: str) -> Iterator[Cause]:
    if not value.get("volumeName"):
        yield required((*path, "volumeName"))
    for part in ("volumeName", "volumeNamespace"):
        for detail in dns_label(value[part]) if value.get(part) else ():
            yield invalid((*path, part), value[part], detail)


def csi_driver(name: str, path: Path) -> Iterator[Cause]:
    if not name:
        yield required(path)
        return
    if len(name) > 63:
        yield too_long(path, 63)
    yield from complaints(path, name, dns_subdomain(name.lower()))


def _csi(value: Value, path: Path, volume: str) -> Iterator[Cause]:
    yield from csi_driver(value.get("driver", ""), (*path, "driver"))
    if "nodePublishSecretRef" in value:
        at = (*path, "nodePublishSecretRef", "name")
        name = value["nodePublishSecretRef"].get("name", "")
        if not name:
            yield required(at)
        for detail in dns_subdomain(name) if name else ():
            yield invalid(at, name, detail, field=f"{field_of(path)}.name")


def _image(value: Value, path: Path, volume: str) -> Iterator[Cause]:
    policy = value.get("pullPolicy") or "IfNotPresent"
    yield from one_of((*path, "pullPolicy"), policy, ("Always", "IfNotPresent", "Never"))


_CHECKS: dict[str, Check] = {
    "awsElasticBlockStore": _disk("volumeID"),
    "azureDisk": _azure_disk,
    "configMap": _config_map,
    "csi": _csi,
    "fc": _fibre_channel,
    "flexVolume": _flex_volume,
    "flocker": _flocker,
    "gcePersistentDisk": _disk("pdName"),
    "gitRepo": _git_repo,
    "glusterfs": _glusterfs,
    "hostPath": _host_path,
    "image": _image,
    "iscsi": _iscsi,
    "nfs": _nfs,
    "quobyte": _quobyte,
    "secret": _secret,
    "storageos": _storage_os,
}


def more_than_one(kind: str, path: Path) -> Cause:
    # Two spellings of upstream: cephFS for cephfs, and downwarAPI.
    written = {"cephfs": "cephFS", "downwardAPI": "downwarAPI"}.get(kind, kind)
    detail = "may not specify more than 1 volume type"
    return forbidden((*path, kind), detail, field=f"{field_of(path)}.{written}")
