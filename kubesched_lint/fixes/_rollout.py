"""A rolling update that takes an old pod away before it adds a new one."""

from __future__ import annotations

from kubesched_lint.analysis.remedy import Remedy
from kubesched_lint.manifests.changes import Put, Remove
from kubesched_lint.manifests.recognise import value_at
from kubesched_lint.model.workload import Workload

_BEFORE_TEMPLATE = ("replicas", "selector", "revisionHistoryLimit", "minReadySeconds")


def room_first(workload: Workload) -> Remedy:
    """Safe but for a single replica, of which none would be left for a while."""
    at = (*workload.strategy.path, "rollingUpdate")
    return Remedy(
        "set maxSurge: 0 and maxUnavailable: 1, so that an old pod makes room first",
        safe=workload.replicas > 1 or workload.kind == "DaemonSet",
        changes=(
            Put((*at, "maxSurge"), 0, after=_BEFORE_TEMPLATE),
            Put((*at, "maxUnavailable"), 1, after=_BEFORE_TEMPLATE),
        ),
    )


def recreate(workload: Workload, *, safe: bool) -> Remedy:
    """All old pods go before new ones come; ``rollingUpdate`` may not stand beside it."""
    at = workload.strategy.path
    written = value_at(getattr(workload.source, "value", None), (*at, "rollingUpdate")) is not None
    change = Put((*at, "type"), "Recreate", after=_BEFORE_TEMPLATE)
    return Remedy(
        "use strategy type Recreate, so that the old pod lets go of the claim first",
        safe,
        (change, Remove((*at, "rollingUpdate"))) if written else (change,),
    )
