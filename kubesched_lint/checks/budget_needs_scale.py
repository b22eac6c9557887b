"""A budget that counts by scale, and pods whose controller has none: the disruption controller gives up."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.engine.controllers.bounds import owner_kind
from kubesched_lint.engine.scenario.scenario import Member
from kubesched_lint.explaining.disruption import is_linted, unscaled_budgets
from kubesched_lint.findings import Hazard, Place, proof

_RESOURCES = {"CronJob": "jobs.batch", "DaemonSet": "daemonsets.apps", "Job": "jobs.batch"}


def check(it: Member) -> Iterator[Hazard]:
    kind = owner_kind(it.workload)
    resource = _RESOURCES.get(kind)
    why = f"{resource} has none" if resource else "these pods have none"
    for unscaled in unscaled_budgets(it):
        budget, linted = unscaled.budget, is_linted(unscaled.budget, it.scenario)
        yield Hazard(
            at=budget.bound_path if linted else ("metadata", "name"),
            source=budget.source if linted else None,
            victim=it.workload.ref,
            variant="" if unscaled.hits is it.workload else "beside",
            # getExpectedScale of pkg/controller/disruption/disruption.go; pods that have finished count as well.
            evidence=proof(
                f"{budget.bound}: {why}, so 0 disruptions are allowed", assumes=(f"pods of {it.workload} exist",)
            ),
            values={"budget": budget.name, "bound": budget.bound, "why": why, "other": str(unscaled.hits)},
            related=(Place(("metadata", "name"), why, it.workload.source, it.workload.ref),) if linted else (),
        )
