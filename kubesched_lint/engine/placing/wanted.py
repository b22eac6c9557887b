"""How many pods a workload wants, and a set of them."""

from __future__ import annotations

from kubesched_lint.engine.scenario.scenario import Member, Scenario


def pods_wanted(it: Member) -> int:
    """Number of pods wanted at deploy; for a DaemonSet one per node that it targets, 0 without a cluster."""
    if it.workload.kind != "DaemonSet":
        return it.replicas
    return 0 if it.scenario.cluster is None else it.daemon_nodes.bit_count()


def lasting_pods_wanted(it: Member) -> int:
    """Number of wanted pods that stay; 0 for Jobs, whose pods end."""
    return pods_wanted(it) if it.workload.stays or it.workload.kind == "DaemonSet" else 0


def pods_of_the_set(scenario: Scenario) -> int:
    """Number of pods that all created workloads want together."""
    return sum(lasting_pods_wanted(scenario.member(w)) for w in scenario.as_created)
