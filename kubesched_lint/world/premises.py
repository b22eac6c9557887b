"""On what the proofs about a world stand, in words."""

from __future__ import annotations

from kubesched_lint.world.staying import staying
from kubesched_lint.world.world import Member, World, once_per_world

SET_PREMISES = ("no other pods are made than those of the manifests and the snapshot",)
"""On what a proof about other pods stands."""


def proves_absence(world: World) -> bool:
    """Whether we may say that no pod matches: all running pods and all manifests were seen."""
    return world.knows_running_pods and world.premises.set_is_complete


@once_per_world
def node_premise(world: World) -> str:
    """What every proof that counts nodes assumes of them."""
    if world.pools:
        names = ", ".join(pool.name for pool in world.pools)
        room = " (their DaemonSets deducted)" if any(o.daemons for o in world.potential.offers) else ""
        return f"the nodes of the snapshot stay, and others come only from the pools {names}{room}"
    return "the nodes stay as in the snapshot"


def node_premises(it: Member) -> tuple[str, ...]:
    """On what a proof about the nodes of a workload stands."""
    return (node_premise(it.world),)


def running_premises(it: Member) -> tuple[str, ...]:
    """On what a proof about free room stands."""
    premises = node_premises(it)
    stay = staying(it).pods
    if not stay:
        return premises
    if any(bound.held for bound in stay):
        premises = (*premises, "nobody takes the finalizers away that hold terminating pods")
    if len(stay) == len(it.world.other_pods):
        return (*premises, "the running pods of others stay where they are")
    return (*premises, "the running pods of others stay that it cannot preempt and that do not terminate")
