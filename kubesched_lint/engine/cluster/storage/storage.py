"""Claims, volumes and classes by name: immutable, so that a state can keep, swap and restore them in one step."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from msgspec import field
from msgspec.structs import replace

from kubesched_lint.engine.base.partly_compared import PartlyCompared
from kubesched_lint.engine.cluster.storage.free_volumes import NOTHING_LOOSE, VolumesByClass
from kubesched_lint.engine.model.inventory import Inventory
from kubesched_lint.engine.model.storage import (
    Claim,
    CSINode,
    PersistentVolume,
    StorageCapacity,
    StorageClass,
    VolumeAttachment,
    default_class,
)

if TYPE_CHECKING:
    from kubesched_lint.engine.cluster.storage.free_volumes import FreeVolumes, Terms
    from kubesched_lint.engine.model.pod import Pod

T = TypeVar("T")
_Key = TypeVar("_Key")
_Item = TypeVar("_Item")


class Storage(PartlyCompared, frozen=True, dict=True):
    uncompared: ClassVar[tuple[str, ...]] = ("kept",)
    claims: Mapping[tuple[str, str], Claim] = field(default_factory=dict)
    """(namespace, name) → claim."""
    volumes: Mapping[str, PersistentVolume] = field(default_factory=dict)
    classes: Mapping[str, StorageClass] = field(default_factory=dict)
    csi_nodes: Mapping[str, CSINode] = field(default_factory=dict)
    capacities: tuple[StorageCapacity, ...] = ()
    attachments: tuple[VolumeAttachment, ...] = ()
    drivers_needed_on_nodes: frozenset[str] = frozenset()
    kept: VolumesByClass | None = None
    """The pools of the volumes, if they follow from those of the storage before."""

    @classmethod
    def of(cls, objects: Inventory) -> Storage:
        return cls(
            objects.claims_by_name,
            objects.volumes_by_name,
            {c.name: c for c in objects.storage_classes},
            {n.name: n for n in objects.csi_nodes},
            objects.storage_capacities,
            objects.volume_attachments,
            frozenset(d.name for d in objects.csi_drivers if d.is_needed_on_nodes),
        )

    def once(self, read: Callable[[Pod, Storage], T], pod: Pod) -> T:
        """Return ``read(pod, self)``, computed once: what a plugin reads of the volumes of a pod."""
        key = read, pod
        if key not in self._read:
            self._read[key] = read(pod, self)
        return self._read[key]  # type: ignore[no-any-return]

    @cached_property
    def _read(self) -> dict[tuple[Callable[[Pod, Storage], object], Pod], Any]:
        return {}

    def claim(self, namespace: str, name: str) -> Claim | None:
        return self.claims.get((namespace, name))

    def class_of(self, claim: Claim) -> StorageClass | None:
        """Return the StorageClass that a claim names; the cluster's default class if the claim names none."""
        if claim.storage_class is not None:
            return self.classes.get(claim.storage_class)
        return self.default_class

    @property
    def default_class(self) -> StorageClass | None:
        return default_class(self.classes.values())

    def with_objects(self, claims: Iterable[Claim] = (), volumes: Iterable[PersistentVolume] = ()) -> Storage:
        """Return the storage with these claims and volumes added, or replacing those of the same name."""
        new = {v.name: v for v in volumes}
        return replace(
            self,
            claims={**self.claims, **{(c.namespace, c.name): c for c in claims}},
            volumes={**self.volumes, **new} if new else self.volumes,
            kept=self._by_class.after(self.volumes, new.values()) if new else self._by_class,
        )

    def without(self, claims: Iterable[tuple[str, str]] = (), volumes: Iterable[str] = ()) -> Storage:
        """Return the storage without these claims, (namespace, name), and volumes."""
        left = _without(self.volumes, volumes)
        kept = self._by_class if left is self.volumes else None
        return replace(self, claims=_without(self.claims, claims), volumes=left, kept=kept)

    # --- volumes by what is asked -----------------------------------------------------------------------------------

    def loose(self, storage_class: str) -> FreeVolumes:
        """Return the volumes of a class that are reserved for no claim."""
        return self._by_class.loose.get(storage_class, NOTHING_LOOSE)

    def reserved(self, claim: Claim) -> Sequence[PersistentVolume]:
        """Return the volumes that are, or were, reserved for a claim of this name, in their order."""
        names = self._by_class.reserved.get((claim.namespace, claim.name), ())
        if len(names) > 1:
            names = tuple(name for name in self.volumes if name in names)
        return [self.volumes[name] for name in names]

    def terms(self, classes: Collection[str]) -> Iterable[Terms]:
        """Return what the volumes of some classes ask of nodes, each once, in the order of the volumes."""
        terms_and_order = [item for name in classes for item in self._by_class.terms.get(name, {}).items()]
        return [terms for terms, _ in sorted(terms_and_order, key=lambda item: item[1])]

    @property
    def terms_of_volumes(self) -> object:
        """What ``terms`` reads: the same object as long as it says the same."""
        return self._by_class.terms

    @cached_property
    def _by_class(self) -> VolumesByClass:
        if self.kept is not None:
            return self.kept
        return VolumesByClass.of(self.volumes.values())


def _without(items: Mapping[_Key, _Item], gone: Iterable[_Key]) -> Mapping[_Key, _Item]:
    left_out = frozenset(gone)
    return {key: item for key, item in items.items() if key not in left_out} if left_out else items
