"""A PodDisruptionBudget lets the eviction API take a pod while enough healthy ones remain.

Mirrors ``pkg/controller/disruption/disruption.go`` (getExpectedPodCount, updatePdbStatus) and
``pkg/registry/core/pod/storage/eviction.go`` (v1.36).
"""

from __future__ import annotations

from kubesched_lint.lifecycle.controllers.bounds import scaled
from kubesched_lint.model.labels import Labels
from kubesched_lint.model.policy import DisruptionBudget


def allowed_disruptions(budget: DisruptionBudget, expected: int, healthy: int) -> int:
    """How many pods may be evicted now. ``expected`` is what the controllers of the selected pods want (their scale).

    ``healthy`` are the selected pods that are ready. Percentages round up.
    """
    if budget.max_unavailable is not None:
        desired = max(expected - scaled(budget.max_unavailable, expected, up=True), 0)
    else:
        desired = scaled(budget.min_available, expected, up=True)
    return max(healthy - desired, 0) if expected else 0


def covers(budget: DisruptionBudget, namespace: str, labels: Labels) -> bool:
    """Whether the budget selects such a pod; an absent selector selects none, an empty one all of the namespace."""
    return budget.namespace == namespace and budget.selector is not None and budget.selector.matches(labels)
