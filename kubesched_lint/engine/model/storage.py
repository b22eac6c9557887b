"""Claims, volumes and classes, as VolumeBinding, VolumeZone, VolumeRestrictions and NodeVolumeLimits read them.

Sizes are bytes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from msgspec import field

from kubesched_lint.engine.base.partly_compared import Distinct, PartlyCompared
from kubesched_lint.engine.base.places import Path, Source
from kubesched_lint.engine.model.labels import Labels, Selector
from kubesched_lint.engine.model.pod import NodeSelectorTerm

ZONAL = frozenset(
    [
        "ebs.csi.aws.com",
        "pd.csi.storage.gke.io",
        "disk.csi.azure.com",
        "cinder.csi.openstack.org",
        "kubernetes.io/aws-ebs",
        "kubernetes.io/gce-pd",
        "kubernetes.io/azure-disk",
        "kubernetes.io/cinder",
    ]
)
"""Provisioners whose volumes are in one zone."""

_NOW = "~"
"""Sorts after every time: a class that is about to be applied is the newest."""
_LOCAL = r"(^|[-_./])(local|topolvm|directpv|zfspv)([-_./]|$)|^(lvm|zfs)\.csi\."


def is_local(name: str) -> bool:
    """Return whether the name of a provisioner, or of a class, says that its volumes stay on their node."""
    return re.search(_LOCAL, name) is not None


class Claim(Distinct, frozen=True):
    """A PersistentVolumeClaim. ``storage_class`` None is the cluster's default class, "" is no class."""

    namespace: str
    name: str
    storage_class: str | None = None
    volume_name: str = ""
    request: int = 0
    access_modes: tuple[str, ...] = ()
    volume_mode: str = "Filesystem"
    selector: Selector | None = None
    phase: str = ""
    annotations: Labels = field(default_factory=dict)
    deleting: bool = False
    uid: str = ""
    path: Path = ()
    source: Source | None = None


class PersistentVolume(PartlyCompared, frozen=True):
    name: str
    storage_class: str = ""
    capacity: int = 0
    access_modes: tuple[str, ...] = ()
    volume_mode: str = "Filesystem"
    labels: Labels = field(default_factory=dict)
    node_terms: tuple[NodeSelectorTerm, ...] | None = None
    claim_ref: tuple[str, str, str] | None = None
    """Namespace, name and uid of the claim that it is bound to or reserved for."""
    phase: str = ""
    csi_driver: str = ""
    volume_handle: str = ""
    kind: str = ""
    """The field name of its source: ``csi``, ``hostPath``, ``awsElasticBlockStore``…"""
    annotations: Labels = field(default_factory=dict)
    deleting: bool = False
    path: Path = ()
    source: Source | None = None


class StorageClass(PartlyCompared, frozen=True):
    name: str
    provisioner: str = ""
    binding_mode: str = "Immediate"
    allowed_topologies: tuple[Mapping[str, tuple[str, ...]], ...] = ()
    """Terms are ORed; inside a term every key must have one of its values. Empty: anywhere."""
    zones: tuple[str, ...] = ()
    """The zones of ``parameters``, as provisioners of old read them; a snapshot keeps none."""
    is_default: bool = False
    created: str = ""
    """RFC 3339; empty if it does not exist yet, or the time is unknown."""
    path: Path = ()
    source: Source | None = None


class CSINode(PartlyCompared, frozen=True):
    """Per driver: how many volumes the node accepts (None: no limit)."""

    name: str
    limits: Mapping[str, int | None] = field(default_factory=dict)
    drivers: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """driver → its topology keys."""
    migrated: tuple[str, ...] = ()
    source: Source | None = None


class CSIDriver(PartlyCompared, frozen=True):
    name: str
    is_needed_on_nodes: bool = False
    """``preventPodSchedulingIfMissing``."""
    source: Source | None = None


class StorageCapacity(PartlyCompared, frozen=True):
    """A CSIStorageCapacity: the free space of a class on the nodes of ``topology``."""

    storage_class: str
    topology: Selector | None = None
    capacity: int | None = None
    maximum_volume_size: int | None = None
    namespace: str = ""
    name: str = ""
    source: Source | None = None


class VolumeAttachment(PartlyCompared, frozen=True):
    node: str
    attacher: str
    volume: str
    name: str = ""
    source: Source | None = None


def default_class(classes: Iterable[StorageClass]) -> StorageClass | None:
    """Return the class of a claim without one: the newest default class, the first by name if several are; None without
    one.

    Mirrors ``plugin/pkg/admission/storage/storageclass/setdefault`` and GetDefaultClass of ``pkg/volume/util`` (v1.36).
    """
    defaults = sorted((c for c in classes if c.is_default), key=lambda c: c.name)
    return max(defaults, key=lambda c: c.created or _NOW, default=None)
