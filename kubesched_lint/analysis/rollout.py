"""How far a rolling update may go above and below its replicas."""

from __future__ import annotations

from kubesched_lint.model.workload import Workload


def fenceposts(workload: Workload, replicas: int) -> tuple[int, int]:
    """``(surge, unavailable)`` in pods: surge rounds up, unavailable down, and both zero make unavailable one.

    Mirrors ResolveFenceposts in ``pkg/controller/deployment/util/deployment_util.go`` (v1.36).
    """
    surge = scaled(workload.strategy.max_surge, replicas, up=True)
    unavailable = scaled(workload.strategy.max_unavailable, replicas, up=False)
    return (surge, 1) if surge == 0 and unavailable == 0 else (surge, unavailable)


def scaled(bound: int | str | None, total: int, *, up: bool) -> int:
    """An IntOrString of ``total``: a percentage rounds as told; text that is no percentage counts as 0."""
    if bound is None:
        return 0
    if isinstance(bound, int):
        return bound
    digits = bound.removesuffix("%")
    if not digits.isdecimal() or digits == bound:
        return 0
    share = int(digits) * total
    return -(-share // 100) if up else share // 100
