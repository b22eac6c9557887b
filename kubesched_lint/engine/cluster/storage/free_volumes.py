"""Free volumes by their class, indexed once: which of them a claim may take is a few set operations."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from operator import attrgetter
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from kubesched_lint.engine.base.identity import Itself
from kubesched_lint.engine.cluster.nodeset import EMPTY, grouped, of, positions
from kubesched_lint.engine.cluster.selecting.labelled import LabelIndex
from kubesched_lint.engine.model.labels import Labels
from kubesched_lint.engine.model.storage import Claim, PersistentVolume

if TYPE_CHECKING:
    from kubesched_lint.engine.model.pod import NodeSelectorTerm

    Terms = tuple[NodeSelectorTerm, ...]

VolumeSet = int
"""A set of volumes of one pool, as a NodeSet is one of nodes."""
_CAPACITY = attrgetter("capacity")


class VolumePool(LabelIndex):
    """Immutable: the volumes of a class that were reserved for no claim when the pool was made, the smallest first."""

    def __init__(self, volumes: Iterable[PersistentVolume]) -> None:
        self.volumes: Sequence[PersistentVolume] = sorted(volumes, key=_CAPACITY)
        super().__init__(len(self.volumes))
        self._open: dict[Hashable, VolumeSet] = {}

    @cached_property
    def labels(self) -> Sequence[Labels]:
        return [volume.labels for volume in self.volumes]

    @cached_property
    def places(self) -> Mapping[str, int]:
        """Name → position."""
        return {volume.name: number for number, volume in enumerate(self.volumes)}

    @cached_property
    def by_terms(self) -> Mapping[Terms | None, VolumeSet]:
        """What volumes ask of nodes → those that ask it."""
        return grouped(enumerate(volume.node_terms for volume in self.volumes))

    @cached_property
    def _capacities(self) -> Sequence[int]:
        return [*map(_CAPACITY, self.volumes)]

    @cached_property
    def _by_modes(self) -> Mapping[tuple[str, tuple[str, ...]], VolumeSet]:
        """(volume mode, access modes) → the available volumes with them."""
        numbers_by_modes: dict[tuple[str, tuple[str, ...]], list[int]] = {}
        for number, volume in enumerate(self.volumes):
            if volume.phase in ("", "Available") and not volume.deleting:
                numbers_by_modes.setdefault((volume.volume_mode, volume.access_modes), []).append(number)
        return {modes: of(numbers) for modes, numbers in numbers_by_modes.items()}

    def some(self, volumes: VolumeSet) -> Iterator[PersistentVolume]:
        """Return these volumes, the smallest first."""
        return map(self.volumes.__getitem__, positions(volumes))

    def open_to(self, claim: Claim) -> VolumeSet:
        """Return the volumes that a claim of the class may be bound to, wherever they are."""
        asked = claim.request, claim.volume_mode, claim.access_modes, claim.selector
        open_volumes = self._open.get(asked)
        if open_volumes is None:
            open_volumes = self._open[asked] = self._open_to(claim)
        return open_volumes

    def _open_to(self, claim: Claim) -> VolumeSet:
        wanted, with_modes = set(claim.access_modes), EMPTY
        for (mode, access), volumes in self._by_modes.items():
            if mode == claim.volume_mode and wanted <= set(access):
                with_modes |= volumes
        smaller = bisect_left(self._capacities, claim.request)
        large_enough = with_modes >> smaller << smaller
        return large_enough if claim.selector is None else large_enough & self.selected_by(claim.selector)


class FreeVolumes(Struct, frozen=True):
    """What is left of a pool."""

    pool: VolumePool
    left: VolumeSet

    def open_to(self, claim: Claim) -> VolumeSet:
        return self.left & self.pool.open_to(claim)

    def without(self, name: str) -> FreeVolumes:
        return replace(self, left=self.left & ~(1 << self.pool.places[name]))


NOTHING_LOOSE = FreeVolumes(VolumePool(()), EMPTY)


class VolumesByClass(Struct, frozen=True):
    """Volumes by their class, and by the claims for which they are reserved."""

    loose: Mapping[str, FreeVolumes]
    """Class → its volumes that are reserved for no claim."""
    reserved: Mapping[tuple[str, str], tuple[str, ...]]
    """(namespace, name) of a claim → the names of the volumes that are, or were, reserved for it."""
    terms: Mapping[str, Mapping[Terms, int]]
    """Class → what its volumes ask of nodes, with the number of the first one that asks it."""

    @classmethod
    def of(cls, volumes: Iterable[PersistentVolume]) -> VolumesByClass:
        loose: dict[str, list[PersistentVolume]] = {}
        reserved: dict[tuple[str, str], list[str]] = {}
        terms: dict[str, dict[Terms, int]] = {}
        for number, volume in enumerate(volumes):
            if volume.claim_ref is None:
                loose.setdefault(volume.storage_class, []).append(volume)
            else:
                reserved.setdefault(volume.claim_ref[:2], []).append(volume.name)
            if volume.node_terms is not None:
                terms.setdefault(volume.storage_class, {}).setdefault(volume.node_terms, number)
        pools = {name: VolumePool(some) for name, some in loose.items()}
        return cls(
            {name: FreeVolumes(pool, pool.all) for name, pool in pools.items()},
            {claim: tuple(names) for claim, names in reserved.items()},
            terms,
        )

    def after(self, before: Mapping[str, PersistentVolume], new: Iterable[PersistentVolume]) -> VolumesByClass | None:
        """Return the pools after volumes came, for a claim each, or changed; None if more changes than the claim."""
        loose, reserved, terms = dict(self.loose), dict(self.reserved), self.terms
        number = len(before)
        looked_up: set[tuple[str, Itself[tuple[NodeSelectorTerm, ...] | None]]] = set()
        """(class, terms): provisioned volumes share the terms of their zones, which are slow to compare."""
        for volume in new:
            if volume.claim_ref is None:
                return None
            old, asked = before.get(volume.name), volume.node_terms
            key = volume.storage_class, Itself(asked)
            if asked is not None and key not in looked_up and asked not in terms.get(volume.storage_class, ()):
                if old is not None:
                    return None
                terms_of_class = {**terms.get(volume.storage_class, {}), asked: number}
                terms = {**terms, volume.storage_class: terms_of_class}
            looked_up.add(key)
            number += old is None
            if old is not None and old.claim_ref is None:
                loose[old.storage_class] = loose[old.storage_class].without(old.name)
            names = reserved.get(volume.claim_ref[:2], ())
            if volume.name not in names:
                reserved[volume.claim_ref[:2]] = (*names, volume.name)
        return replace(self, loose=loose, reserved=reserved, terms=terms)
