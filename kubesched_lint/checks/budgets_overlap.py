"""Two budgets for one pod: the API server does not evict a pod that more than one budget selects."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.analysis.disruption import budgets_of, is_linted
from kubesched_lint.findings import Hazard, Path, Place, proof
from kubesched_lint.world.world import Member

_SELECTOR: Path = ("spec", "selector")


def check(it: Member) -> Iterator[Hazard]:
    if it.workload.kind == "DaemonSet" or not it.replicas:
        return  # a drain does not evict a DaemonSet's pods
    budgets = tuple(budgets_of(it))
    if len(budgets) < 2:
        return
    ours = [budget for budget in budgets if is_linted(budget, it.world)]
    names = tuple(budget.name for budget in budgets)
    yield Hazard(
        at=_SELECTOR if ours else ("metadata", "name"),
        source=ours[-1].source if ours else None,
        victim=it.workload.ref,
        # pkg/registry/core/pod/storage/eviction.go answers 500 as soon as a second budget selects the pod.
        evidence=proof(f"{len(budgets)} budgets select its pods, and an eviction takes at most 1"),
        values={"budgets": names, "count": len(budgets)},
        related=tuple(Place(_SELECTOR, "selects them too", budget.source) for budget in ours[:-1]),
    )
