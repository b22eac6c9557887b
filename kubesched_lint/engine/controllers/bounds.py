"""Resolve maxSurge, maxUnavailable and similar numbers or percentages against a replica count.

Mirrors ``k8s.io/apimachinery/pkg/util/intstr`` GetScaledValueFromIntOrPercent and ``pkg/controller/deployment/util``
ResolveFenceposts (v1.36).
"""

from __future__ import annotations

from collections.abc import Iterable

from kubesched_lint.engine.model.labels import Labels, go_int
from kubesched_lint.engine.model.policy import DisruptionBudget
from kubesched_lint.engine.model.workloads.workload import Strategy, Workload


def scaled(bound: int | str | None, total: int, *, up: bool) -> int:
    """Return a number unchanged, and a percentage of ``total`` rounded up or down; 0 for None and invalid text."""
    if bound is None:
        return 0
    if isinstance(bound, int):
        return bound
    text = bound.strip()
    share = go_int(text[:-1]) if text.endswith("%") and text[:-1].isdigit() else None
    if share is None:
        return 0
    product = share * total
    return -(-product // 100) if up else product // 100


def rolling_bounds(strategy: Strategy, replicas: int) -> tuple[int, int]:
    """Return ``(maxSurge, maxUnavailable)`` of a Deployment of this size; both zero makes maxUnavailable one."""
    surge = scaled(strategy.max_surge, replicas, up=True)
    unavailable = scaled(strategy.max_unavailable, replicas, up=False)
    if not surge and not unavailable:
        unavailable = 1
    return surge, min(unavailable, replicas)


def daemon_bounds(strategy: Strategy, desired: int) -> tuple[int, int]:
    """Return ``(maxSurge, maxUnavailable)`` of a DaemonSet on ``desired`` nodes; both percentages round up.

    Mirrors ``pkg/controller/daemon/util`` SurgeCount and UnavailableCount.
    """
    surge = scaled(strategy.max_surge, desired, up=True)
    unavailable = scaled(strategy.max_unavailable, desired, up=True)
    if desired and not surge and not unavailable:
        unavailable = 1
    return surge, unavailable


# --- A PodDisruptionBudget lets the eviction API remove a pod while enough healthy pods remain ------------------------


def allowed_disruptions(budget: DisruptionBudget, expected: int, healthy: int) -> int:
    """Return how many pods may be evicted now; percentages round up.

    ``expected`` is what the budget expects (``DisruptionBudget.expected``), ``healthy`` the number of ready selected
    pods.
    """
    return max(healthy - desired_healthy(budget, expected), 0) if expected else 0


def allowed_if_healthy(budget: DisruptionBudget, kind: str, replicas: int) -> int:
    """Return how many pods may be evicted if the budget selects all pods of one workload, and they are ready."""
    return allowed_disruptions(budget, budget.expected(replicas, [(kind, replicas)]), replicas)


def desired_healthy(budget: DisruptionBudget, expected: int) -> int:
    """Return how many healthy pods the budget requires."""
    if budget.max_unavailable is not None:
        return max(expected - scaled(budget.max_unavailable, expected, up=True), 0)
    return scaled(budget.min_available, expected, up=True)


def lets_unready_go(budget: DisruptionBudget, expected: int, healthy: int) -> bool:
    """Return whether a running pod that is not ready may be evicted without using up a disruption."""
    if budget.unhealthy_pod_eviction_policy == "AlwaysAllow":
        return True
    desired = desired_healthy(budget, expected)
    return healthy >= desired > 0


def covers(budget: DisruptionBudget, namespace: str, labels: Labels) -> bool:
    """Return whether the budget selects the pod; an absent selector selects none, an empty one all in the namespace."""
    return budget.namespace == namespace and budget.selector is not None and budget.selector.matches(labels)


def owner_kind(workload: Workload) -> str:
    """Return the kind that a budget asks for the scale of these pods; empty if the card of a resource does not say."""
    return workload.kind if workload.custom is None else workload.custom.owner


def unknown_scale(workload: Workload, budgets: Iterable[DisruptionBudget]) -> str:
    """Return which budget asks an operator for a scale that it may not have; empty if none does."""
    custom = workload.custom
    if custom is None or not custom.owner or (custom.replica_pods and custom.owner == custom.ref.kind):
        return ""
    for budget in budgets:
        if budget.may_fail(custom.owner) and covers(budget, workload.namespace, workload.pod.labels):
            name = f"PodDisruptionBudget {budget.namespace}/{budget.name} ({budget.bound})"
            what = custom.resource if custom.owner == custom.ref.kind else custom.owner
            return f"whether {name} works: it needs the scale subresource of {what}"
    return ""
