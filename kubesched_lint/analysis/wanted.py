"""How many pods a workload wants, where it says so, and which nodes a DaemonSet uses."""

from __future__ import annotations

from kubesched_lint.cluster.nodeset import NodeSet
from kubesched_lint.findings import Place
from kubesched_lint.world.world import Member, World


def daemon_nodes(it: Member) -> NodeSet:
    """Today's nodes for which the DaemonSet controller makes a pod; it ignores resources and other pods."""
    from kubesched_lint.controllers.daemonset import targets, with_daemon_tolerations

    return targets(with_daemon_tolerations(it.pod), it.world.index)[0] & it.world.today


def pods_wanted(it: Member) -> int:
    """Number of pods wanted at deploy; for a DaemonSet one per node that it targets, 0 without a cluster."""
    if it.workload.kind != "DaemonSet":
        return it.replicas
    return 0 if it.world.cluster is None else daemon_nodes(it).bit_count()


def replicas_wanted_here(it: Member) -> Place:
    """Return the line that sets the replicas, with its label."""
    return Place(it.workload.replicas_path, f"{it.replicas} replicas wanted here")


def lasting_pods_wanted(it: Member) -> int:
    """Number of wanted pods that stay; 0 for Jobs, whose pods end."""
    return pods_wanted(it) if it.workload.stays or it.workload.kind == "DaemonSet" else 0


def pods_of_the_set(world: World) -> int:
    """Number of pods that all created workloads want together."""
    return sum(lasting_pods_wanted(world.member(w)) for w in world.as_created)
