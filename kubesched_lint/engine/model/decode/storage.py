"""Decode storage objects from plain values, with the API server's defaults."""

from __future__ import annotations

from kubesched_lint.engine.base.places import Path, Source
from kubesched_lint.engine.model.decode.fields import (
    DecodeError,
    Value,
    boolean,
    integer,
    items,
    labels,
    mapping,
    optional_mapping,
    resources,
    selector,
    text,
    texts,
    words,
)
from kubesched_lint.engine.model.decode.pods import node_terms
from kubesched_lint.engine.model.quantity import QuantityError
from kubesched_lint.engine.model.quantity import value as whole
from kubesched_lint.engine.model.storage import (
    Claim,
    CSIDriver,
    CSINode,
    PersistentVolume,
    StorageCapacity,
    StorageClass,
    VolumeAttachment,
)

_DEFAULT_CLASS = ("storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class")
_CLASS_ANNOTATION = "volume.beta.kubernetes.io/storage-class"
_NOT_A_SOURCE = frozenset(
    [
        "accessModes",
        "capacity",
        "claimRef",
        "mountOptions",
        "nodeAffinity",
        "persistentVolumeReclaimPolicy",
        "storageClassName",
        "volumeAttributesClassName",
        "volumeMode",
    ]
)


def decode_claim(value: Value, namespace: str, source: Source | None = None, path: Path = ()) -> Claim:
    """Return a PersistentVolumeClaim, or a claim template of a StatefulSet at ``path``. Raises DecodeError."""
    at = (*path, "metadata")
    meta, spec = mapping(value, "metadata", path), mapping(value, "spec", path)
    spec_path = (*path, "spec")
    annotations = labels(meta, "annotations", at)
    storage_class = annotations.get(_CLASS_ANNOTATION)
    if storage_class is None and spec.get("storageClassName") is not None:
        storage_class = text(spec, "storageClassName", spec_path)
    wanted = resources(mapping(spec, "resources", spec_path), "requests", (*spec_path, "resources"))
    return Claim(
        namespace=text(meta, "namespace", at) or namespace,
        name=text(meta, "name", at),
        storage_class=storage_class,
        volume_name=text(spec, "volumeName", spec_path),
        request=wanted.get("storage", 0),
        access_modes=texts(spec, "accessModes", spec_path),
        volume_mode=text(spec, "volumeMode", spec_path) or "Filesystem",
        selector=selector(spec, "selector", spec_path),
        phase=text(mapping(value, "status", path), "phase", (*path, "status")),
        annotations=annotations,
        deleting=meta.get("deletionTimestamp") is not None,
        uid=text(meta, "uid", at),
        path=path,
        source=source,
    )


def decode_volume(value: Value, source: Source | None = None) -> PersistentVolume:
    """Return a PersistentVolume. Raises DecodeError."""
    at, spec_path = ("metadata",), ("spec",)
    meta, spec = mapping(value, "metadata", ()), mapping(value, "spec", ())
    claim = optional_mapping(spec, "claimRef", spec_path)
    claim_at = (*spec_path, "claimRef")
    annotations = labels(meta, "annotations", at)
    csi = mapping(spec, "csi", spec_path)
    affinity = mapping(spec, "nodeAffinity", spec_path)
    return PersistentVolume(
        name=text(meta, "name", at),
        storage_class=annotations.get(_CLASS_ANNOTATION) or text(spec, "storageClassName", spec_path),
        capacity=resources(spec, "capacity", spec_path).get("storage", 0),
        access_modes=texts(spec, "accessModes", spec_path),
        volume_mode=text(spec, "volumeMode", spec_path) or "Filesystem",
        labels=labels(meta, "labels", at),
        node_terms=node_terms(
            optional_mapping(affinity, "required", (*spec_path, "nodeAffinity")),
            (*spec_path, "nodeAffinity", "required"),
        ),
        claim_ref=None
        if claim is None
        else (text(claim, "namespace", claim_at), text(claim, "name", claim_at), text(claim, "uid", claim_at)),
        phase=text(mapping(value, "status", ()), "phase", ("status",)),
        csi_driver=text(csi, "driver", (*spec_path, "csi")),
        volume_handle=text(csi, "volumeHandle", (*spec_path, "csi")),
        kind=next((k for k in spec if k not in _NOT_A_SOURCE), ""),
        annotations=annotations,
        deleting=meta.get("deletionTimestamp") is not None,
        source=source,
    )


def decode_storage_class(value: Value, source: Source | None = None) -> StorageClass:
    """Return a StorageClass. Raises DecodeError."""
    meta = mapping(value, "metadata", ())
    annotations = labels(meta, "annotations", ("metadata",))
    topologies = []
    for term, term_path in items(value, "allowedTopologies", ()):
        expressions = items(term, "matchLabelExpressions", term_path)
        topologies.append({text(e, "key", at): texts(e, "values", at) for e, at in expressions})
    parameters = mapping(value, "parameters", ())
    written = [str(parameters[key]) for key in ("zone", "zones") if key in parameters]
    return StorageClass(
        name=text(meta, "name", ("metadata",)),
        provisioner=text(value, "provisioner", ()),
        binding_mode=text(value, "volumeBindingMode", ()) or "Immediate",
        allowed_topologies=tuple(topologies),
        zones=tuple(filter(None, map(str.strip, ",".join(written).split(",")))),
        is_default=any(annotations.get(a) == "true" for a in _DEFAULT_CLASS),
        created=text(meta, "creationTimestamp", ("metadata",)),
        source=source,
    )


def decode_csi_node(value: Value, source: Source | None = None) -> CSINode:
    """Return a CSINode. Raises DecodeError."""
    meta, spec = mapping(value, "metadata", ()), mapping(value, "spec", ())
    limits: dict[str, int | None] = {}
    drivers: dict[str, tuple[str, ...]] = {}
    for driver, driver_path in items(spec, "drivers", ("spec",)):
        name = text(driver, "name", driver_path)
        limits[name] = integer(mapping(driver, "allocatable", driver_path), "count", (*driver_path, "allocatable"))
        drivers[name] = texts(driver, "topologyKeys", driver_path)
    migrated = labels(meta, "annotations", ("metadata",)).get("storage.alpha.kubernetes.io/migrated-plugins", "")
    return CSINode(text(meta, "name", ("metadata",)), limits, drivers, tuple(filter(None, migrated.split(","))), source)


def decode_csi_driver(value: Value, source: Source | None = None) -> CSIDriver:
    """Return a CSIDriver. Raises DecodeError."""
    meta, spec = mapping(value, "metadata", ()), mapping(value, "spec", ())
    return CSIDriver(
        text(meta, "name", ("metadata",)),
        boolean(spec, "preventPodSchedulingIfMissing", ("spec",)) or False,
        source,
    )


def decode_storage_capacity(value: Value, namespace: str, source: Source | None = None) -> StorageCapacity:
    """Return a CSIStorageCapacity. Raises DecodeError."""
    meta = mapping(value, "metadata", ())

    def size(key: str) -> int | None:
        written = value.get(key)
        if written is None:
            return None
        try:
            return whole(written if isinstance(written, (int, float)) else text(value, key, ()))
        except QuantityError as error:
            raise DecodeError((key,), f"{words((key,))}: {error}") from None

    return StorageCapacity(
        text(value, "storageClassName", ()),
        selector(value, "nodeTopology", ()),
        size("capacity"),
        size("maximumVolumeSize"),
        text(meta, "namespace", ("metadata",)) or namespace,
        text(meta, "name", ("metadata",)),
        source,
    )


def decode_volume_attachment(value: Value, source: Source | None = None) -> VolumeAttachment:
    """Return a VolumeAttachment. Raises DecodeError."""
    meta, spec = mapping(value, "metadata", ()), mapping(value, "spec", ())
    return VolumeAttachment(
        text(spec, "nodeName", ("spec",)),
        text(spec, "attacher", ("spec",)),
        text(mapping(spec, "source", ("spec",)), "persistentVolumeName", ("spec", "source")),
        text(meta, "name", ("metadata",)),
        source,
    )
