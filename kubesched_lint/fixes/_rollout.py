"""A rolling update that takes an old pod away before it adds a new one."""

from __future__ import annotations

from kubesched_lint.analysis.facts import Facts
from kubesched_lint.analysis.remedy import Remedy
from kubesched_lint.fixes._written import written
from kubesched_lint.manifests.changes import Put, Remove
from kubesched_lint.model.workload import Workload

_BEFORE_TEMPLATE = ("replicas", "selector", "revisionHistoryLimit", "minReadySeconds")


def room_first(workload: Workload, facts: Facts) -> Remedy:
    """Safe where some replica stays, and nobody has written that all are to."""
    at = (*workload.strategy.path, "rollingUpdate")
    scaler = facts.autoscaler(workload)
    least = workload.replicas if scaler is None else scaler.min_replicas
    none_may_go = written(workload.source, (*at, "maxUnavailable")) in (0, "0", "0%")
    return Remedy(
        "set maxSurge: 0 and maxUnavailable: 1, so that an old pod makes room first",
        safe=workload.kind == "Deployment" and least > 1 and not none_may_go,
        changes=(
            Put((*at, "maxSurge"), 0, after=_BEFORE_TEMPLATE),
            Put((*at, "maxUnavailable"), 1, after=_BEFORE_TEMPLATE),
        ),
    )


def recreate(workload: Workload) -> Remedy:
    """All old pods go before new ones come; ``rollingUpdate`` may not stand beside it. Never safe: none runs then."""
    at = workload.strategy.path
    has_bounds = written(workload.source, (*at, "rollingUpdate")) is not None
    change = Put((*at, "type"), "Recreate", after=_BEFORE_TEMPLATE)
    return Remedy(
        "use strategy type Recreate, so that the old pod lets go of the claim first",
        safe=False,
        changes=(change, Remove((*at, "rollingUpdate"))) if has_bounds else (change,),
    )
