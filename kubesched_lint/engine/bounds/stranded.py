"""The most pods of a running workload while lost nodes are unreachable: it is known where its pods stand.

``losses.unreachable`` has the mechanisms, and bounds for pods that may be anywhere. Of a workload that nothing moves
before the loss, each node or zone takes the pods that stand there:

- a StatefulSet makes none of them again, so it lacks them;
- where a spread counts the lost domain as empty, a domain gets new pods up to maxSkew and keeps what it has beyond.

Both hold whoever is preempted after the loss: a preempted pod comes back under the same rule.
"""

from __future__ import annotations

from kubesched_lint.engine.bounds.losses.taken import losses
from kubesched_lint.engine.bounds.losses.unreachable import leaves_empty, stays_there, why_apart
from kubesched_lint.engine.bounds.parts import stands_before_losses
from kubesched_lint.engine.bounds.spread import counted_of_others
from kubesched_lint.engine.cluster.nodeset import NodeSet
from kubesched_lint.engine.events.answers.event_bounds import Bound, EventBounds
from kubesched_lint.engine.events.start.simulated_set import SimulatedMember
from kubesched_lint.engine.model.pod import SpreadConstraint
from kubesched_lint.engine.scheduler.framework import with_enforced_constraints
from kubesched_lint.engine.scheduler.topology import NO_OTHERS, counted_domains

REPLICATED = ("Deployment", "ReplicaSet", "ReplicationController", "StatefulSet")


def lessened(member: SimulatedMember, event: str, bounds: EventBounds) -> None:
    """Lower the most pods in ``bounds`` of an event of ``UNREACHABLE_OF`` where each loss leaves some missing."""
    simulated, asked = member.set, member.workload.kind in REPLICATED and not any(map(stays_there, member.kinds))
    if not asked or bounds.is_fine or simulated.supposes(event) is not None or not stands_before_losses(member):
        return
    most = max((_most_beside(member, lost) for lost in losses(simulated, event)), default=bounds.wanted)
    if most < bounds.most.pods:
        bounds.most = Bound(most, why_apart(member, event))


def _most_beside(member: SimulatedMember, lost: NodeSet) -> int:
    """Return the most pods on other nodes while just these are unreachable."""
    at = [member.set.index.positions[bound.node] for bound in member.running]
    taken, spread = sum(lost >> p & 1 for p in at), with_enforced_constraints(member.pod).spread
    if member.workload.kind == "StatefulSet":
        return member.wanted - taken
    holding = (c for c in spread if taken and leaves_empty(member, c, (lost,)) and _counts_just_its_own(member, c))
    return min((_most_held(member, c, lost, at) for c in holding), default=member.wanted)


def _counts_just_its_own(member: SimulatedMember, constraint: SpreadConstraint) -> bool:
    """Whether a spread counts all pods of a workload, also those that run, and no others."""
    selector = constraint.selector
    if selector is None or selector.is_empty or not all(selector.matches(kind.labels) for kind in member.kinds):
        return False
    return counted_of_others(member, constraint) is NO_OTHERS


def _most_held(member: SimulatedMember, constraint: SpreadConstraint, lost: NodeSet, at: list[int]) -> int:
    """Return the most pods where a spread counts a lost domain as empty; ``at`` is where its pods stand."""
    left = [p for p in at if not lost >> p & 1]
    domains = [nodes & ~lost for nodes in counted_domains(member.pod, constraint, member.set.index).values()]
    held = [sum(nodes >> p & 1 for p in left) for nodes in domains]
    grown = sum(max(pods, constraint.max_skew) for pods, nodes in zip(held, domains, strict=True) if nodes)
    return min(member.wanted, grown + len(left) - sum(held))
