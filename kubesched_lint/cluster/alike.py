"""Running pods in groups of equal ones."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec import Struct

from kubesched_lint.cluster.nodeset import NodeSet, of
from kubesched_lint.model.pod import BoundPod, Pod


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


def alike(pods: Iterable[BoundPod], nodes: Mapping[str, int]) -> tuple[Alike, ...]:
    """Return the pods on ``nodes``, which have positions by name, grouped by their shared template."""
    found: dict[object, tuple[list[BoundPod], list[int]]] = {}
    for bound in pods:
        position = nodes.get(bound.node)
        if position is not None:
            kind = (bound.pod, bound.kept_by_finalizers) if bound.terminating else bound.pod
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
