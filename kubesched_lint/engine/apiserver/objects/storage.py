"""PersistentVolumeClaims, PersistentVolumes and StorageClasses.

Mirrors ``pkg/apis/core/validation/validation.go`` and ``pkg/apis/storage/validation/validation.go`` (v1.36).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from kubesched_lint.engine.apiserver.pods.affinity import node_selector
from kubesched_lint.engine.apiserver.pods.claims import VOLUME_MODES, access_modes, claim_spec
from kubesched_lint.engine.apiserver.pods.sources import csi_driver, known_source, more_than_one
from kubesched_lint.engine.apiserver.values.causes import (
    Cause,
    MapKey,
    duplicate,
    field_of,
    forbidden,
    invalid,
    named,
    not_supported,
    one_of,
    required,
    required_name,
    too_long,
    without_backsteps,
)
from kubesched_lint.engine.apiserver.values.labels import label_name
from kubesched_lint.engine.apiserver.values.metadata import object_meta
from kubesched_lint.engine.apiserver.values.names import dns_label, dns_subdomain, qualified_name, size
from kubesched_lint.engine.apiserver.values.quantities import in_resource_list
from kubesched_lint.engine.base.places import Path

Value = dict[str, Any]
_SPEC: Path = ("spec",)
_SOURCES = (
    "hostPath",
    "gcePersistentDisk",
    "awsElasticBlockStore",
    "glusterfs",
    "flocker",
    "nfs",
    "rbd",
    "quobyte",
    "cephfs",
    "iscsi",
    "cinder",
    "fc",
    "flexVolume",
    "azureFile",
    "vsphereVolume",
    "photonPersistentDisk",
    "portworxVolume",
    "azureDisk",
    "scaleIO",
    "local",
    "storageos",
    "csi",
)
_CSI_SECRETS = (
    "controllerPublishSecretRef",
    "controllerExpandSecretRef",
    "nodePublishSecretRef",
    "nodeExpandSecretRef",
)
_PARAMETERS, _PARAMETERS_SIZE = 512, 256 * 1024


def claim(value: Value) -> Iterator[Cause]:
    spec = value.get("spec", {})
    source = spec.get("dataSource", {})
    kinds = {("", "PersistentVolumeClaim"), ("snapshot.storage.k8s.io", "VolumeSnapshot")}
    if source and (source.get("apiGroup", ""), source.get("kind", "")) not in kinds:
        # EnforceDataSourceBackwardsCompatibility drops it on creation.
        spec = {key: field for key, field in spec.items() if key != "dataSource"}
    yield from object_meta(value.get("metadata", {}))
    yield from claim_spec(spec, _SPEC)


def volume(value: Value) -> Iterator[Cause]:
    meta, spec = value.get("metadata", {}), value.get("spec", {})
    yield from object_meta(meta, namespaced=False)
    modes = spec.get("accessModes", ())
    if not modes:
        yield required((*_SPEC, "accessModes"))
    yield from access_modes(modes, (*_SPEC, "accessModes"))
    yield from _capacity(spec.get("capacity", {}))
    policy, policies = spec.get("persistentVolumeReclaimPolicy") or "Retain", ("Delete", "Recycle", "Retain")
    yield from one_of((*_SPEC, "persistentVolumeReclaimPolicy"), policy, policies)
    if "nodeAffinity" in spec:
        yield from _node_affinity(spec["nodeAffinity"], (*_SPEC, "nodeAffinity"))
    yield from _sources(spec, meta.get("name", ""))
    if policy == "Recycle" and _is_root(spec.get("hostPath", {}).get("path", "")):
        detail = "may not be 'recycle' for a hostPath mount of '/'"
        yield forbidden((*_SPEC, "persistentVolumeReclaimPolicy"), detail)
    for name in ("storageClassName", "volumeAttributesClassName"):
        for detail in dns_subdomain(spec[name]) if spec.get(name) else ():
            yield invalid((*_SPEC, name), spec[name], detail)
    mode = spec.get("volumeMode", "Filesystem")
    yield from one_of((*_SPEC, "volumeMode"), mode, VOLUME_MODES)
    if "volumeAttributesClassName" in spec:
        if not spec["volumeAttributesClassName"]:
            yield required((*_SPEC, "volumeAttributesClassName"), "an empty string is disallowed")
        if "csi" not in spec:
            yield required((*_SPEC, "csi"), "has to be specified when using volumeAttributesClassName")


def _is_root(path: str) -> bool:
    return path.startswith("/") and not path.strip("/.")


def _capacity(capacity: Value) -> Iterator[Cause]:
    at = (*_SPEC, "capacity")
    if not capacity:
        yield required(at)
    if "storage" not in capacity or len(capacity) > 1:
        shown = {name: str(in_resource_list(amount)) for name, amount in sorted(capacity.items())}
        yield not_supported(at, shown or None, ("storage",))
    for name, amount in capacity.items():
        rounded, capacity_path = in_resource_list(amount), (*at, MapKey(name))
        if rounded.value < 0:
            yield invalid(capacity_path, rounded.value, "must be a valid resource quantity")
        if rounded.nanos <= 0:
            yield invalid(capacity_path, str(rounded), "must be greater than zero")


def _node_affinity(value: Value, path: Path) -> Iterator[Cause]:
    if "required" in value:
        yield from node_selector(value["required"], (*path, "required"))
    else:
        yield required((*path, "required"), "must specify required node constraints")


def _sources(spec: Value, name: str) -> Iterator[Cause]:
    kinds = [kind for kind in _SOURCES if kind in spec]
    if not kinds:
        yield required(_SPEC, "must specify a volume type")
        return
    yield from _source(kinds[0], spec, name)
    for kind in kinds[1:]:
        yield more_than_one(kind, _SPEC)


def _source(kind: str, spec: Value, name: str) -> Iterator[Cause]:
    source, path = spec[kind], (*_SPEC, kind)
    if kind == "local":
        yield from _local(source, spec, path)
    elif kind == "csi":
        yield from _csi(source, path)
    else:
        yield from known_source(kind, source, path, name)
    secret = source.get("secretRef", {})
    if kind in ("cinder", "storageos") and secret and not secret.get("namespace"):
        yield required((*path, "secretRef", "namespace"))
    if kind == "azureFile" and source.get("secretNamespace") == "":
        yield required((*path, "secretNamespace"))


def _local(source: Value, spec: Value, path: Path) -> Iterator[Cause]:
    if not source.get("path"):
        yield required((*path, "path"))
    else:
        yield from without_backsteps(source["path"], (*path, "path"))
    if "nodeAffinity" not in spec:
        yield required((*_SPEC, "nodeAffinity"), "Local volume requires node affinity")


def _csi(source: Value, path: Path) -> Iterator[Cause]:
    yield from csi_driver(source.get("driver", ""), (*path, "driver"))
    if not source.get("volumeHandle"):
        yield required((*path, "volumeHandle"))
    for name in _CSI_SECRETS:
        if name not in source:
            continue
        for part, rule in (("name", dns_subdomain), ("namespace", dns_label)):
            text, at = source[name].get(part, ""), (*path, name, part)
            yield from required_name(at, text, rule)


def storage_class(value: Value) -> Iterator[Cause]:
    yield from object_meta(value.get("metadata", {}), namespaced=False)
    provisioner = value.get("provisioner", "")
    if not provisioner:
        yield required(("provisioner",))
    for detail in qualified_name(provisioner.lower()) if provisioner else ():
        yield invalid(("provisioner",), provisioner.lower(), detail)
    yield from _parameters(value.get("parameters", {}))
    policy = value.get("reclaimPolicy", "Delete")
    if policy and policy not in ("Delete", "Retain"):
        yield not_supported(("reclaimPolicy",), named(policy), ("Delete", "Retain"))
    mode, modes = value.get("volumeBindingMode", "Immediate"), ("Immediate", "WaitForFirstConsumer")
    yield from one_of(("volumeBindingMode",), mode, modes)
    yield from _topologies(value.get("allowedTopologies", ()))


def _parameters(parameters: Value) -> Iterator[Cause]:
    path: Path = ("parameters",)
    if len(parameters) > _PARAMETERS:
        yield too_long(path, _PARAMETERS)
        return
    if "" in parameters:
        yield invalid(path, "", "field can not be empty.")
    if sum(size(key) + size(text) for key, text in parameters.items()) > _PARAMETERS_SIZE:
        yield too_long(path, _PARAMETERS_SIZE)


def _topologies(terms: Sequence[Value]) -> Iterator[Cause]:
    seen: list[dict[str, frozenset[str]]] = []
    for i, term in enumerate(terms):
        term_path: Path = ("allowedTopologies", i, "matchLabelExpressions")
        values_of_key: dict[str, frozenset[str]] = {}
        for j, requirement in enumerate(term.get("matchLabelExpressions", ())):
            key, values = requirement.get("key", ""), requirement.get("values", ())
            if not values:
                yield required((*term_path, j, "values"))
            for k, text in enumerate(values):
                if text in values[:k]:
                    yield duplicate((*term_path, j, "values", k), text)
            yield from label_name(key, (*term_path, j, "key"))
            if key in values_of_key:
                yield duplicate((*term_path, j, "key"), key)
            values_of_key[key] = frozenset(values)
        for _ in (other for other in seen if other == values_of_key):
            yield duplicate(term_path, "", field=field_of(term_path))
        seen.append(values_of_key)
