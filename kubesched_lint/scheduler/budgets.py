"""How many of a PodDisruptionBudget's pods may be taken away right now.

Mirrors ``pkg/controller/disruption/disruption.go`` (v1.36), trySync.
"""

from __future__ import annotations

from collections.abc import Iterable

from kubesched_lint.model.labels import go_int
from kubesched_lint.model.pod import BoundPod
from kubesched_lint.model.policy import DisruptionBudget


def covers(budget: DisruptionBudget, pod: BoundPod) -> bool:
    """A budget without selector, or with an empty one, covers nothing that preemption asks about."""
    if budget.selector is None or budget.selector.is_empty or budget.namespace != pod.namespace:
        return False
    return budget.selector.matches(pod.pod.labels)


def allowed_disruptions(budget: DisruptionBudget, pods: Iterable[BoundPod]) -> int:
    """``status.disruptionsAllowed`` where the snapshot has it, else as the disruption controller would compute it.

    Percentages and maxUnavailable are taken of the scale of the pods' controllers, for which we take the pods they
    have. Pods without a controller count for nothing there: such a budget allows no disruption at all.
    """
    if budget.disruptions_allowed is not None:
        return budget.disruptions_allowed
    covered = [pod for pod in pods if covers(budget, pod)]
    healthy = sum(1 for pod in covered if pod.node and pod.ready and not pod.terminating)
    scale = sum(1 for pod in covered if pod.owner is not None)
    if budget.max_unavailable is not None:
        expected, desired = scale, max(0, scale - resolved(budget.max_unavailable, scale))
    elif isinstance(budget.min_available, str):
        expected, desired = scale, resolved(budget.min_available, scale)
    elif budget.min_available is not None:
        expected, desired = len(covered), budget.min_available
    else:
        expected = desired = 0
    return max(0, healthy - desired) if expected > 0 else 0


def resolved(bound: int | str, total: int) -> int:
    """An IntOrPercent of ``total``, rounded up; text that is neither counts as 0."""
    if isinstance(bound, int):
        return bound
    share = go_int(bound[:-1]) if bound.endswith("%") and bound[:-1].isdigit() else None
    return 0 if share is None else -(-share * total // 100)
