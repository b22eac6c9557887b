"""The cluster once all that is passing today has passed, and what a workload could use then."""

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
    """Without cordons and passing taints; bare pods under a NoExecute taint that they do not tolerate are leaving.

    The taint eviction controller deletes them, at once or after their tolerationSeconds, and nobody makes them again
    (``pkg/controller/tainteviction/taint_eviction.go``, processPodOnNode). What has a controller comes again elsewhere.
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
    """Nodes of ``World.index`` that only a cordon or a passing taint closes, with those that are open."""
    from kubesched_lint.cluster.index import NodeIndex
    from kubesched_lint.scheduler.framework import static_feasible

    assert it.world.cluster is not None, "a rule that reads nodes runs only with a cluster"
    settled = it.world.cluster.settled()
    if settled is it.world.cluster:
        return it.usable
    # The order of the nodes stays, so positions mean the same in both indexes.
    return static_feasible(it.pod, NodeIndex(settled.inventory.nodes))
