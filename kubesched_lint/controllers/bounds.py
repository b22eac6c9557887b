"""maxSurge, maxUnavailable and their like: numbers or percentages, resolved against a replica count.

Mirrors ``k8s.io/apimachinery/pkg/util/intstr`` GetScaledValueFromIntOrPercent and
``pkg/controller/deployment/util`` ResolveFenceposts (v1.36).
"""

from __future__ import annotations

from kubesched_lint.model.labels import go_int
from kubesched_lint.model.workload import Strategy


def scaled(bound: int | str | None, total: int, *, up: bool) -> int:
    """An absolute number as it is, a percentage of ``total`` rounded up or down; None and what is neither are 0."""
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
    """``(maxSurge, maxUnavailable)`` of a Deployment of this size; both zero makes maxUnavailable one."""
    surge = scaled(strategy.max_surge, replicas, up=True)
    unavailable = scaled(strategy.max_unavailable, replicas, up=False)
    if not surge and not unavailable:
        unavailable = 1
    return surge, min(unavailable, replicas)


def daemon_bounds(strategy: Strategy, desired: int) -> tuple[int, int]:
    """``(maxSurge, maxUnavailable)`` of a DaemonSet on ``desired`` nodes; both percentages round up.

    ``pkg/controller/daemon/util`` SurgeCount and UnavailableCount.
    """
    surge = scaled(strategy.max_surge, desired, up=True)
    unavailable = scaled(strategy.max_unavailable, desired, up=True)
    if desired and not surge and not unavailable:
        unavailable = 1
    return surge, unavailable
