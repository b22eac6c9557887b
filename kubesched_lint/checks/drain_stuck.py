"""A budget that allows no eviction: kubectl drain retries forever."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.engine.base.text import many
from kubesched_lint.engine.scenario.scenario import Member
from kubesched_lint.explaining.disruption import is_linted, nothing_may_go, stuck_budgets
from kubesched_lint.explaining.remedies.remedy import Remedy, written_at
from kubesched_lint.findings import Hazard, Place
from kubesched_lint.sources.manifests.changes import Change, Put, Remove


def check(it: Member) -> Iterator[Hazard]:
    replicas = it.replicas
    for budget in stuck_budgets(it):
        linted, in_resource = is_linted(budget, it.scenario), bool(getattr(budget.source, "moves", ()))
        written = budget.bound_path if in_resource else budget.path
        yield Hazard(
            at=written if linted else it.workload.replicas_path,
            source=budget.source if linted else None,
            victim=it.workload.ref,
            evidence=nothing_may_go(it, budget),
            variant="of_operator" if in_resource and not linted else "default",
            values={"budget": budget.name, "bound": budget.bound, "replicas": replicas},
            related=(Place(it.workload.replicas_path, many(replicas, "replica"), it.workload.source, it.workload.ref),),
        )


def fix(hazard: Hazard, it: Member) -> Iterator[Remedy]:
    """Allow one pod at a time to be missing."""
    spec = written_at(hazard.source, ("spec",))
    if not isinstance(spec, dict):
        return
    changes: tuple[Change, ...] = (Put(("spec", "maxUnavailable"), 1, after=("minAvailable",)),)
    if "minAvailable" in spec:
        changes = (*changes, Remove(("spec", "minAvailable")))
    who = "one pod at a time" if it.replicas > 1 else "its only pod"
    yield Remedy(f"set maxUnavailable: 1, so that {who} may go", safe=False, changes=changes)
