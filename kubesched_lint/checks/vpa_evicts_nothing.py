"""A PodDisruptionBudget refuses every eviction by which a VerticalPodAutoscaler applies new requests."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.engine.scenario.scenario import Member
from kubesched_lint.explaining.disruption import is_linted, nothing_may_go, stuck_budgets
from kubesched_lint.explaining.sizes.vertical import vertical_autoscaler_of
from kubesched_lint.findings import Hazard, Place


def check(it: Member) -> Iterator[Hazard]:
    """Say nothing of InPlaceOrRecreate, which also resizes pods without evicting them."""
    scaler, replicas = vertical_autoscaler_of(it), it.replicas
    if scaler is None or scaler.mode == "InPlaceOrRecreate" or not scaler.evicts_from(replicas):
        return
    for budget in stuck_budgets(it):
        yield Hazard(
            at=("spec", "targetRef") if scaler.source else it.workload.replicas_path,
            source=scaler.source,
            victim=it.workload.ref,
            evidence=nothing_may_go(it, budget),
            values={
                "scaler": f"VerticalPodAutoscaler {scaler.name}",
                "budget": budget.name,
                "bound": budget.bound,
                "replicas": replicas,
            },
            related=(Place(budget.path, budget.bound, budget.source),) if is_linted(budget, it.scenario) else (),
        )
        return
