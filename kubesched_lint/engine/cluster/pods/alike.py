"""Pods of a cluster in groups of equal ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from kubesched_lint.engine.cluster.nodeset import NodeSet, of
from kubesched_lint.engine.model.pod import BoundPod, Pod


class Alike(Struct, frozen=True):
    """Equal running pods: thousands of replicas are checked once."""

    pod: Pod
    terminating: bool
    kept_by_finalizers: bool
    """They terminate, and stay until a finalizer is removed."""
    bound: tuple[BoundPod, ...]
    positions: tuple[int, ...]
    """Node positions, one for each pod."""
    nodes: NodeSet
    elsewhere: int = 0
    """Further such pods, which wait or are on unknown nodes."""

    def on(self, nodes: NodeSet) -> int:
        """Return how many of the pods run on these nodes."""
        if self.nodes.bit_count() == len(self.positions):
            return (self.nodes & nodes).bit_count()
        return sum(nodes >> position & 1 for position in self.positions)


AlikeT = TypeVar("AlikeT", bound=Alike)


def with_more(group: AlikeT, other: Alike) -> AlikeT:
    """Return a group with equal pods that a reader did not recognize as equal."""
    bound, positions = (*group.bound, *other.bound), (*group.positions, *other.positions)
    return replace(group, bound=bound, positions=positions, nodes=group.nodes | other.nodes)


def alike(pods: Iterable[BoundPod], nodes: Mapping[str, int], *, everywhere: bool = False) -> tuple[Alike, ...]:
    """Return the pods on ``nodes``, which have positions by name, grouped by their shared template.

    ``everywhere``: count the pods on no such node as well.
    """
    groups: dict[object, tuple[BoundPod, list[BoundPod], list[int]]] = {}
    elsewhere = Counter[object]()
    for bound in pods:
        position = nodes.get(bound.node)
        if position is not None or everywhere:
            kind = (bound.pod, bound.kept_by_finalizers) if bound.terminating else bound.pod
            known = groups.get(kind)
            if known is None:
                known = groups[kind] = bound, [], []
            if position is None:
                elsewhere[kind] += 1
            else:
                known[1].append(bound)
                known[2].append(position)
    return tuple(
        Alike(
            first.pod,
            first.terminating,
            first.kept_by_finalizers,
            tuple(members),
            tuple(positions),
            of(positions),
            elsewhere[kind],
        )
        for kind, (first, members, positions) in groups.items()
    )
