"""Running pods in groups of equal ones."""

from __future__ import annotations

from collections.abc import Iterable

from kubesched_lint.cluster.nodeset import NodeSet, of
from kubesched_lint.hints import TYPE_CHECKING
from kubesched_lint.model.pod import BoundPod, Pod
from kubesched_lint.record import Record

if TYPE_CHECKING:
    from kubesched_lint.cluster.index import NodeIndex


class Alike(Record):
    """Equal running pods of others: thousands of replicas are checked once."""

    pod: Pod
    terminating: bool
    kept_by_finalizers: bool
    """They terminate, and stay until a finalizer is removed."""
    bound: tuple[BoundPod, ...]
    positions: tuple[int, ...]
    """Node positions, one for each pod."""
    nodes: NodeSet


def alike(pods: Iterable[BoundPod], index: NodeIndex) -> tuple[Alike, ...]:
    """Return the pods on nodes of the index, grouped by their shared template."""
    found: dict[tuple[int, bool, bool], tuple[list[BoundPod], list[int]]] = {}
    for bound in pods:
        position = index.positions.get(bound.node)
        if position is not None:
            kind = (id(bound.pod), bound.terminating, bound.kept_by_finalizers)
            known = found.get(kind)
            if known is None:
                known = found[kind] = [], []
            known[0].append(bound)
            known[1].append(position)
    return tuple(
        Alike(
            members[0].pod,
            members[0].terminating,
            members[0].kept_by_finalizers,
            tuple(members),
            tuple(positions),
            of(positions),
        )
        for members, positions in found.values()
    )
