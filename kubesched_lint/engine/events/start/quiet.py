"""Which workloads of a set stay as they run while others are deployed or changed."""

from __future__ import annotations

from kubesched_lint.engine.events.start.simulated_set import SimulatedMember, SimulatedSet, once_per_set
from kubesched_lint.engine.model.pod import BoundPod
from kubesched_lint.engine.scheduler.tolerance import leaves


@once_per_set
def quiet(simulated: SimulatedSet) -> frozenset[int]:
    """Return the workloads that applying the manifests leaves alone: all their pods run, and none is to change.

    One without pods is not among them: nothing of it stands.
    """
    return frozenset(member.number for member in simulated.members if _is_quiet(member))


def _is_quiet(member: SimulatedMember) -> bool:
    running, workload, wanted = member.running, member.workload, member.wanted
    if (
        not running
        or len(running) != wanted
        or workload.suspended
        or member.set.sizes.get(member.number, wanted) != wanted
    ):
        return False
    if member.changes_template is not False or not member.is_settled:
        return False
    return member.kept == wanted and all(_stays(member.set, bound) for bound in running)


def _stays(simulated: SimulatedSet, bound: BoundPod) -> bool:
    node = simulated.nodes[simulated.index.positions[bound.node]]
    return not any(leaves(bound.pod.tolerations, taint) for taint in node.taints)
