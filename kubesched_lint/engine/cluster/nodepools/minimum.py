"""Nodes of a node group's minimum: they exist without any pod, although no list contains them.

cluster-autoscaler removes none below ``min``, and the group itself (an Auto Scaling group, a managed instance group)
keeps that many running. If a group sets no label, every node in its zones counts as its own, so that rather too few are
added.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import count, cycle

from kubesched_lint.engine.cluster.nodepools.label_demand import LabelDemand
from kubesched_lint.engine.cluster.nodepools.templates import DISK, templates
from kubesched_lint.engine.model.nodes.node import ZONE, Node, NodePool


def standing(pools: Iterable[NodePool], nodes: Sequence[Node]) -> Iterator[Node]:
    """Yield the nodes that the groups' minimums add to ``nodes``, zone by zone in turn.

    None if their size is unknown.
    """
    taken = {node.name for node in nodes}
    # If a sketch leaves out disks, added nodes must too: otherwise the sketch's own nodes would count as having none.
    no_disks = any(node.allocatable is not None and DISK not in node.allocatable for node in nodes)
    for pool in pools:
        missing = pool.minimum - sum(1 for node in nodes if _may_be_of(node, pool))
        kinds = tuple(kind for kind in templates(pool, LabelDemand(), ()) if kind.shape.allocatable is not None)
        names = (name for number in count(1) if (name := f"{_prefix(pool)}{number}") not in taken)
        for kind, name, _ in zip(cycle(kinds), names, range(missing), strict=False):
            yield kind.named(name, kind.shape.allocatable if no_disks else kind.offered)


def stands_in(node: Node, pool: NodePool) -> bool:
    """Return whether ``standing`` made the node for the pool."""
    return pool.minimum > 0 and node.name.startswith(_prefix(pool))


def _prefix(pool: NodePool) -> str:
    return f"{pool.name}-min-"


def _may_be_of(node: Node, pool: NodePool) -> bool:
    in_zones = pool.zones is None or node.labels.get(ZONE) in pool.zones
    return in_zones and pool.labels.items() <= node.labels.items()
