"""Which nodes reach which free volumes, noted for all volumes of a pool that ask the same of nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

from kubesched_lint.engine.cluster.nodes.index import NodeIndex
from kubesched_lint.engine.cluster.nodeset import EMPTY, NodeSet, lowest
from kubesched_lint.engine.cluster.state import ClusterState
from kubesched_lint.engine.cluster.storage.free_volumes import VolumePool, VolumeSet
from kubesched_lint.engine.model.storage import PersistentVolume


def reachable(volume: PersistentVolume, index: NodeIndex) -> NodeSet:
    """Return the nodes that satisfy a volume's node affinity (CheckNodeAffinity)."""
    return index.all if volume.node_terms is None else index.matching({}, volume.node_terms)


def place_of(volume: PersistentVolume) -> str:
    """Return where a volume is, by the labels that its node affinity asks for; empty if it may be anywhere."""
    terms = volume.node_terms or ()
    asked = (f"{r.key}={','.join(r.values) or r.operator}" for t in terms for r in (*t.expressions, *t.fields))
    return " or ".join(dict.fromkeys(asked))


def reach_of(pool: VolumePool, state: ClusterState) -> Reach:
    """Return the reach of a pool's volumes on the nodes of a state, which keeps it."""
    key = Reach, pool
    reach: Reach | None = state.offers.get(key)
    if reach is None:
        reach = state.offers[key] = Reach(pool, state.index)
    return reach


class Reach:
    def __init__(self, pool: VolumePool, index: NodeIndex) -> None:
        self._pool = pool
        self._index = index
        self._at: dict[int, VolumeSet] = {}

    @cached_property
    def _each(self) -> Sequence[tuple[NodeSet, VolumeSet]]:
        """Nodes, and the volumes that they all reach."""
        alike = self._pool.by_terms.values()
        return [(reachable(next(self._pool.some(volumes)), self._index), volumes) for volumes in alike]

    @cached_property
    def _local(self) -> Mapping[int, VolumeSet]:
        """Position of a node → the volumes that it alone reaches."""
        volumes_of_nodes: dict[int, VolumeSet] = {}
        for nodes, volumes in self._each:
            if nodes.bit_count() == 1:
                volumes_of_nodes[lowest(nodes)] = volumes_of_nodes.get(lowest(nodes), EMPTY) | volumes
        return volumes_of_nodes

    @cached_property
    def _shared(self) -> Sequence[tuple[NodeSet, VolumeSet]]:
        return [reached for reached in self._each if reached[0].bit_count() > 1]

    def of(self, position: int) -> VolumeSet:
        """Return the volumes that a node reaches."""
        own_and_shared = self._at.get(position)
        if own_and_shared is None:
            own_and_shared = self._local.get(position, EMPTY)
            for nodes, volumes in self._shared:
                if nodes >> position & 1:
                    own_and_shared |= volumes
            self._at[position] = own_and_shared
        return own_and_shared

    def nodes(self, volumes: VolumeSet) -> NodeSet:
        """Return the nodes that reach one of these volumes."""
        reaching = EMPTY
        for nodes, alike in self._each:
            if alike & volumes:
                reaching |= nodes
        return reaching
