"""How many pods a workload wants, and on which nodes those of a DaemonSet stand."""

from __future__ import annotations

from kubesched_lint.cluster.nodeset import NodeSet
from kubesched_lint.world.world import Member, World


def daemon_nodes(it: Member) -> NodeSet:
    """Nodes of today for which its controller makes a pod; resources and other pods do not matter to it."""
    from kubesched_lint.controllers.daemonset import targets, with_daemon_tolerations

    return targets(with_daemon_tolerations(it.pod), it.world.index)[0] & it.world.today


def pods_wanted(it: Member) -> int:
    """How many pods it wants at deploy; of a DaemonSet one for each node that it targets, none without a cluster."""
    if it.workload.kind != "DaemonSet":
        return it.replicas
    return 0 if it.world.cluster is None else daemon_nodes(it).bit_count()


def lasting_pods_wanted(it: Member) -> int:
    """How many of them stay there together: a Job's end, so that they do not count."""
    return pods_wanted(it) if it.workload.stays or it.workload.kind == "DaemonSet" else 0


def pods_of_the_set(world: World) -> int:
    """How many pods all workloads that are created want together."""
    return sum(lasting_pods_wanted(world.member(w)) for w in world.as_created)
