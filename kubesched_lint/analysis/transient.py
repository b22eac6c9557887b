"""The cluster after all temporary taints and cordons are gone, and what a workload could use then."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kubesched_lint.record import replace
from kubesched_lint.world.world import Member

if TYPE_CHECKING:
    from kubesched_lint.cluster.cluster import Cluster
    from kubesched_lint.cluster.nodeset import NodeSet
    from kubesched_lint.model.node import Taint
    from kubesched_lint.model.pod import BoundPod


def settled(cluster: Cluster) -> Cluster:
    """The cluster without cordons and temporary taints; bare pods that do not tolerate a NoExecute taint are leaving.

    The taint eviction controller deletes them, at once or after their tolerationSeconds, and no controller recreates
    them (``pkg/controller/tainteviction/taint_eviction.go``, processPodOnNode). Pods with a controller come back
    elsewhere.
    """
    later = cluster.settled()
    taints = {node.name: taints for node in later.inventory.nodes if (taints := _evicting(node.taints))}
    if not taints:
        return later
    pods = tuple(_leaving(bound, taints.get(bound.node, ())) for bound in later.inventory.pods)
    return replace(later, inventory=replace(later.inventory, pods=pods))


def _evicting(taints: tuple[Taint, ...]) -> tuple[Taint, ...]:
    return tuple(t for t in taints if t.effect == "NoExecute")


def _leaving(bound: BoundPod, taints: tuple[Taint, ...]) -> BoundPod:
    if not taints or bound.owner is not None or bound.terminating:
        return bound
    from kubesched_lint.scheduler.tolerance import tolerates

    for taint in taints:
        first = next((t for t in bound.pod.tolerations if tolerates(t, taint)), None)
        if first is None or first.seconds is not None:
            return replace(bound, terminating=True)
    return bound


def usable_when_settled(it: Member) -> NodeSet:
    """Nodes of ``World.index`` that are open, or closed only by a cordon or a temporary taint."""
    from kubesched_lint.cluster.index import NodeIndex
    from kubesched_lint.scheduler.framework import static_feasible

    assert it.world.cluster is not None, "a rule that reads nodes runs only with a cluster"
    settled = it.world.cluster.settled()
    if settled is it.world.cluster:
        return it.usable
    # The order of the nodes is the same, so positions are the same in both indexes.
    return static_feasible(it.pod, NodeIndex(settled.inventory.nodes))
