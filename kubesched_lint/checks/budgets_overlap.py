"""Two budgets for one pod: the API server does not evict a pod that more than one budget selects."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.engine.base.limits import LONGEST_LIST
from kubesched_lint.engine.base.places import Path
from kubesched_lint.engine.base.text import and_others
from kubesched_lint.engine.scenario.scenario import Member
from kubesched_lint.explaining.disruption import first_and_last_budget, is_linted
from kubesched_lint.findings import Hazard, Place, proof

_SELECTOR: Path = ("spec", "selector")


def check(it: Member) -> Iterator[Hazard]:
    if it.workload.kind == "DaemonSet" or not it.replicas:
        return  # a drain does not evict a DaemonSet's pods
    budgets = first_and_last_budget(it, LONGEST_LIST + 1)
    if budgets.count < 2:
        return
    last, few = budgets.last_of_set, budgets.first
    names: str | tuple[str, ...] = tuple(budget.name for budget in few)
    if budgets.count > len(few):
        few = few[:LONGEST_LIST]
        names = and_others(names[:LONGEST_LIST], budgets.count - len(few))
    yield Hazard(
        at=_SELECTOR if last else ("metadata", "name"),
        source=last.source if last else None,
        victim=it.workload.ref,
        # pkg/registry/core/pod/storage/eviction.go answers 500 as soon as a second budget selects the pod.
        evidence=proof(f"{budgets.count} budgets select its pods, and an eviction takes at most 1", event="drain"),
        values={"budgets": names, "count": budgets.count},
        related=tuple(
            Place(_SELECTOR, "selects them too", budget.source)
            for budget in few
            if budget is not last and is_linted(budget, it.scenario)
        ),
    )
