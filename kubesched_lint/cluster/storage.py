"""Claims, volumes and classes by name: immutable, so that a state can keep, swap and restore them in one step."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kubesched_lint import work
from kubesched_lint.hints import TypeVar
from kubesched_lint.model.inventory import Inventory
from kubesched_lint.model.storage import (
    Claim,
    CSINode,
    PersistentVolume,
    StorageCapacity,
    StorageClass,
    VolumeAttachment,
    default_class,
)
from kubesched_lint.record import Record, field, replace


class Storage(Record):
    claims: Mapping[tuple[str, str], Claim] = field(default_factory=dict)
    """(namespace, name) → claim."""
    volumes: Mapping[str, PersistentVolume] = field(default_factory=dict)
    classes: Mapping[str, StorageClass] = field(default_factory=dict)
    csi_nodes: Mapping[str, CSINode] = field(default_factory=dict)
    capacities: tuple[StorageCapacity, ...] = ()
    attachments: tuple[VolumeAttachment, ...] = ()
    drivers_needed_on_nodes: frozenset[str] = frozenset()

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
        work.spend((len(self.claims) + len(self.volumes)) // 16)
        return replace(
            self,
            claims={**self.claims, **{(c.namespace, c.name): c for c in claims}},
            volumes={**self.volumes, **{v.name: v for v in volumes}},
        )

    def without(self, claims: Iterable[tuple[str, str]] = (), volumes: Iterable[str] = ()) -> Storage:
        """Return the storage without these claims, (namespace, name), and volumes."""
        return replace(self, claims=_without(self.claims, claims), volumes=_without(self.volumes, volumes))


_Key = TypeVar("_Key")
_Item = TypeVar("_Item")


def _without(items: Mapping[_Key, _Item], gone: Iterable[_Key]) -> Mapping[_Key, _Item]:
    left_out = frozenset(gone)
    return {key: item for key, item in items.items() if key not in left_out} if left_out else items
