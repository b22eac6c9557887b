"""Whose waiting pods may not be requeued when the pod is gone that kept them from a node; see ``transitions.hints``."""

from __future__ import annotations

from collections.abc import Sequence

from kubesched_lint.engine.events.start.simulated_set import (
    SimulatedMember,
    SimulatedSet,
    once_per_member,
    once_per_set,
)
from kubesched_lint.engine.events.transitions.hints import AFFINITY, may_miss, may_repel_unseen, wakes_on_delete
from kubesched_lint.engine.model.pod import Pod


@once_per_member
def may_overlook(member: SimulatedMember) -> bool:
    """Whether its pods can miss the end of a pod: by their own terms, or by those of a pod that repels them."""
    simulated, pod = member.set, member.pod
    return may_miss([pod], simulated.cluster) or any(
        repels_unseen(simulated, pod, other) for other in _hard_to_see(simulated)
    )


def repels_unseen(simulated: SimulatedSet, pod: Pod, other: Pod) -> bool:
    """Whether anti-affinity keeps two pods apart, and the first may go on waiting when the other is gone."""
    pairs = (pod, other), (other, pod)
    repels = any(simulated.selects(term, *pair) for pair in pairs for term in pair[0].required_anti_affinity)
    return repels and not wakes_on_delete(pod, frozenset([AFFINITY]), other, simulated.cluster)


@once_per_set
def _hard_to_see(simulated: SimulatedSet) -> Sequence[Pod]:
    """Return the kinds of pods whose end those whom they repel may miss."""
    kinds = (pod for own in simulated.kinds for pod in own)
    pods = dict.fromkeys((*kinds, *(other.pod for other in simulated.others)))
    return [pod for pod in pods if may_repel_unseen(pod, simulated.cluster)]
