"""A pod's volumes: their names, their sources, and the projection of several sources into one.

Mirrors ``ValidateVolumes``, ``validateProjectionSources`` and ``validateDownwardAPIVolumeFile`` in
``pkg/apis/core/validation/validation.go`` (v1.36). Cluster trust bundles and pod certificates are behind gates that are
off by default: such a source is dropped before validation, so it is not checked.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from kubesched_lint.engine.apiserver.pods.claims import claim_spec
from kubesched_lint.engine.apiserver.pods.environment import VOLUME_FIELDS, field_reference, resource_reference
from kubesched_lint.engine.apiserver.pods.sources import key_to_path, known_source, mode, more_than_one
from kubesched_lint.engine.apiserver.values.causes import (
    Cause,
    complaints,
    descending_and_free,
    duplicate,
    field_of,
    forbidden,
    invalid,
    required,
)
from kubesched_lint.engine.apiserver.values.metadata import template_meta
from kubesched_lint.engine.apiserver.values.names import dns_label, dns_subdomain
from kubesched_lint.engine.apiserver.values.quantities import quantity
from kubesched_lint.engine.base.places import Path

Value = dict[str, Any]
_ORDER = (
    "emptyDir",
    "hostPath",
    "gitRepo",
    "gcePersistentDisk",
    "awsElasticBlockStore",
    "secret",
    "nfs",
    "iscsi",
    "glusterfs",
    "flocker",
    "persistentVolumeClaim",
    "rbd",
    "cinder",
    "cephfs",
    "quobyte",
    "downwardAPI",
    "fc",
    "flexVolume",
    "configMap",
    "azureFile",
    "vsphereVolume",
    "photonPersistentDisk",
    "portworxVolume",
    "azureDisk",
    "storageos",
    "projected",
    "scaleIO",
    "csi",
    "ephemeral",
    "image",
)
"""The order in which upstream checks the sources: the first one is the volume's, any other is an error."""
_TEN_MINUTES = 600


def volumes(entries: Sequence[Value], pod_name: str, sound: dict[str, Value], path: Path) -> Iterator[Cause]:
    """Yield the causes of ``ValidateVolumes``; add the valid volumes to ``sound``.

    ``pod_name`` is empty in a template.
    """
    created = {f"{pod_name}-{entry.get('name', '')}" for entry in entries if pod_name and "ephemeral" in entry}
    for i, entry in enumerate(entries):
        volume_path = (*path, i)
        name = entry.get("name", "")
        bad = tuple(_volume(entry, name, pod_name, volume_path))
        if name in sound:
            bad = (*bad, duplicate((*volume_path, "name"), name))
        if not bad:
            sound[name] = entry
        yield from bad
        claim = entry.get("persistentVolumeClaim", {}).get("claimName", "")
        if claim in created:
            detail = "must not reference a PVC that gets created for an ephemeral volume"
            yield invalid((*volume_path, "persistentVolumeClaim", "claimName"), claim, detail)


def _volume(entry: Value, name: str, pod_name: str, path: Path) -> Iterator[Cause]:
    kinds = [kind for kind in entry if kind != "name"]
    if len(kinds) > 1:
        kinds.sort(key=_ORDER.index)
    # No source at all is valid: SetDefaults_Volume makes it an emptyDir.
    for kind in kinds[:1]:
        yield from _source(kind, entry[kind], name, pod_name, path)
    for kind in kinds[1:]:
        yield more_than_one(kind, path)
    if not name:
        yield required((*path, "name"))
    elif bad := dns_label(name):
        yield from complaints((*path, "name"), name, bad)


def _source(kind: str, source: Value, name: str, pod_name: str, path: Path) -> Iterator[Cause]:
    source_path = (*path, kind)
    match kind:
        case "emptyDir":
            if "sizeLimit" in source and quantity(source["sizeLimit"]).nanos < 0:
                yield forbidden((*source_path, "sizeLimit"), "SizeLimit field must be a valid resource quantity")
        case "downwardAPI":
            yield from mode(source, "defaultMode", source_path)
            for i, file in enumerate(source.get("items", ())):
                yield from _downward_file(file, (*source_path, "items", i), field_of(source_path))
        case "projected":
            yield from mode(source, "defaultMode", source_path)
            yield from _projections(source.get("sources", ()), source_path)
        case "ephemeral":
            yield from _ephemeral(source, name, pod_name, path)
        case "image":
            if pod_name and not source.get("reference"):
                yield required((*source_path, "reference"))
            yield from known_source(kind, source, source_path, name)
        case _:
            yield from known_source(kind, source, source_path, name)
            if kind == "iscsi" and "initiatorName" in source and len(f"{name}:{source.get('targetPortal', '')}") > 64:
                total = "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters"
                yield invalid((*path, "name"), name, f"{total} if iscsi.initiatorName is specified.")


def _ephemeral(source: Value, name: str, pod_name: str, path: Path) -> Iterator[Cause]:
    template_path: Path = (*path, "ephemeral", "volumeClaimTemplate")
    if "volumeClaimTemplate" not in source:
        yield required(template_path)
    else:
        template = source["volumeClaimTemplate"]
        yield from template_meta(template.get("metadata", {}), (*template_path, "metadata"))
        yield from claim_spec(template.get("spec", {}), (*template_path, "spec"))
    if pod_name and name:
        claim = f"{pod_name}-{name}"
        for detail in dns_subdomain(claim):
            yield invalid((*path, "name"), name, f'PVC name "{claim}": {detail}')


def _downward_file(file: Value, path: Path, field: str) -> Iterator[Cause]:
    """Yield causes; ``field`` is the volume's: upstream names the parts of a file without the file's index."""
    target = file.get("path", "")
    if not target:
        yield required((*path, "path"), field=f"{field}.path")
    yield from descending_and_free(target, (*path, "path"), field=f"{field}.path")
    if "fieldRef" in file:
        for cause in field_reference(file["fieldRef"], VOLUME_FIELDS, (*path, "fieldRef")):
            yield _moved(cause, path, field)
        if "resourceFieldRef" in file:
            yield invalid(
                path, "resource", "fieldRef and resourceFieldRef can not be specified simultaneously", field=field
            )
    elif "resourceFieldRef" in file:
        for cause in resource_reference(file["resourceFieldRef"], (*path, "resourceFieldRef"), volume=True):
            yield _moved(cause, path, field)
    else:
        yield required(path, "one of fieldRef and resourceFieldRef is required", field=field)
    yield from mode(file, "mode", path, field=field)


def _moved(cause: Cause, path: Path, field: str) -> Cause:
    return Cause(field + cause.field.removeprefix(field_of(path)), cause.reason, cause.message, cause.path)


def _projections(projections: Sequence[Value], path: Path) -> Iterator[Cause]:
    taken: set[str] = set()
    for i, projection in enumerate(projections):
        projection_path = (*path, "sources", i)
        for kind in ("secret", "configMap"):
            if kind in projection:
                yield from _projected_keys(projection[kind], taken, (*projection_path, kind), path)
        if "downwardAPI" in projection:
            for j, file in enumerate(projection["downwardAPI"].get("items", ())):
                at = (*projection_path, "downwardAPI", "items", j)
                yield from _downward_file(file, at, field_of((*projection_path, "downwardAPI")))
                yield from _unique_path(file.get("path", ""), file.get("path", ""), taken, at, path)
        if "serviceAccountToken" in projection:
            yield from _token(projection["serviceAccountToken"], (*projection_path, "serviceAccountToken"), path)
        if len(projection) > 1:
            yield forbidden(projection_path, "may not specify more than 1 volume type per source")


def _projected_keys(source: Value, taken: set[str], path: Path, volume: Path) -> Iterator[Cause]:
    name = source.get("name", "")
    if not name:
        yield required((*path, "name"))
    for i, item in enumerate(source.get("items", ())):
        yield from key_to_path(item, (*path, "items", i))
        yield from _unique_path(item.get("path", ""), name, taken, (*path, "items", i), volume)


def _unique_path(target: str, shown: str, taken: set[str], path: Path, volume: Path) -> Iterator[Cause]:
    if target in taken:
        yield invalid((*path, "path"), shown, "conflicting duplicate paths", field=field_of(volume))
    elif target:
        taken.add(target)


def _token(token: Value, path: Path, volume: Path) -> Iterator[Cause]:
    seconds = token.get("expirationSeconds", 3600)
    if seconds < _TEN_MINUTES:
        yield invalid((*path, "expirationSeconds"), seconds, "may not specify a duration less than 10 minutes")
    if seconds > 1 << 32:
        yield invalid((*path, "expirationSeconds"), seconds, "may not specify a duration larger than 2^32 seconds")
    target, field = token.get("path", ""), f"{field_of(volume)}.path"
    if not target:
        yield required((*path, "path"), field=field)
    else:
        yield from descending_and_free(target, (*path, "path"), field=field)
