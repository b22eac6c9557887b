"""A PodDisruptionBudget refuses every eviction by which a VerticalPodAutoscaler applies new requests."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.analysis.disruption import is_linted, stuck_budgets
from kubesched_lint.findings import Hazard, Place, proof
from kubesched_lint.model.vertical import vertical_autoscaler_of
from kubesched_lint.text import many
from kubesched_lint.world.world import Member


def check(it: Member) -> Iterator[Hazard]:
    """Say nothing of InPlaceOrRecreate, which also resizes pods without evicting them."""
    scaler = vertical_autoscaler_of(it.workload, it.world.manifests.vertical_autoscalers)
    replicas = it.replicas
    if scaler is None or scaler.mode not in ("Recreate", "Auto") or not scaler.evicts_from(replicas):
        return
    for budget in stuck_budgets(it):
        linted = is_linted(budget, it.world)
        yield Hazard(
            at=("spec", "targetRef"),
            source=scaler.source,
            victim=it.workload.ref,
            evidence=proof(
                f"{many(replicas, 'healthy pod')}, {budget.bound}: 0 disruptions allowed",
                demand=1,
                supply=0,
                assumes=(f"{it.workload.ref.kind} {it.workload.ref.name} runs {many(replicas, 'replica')}",),
            ),
            values={
                "scaler": f"VerticalPodAutoscaler {scaler.name}",
                "budget": budget.name,
                "bound": budget.bound,
                "replicas": replicas,
            },
            related=(Place(budget.path, budget.bound, budget.source),) if linted else (),
        )
        return
