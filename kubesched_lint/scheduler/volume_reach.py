"""Which nodes reach which free volumes: asked for each pod, and few volumes are taken or freed between two."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

from kubesched_lint import work
from kubesched_lint.cluster.index import NodeIndex
from kubesched_lint.cluster.limits import MOST_KEPT
from kubesched_lint.cluster.nodeset import EMPTY, NodeSet, positions
from kubesched_lint.cluster.shelves import Shelf, VolumeSet
from kubesched_lint.cluster.state import ClusterState
from kubesched_lint.cluster.topology import NodeCounter
from kubesched_lint.model.storage import PersistentVolume

_NARROW_REACH = 16
"""A volume that so few nodes reach is noted at each of them."""


def reachable(volume: PersistentVolume, index: NodeIndex) -> NodeSet:
    """Return the nodes that satisfy a volume's node affinity (CheckNodeAffinity)."""
    return index.all if volume.node_terms is None else index.matching({}, volume.node_terms)


def reach_of(shelf: Shelf, state: ClusterState) -> Reach:
    """Return the reach of a shelf's volumes on the nodes of a state, which keeps it."""
    key = Reach, shelf
    found: Reach | None = state.offers.get(key)
    if found is None:
        found = state.offers[key] = Reach(shelf, state.index)
    return found


class Reach:
    def __init__(self, shelf: Shelf, index: NodeIndex) -> None:
        self._shelf = shelf
        self._index = index
        self._at: dict[int, VolumeSet] = {}
        self._followed: list[_Covered] = []

    @cached_property
    def _wide(self) -> Sequence[tuple[NodeSet, VolumeSet]]:
        """Nodes, and the volumes that they all reach."""
        return [one for one in self._each if one[0].bit_count() > _NARROW_REACH]

    @cached_property
    def _narrow(self) -> Mapping[int, VolumeSet]:
        """Position of a node → the volumes that it and few others reach."""
        found: dict[int, VolumeSet] = {}
        for nodes, volumes in self._each:
            if nodes.bit_count() <= _NARROW_REACH:
                for position in positions(nodes):
                    found[position] = found.get(position, EMPTY) | volumes
        return found

    @cached_property
    def _each(self) -> Sequence[tuple[NodeSet, VolumeSet]]:
        alike = self._shelf.by_terms.values()
        return [(reachable(next(self._shelf.some(volumes)), self._index), volumes) for volumes in alike]

    def of(self, position: int) -> VolumeSet:
        """Return the volumes that a node reaches."""
        found = self._at.get(position)
        if found is None:
            work.spend(1 + len(self._wide) // 16)
            found = self._narrow.get(position, EMPTY)
            for nodes, volumes in self._wide:
                if nodes >> position & 1:
                    found |= volumes
            self._at[position] = found
        return found

    def nodes(self, volumes: VolumeSet) -> NodeSet:
        """Return the nodes that reach one of these volumes."""
        if len(self._each) <= _NARROW_REACH:
            found = EMPTY
            for nodes, alike in self._each:
                if alike & volumes:
                    found |= nodes
            return found
        return self._nearest(volumes).moved_to(volumes)

    def _nearest(self, volumes: VolumeSet) -> _Covered:
        """Return what is known of a set of volumes that differs little; a new one if most volumes differ."""
        best = min(self._followed, key=lambda one: (one.volumes ^ volumes).bit_count(), default=None)
        if best is None or (
            len(self._followed) < MOST_KEPT and 4 * (best.volumes ^ volumes).bit_count() > volumes.bit_count()
        ):
            best = _Covered(self._shelf, self._index)
            self._followed.append(best)
        return best


class _Covered:
    """By how many of a changing set of volumes each node is reached."""

    __slots__ = ("_counts", "_index", "_shelf", "volumes")

    def __init__(self, shelf: Shelf, index: NodeIndex) -> None:
        self._shelf = shelf
        self._index = index
        self._counts = NodeCounter()
        self.volumes: VolumeSet = EMPTY

    def moved_to(self, volumes: VolumeSet) -> NodeSet:
        """Return the nodes that reach one of ``volumes``, which becomes the set."""
        gone, new = self.volumes & ~volumes, volumes & ~self.volumes
        work.spend(1 + (gone.bit_count() + new.bit_count()) // 4)
        for volume in self._shelf.some(gone):
            self._counts.subtract(reachable(volume, self._index))
        for volume in self._shelf.some(new):
            self._counts.add(reachable(volume, self._index))
        self.volumes = volumes
        return self._counts.nodes
