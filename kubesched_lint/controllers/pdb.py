"""A PodDisruptionBudget lets the eviction API take a pod while enough healthy ones remain.

Mirrors ``pkg/controller/disruption/disruption.go`` (getExpectedPodCount, updatePdbStatus) and
``pkg/registry/core/pod/storage/eviction.go`` (v1.36).
"""

from __future__ import annotations

from kubesched_lint.controllers.bounds import scaled
from kubesched_lint.model.labels import Labels
from kubesched_lint.model.policy import DisruptionBudget


def allowed_disruptions(budget: DisruptionBudget, expected: int, healthy: int) -> int:
    """How many pods may be evicted now. ``expected`` is what the controllers of the selected pods want (their scale).

    ``healthy`` are the selected pods that are ready. Percentages round up.
    """
    return max(healthy - desired_healthy(budget, expected), 0) if expected else 0


def desired_healthy(budget: DisruptionBudget, expected: int) -> int:
    """How many healthy pods the budget asks for."""
    if budget.max_unavailable is not None:
        return max(expected - scaled(budget.max_unavailable, expected, up=True), 0)
    return scaled(budget.min_available, expected, up=True)


def lets_unready_go(budget: DisruptionBudget, expected: int, healthy: int) -> bool:
    """Whether a pod that runs and is not ready may be evicted without using up a disruption."""
    if budget.unhealthy_pod_eviction_policy == "AlwaysAllow":
        return True
    desired = desired_healthy(budget, expected)
    return healthy >= desired > 0


def covers(budget: DisruptionBudget, namespace: str, labels: Labels) -> bool:
    """Whether the budget selects such a pod; an absent selector selects none, an empty one all of the namespace."""
    return budget.namespace == namespace and budget.selector is not None and budget.selector.matches(labels)
