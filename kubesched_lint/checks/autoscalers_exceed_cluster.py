"""The workloads fit together now, but not when their autoscalers reach their maxima at one time."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from kubesched_lint.engine.base.text import many
from kubesched_lint.engine.model.policy import Autoscaler
from kubesched_lint.engine.placing.together.joint import Impossible, contradictions
from kubesched_lint.engine.scenario.scenario import Scenario
from kubesched_lint.explaining.crowding.contradictions import proof_of, values_of
from kubesched_lint.findings import Hazard, Place


def check(scenario: Scenario) -> Iterator[Hazard]:
    """Judge fixed nodes only; set-does-not-fit reports a set that does not even fit as it is deployed."""
    if scenario.is_elastic or scenario.pools or contradictions(scenario):
        return
    full = tuple(replace(s, min_replicas=s.max_replicas) for s in scenario.manifests.autoscalers)
    for contradiction in contradictions(scenario.with_manifests(replace(scenario.manifests, autoscalers=full))):
        scalers = tuple(_growing(scenario, contradiction))
        if scalers:
            yield _hazard(scenario, contradiction, scalers)


def _growing(scenario: Scenario, contradiction: Impossible) -> Iterator[tuple[Autoscaler, int]]:
    """Yield the autoscalers of the manifests that add pods to the contradiction, with how many pods they ask for."""
    for demand in contradiction.demands:
        member = scenario.member(demand.workload)
        if member.autoscaler is not None and member.autoscaler.source is not None and member.replicas < demand.count:
            yield member.autoscaler, demand.count


def _hazard(scenario: Scenario, contradiction: Impossible, scalers: tuple[tuple[Autoscaler, int], ...]) -> Hazard:
    *others, (last, _) = scalers
    return Hazard(
        at=last.path,
        source=last.source,
        victim=contradiction.demands[-1].workload.ref,
        together=tuple(d.workload.ref for d in contradiction.demands),
        evidence=proof_of(contradiction, scenario, "these autoscalers reach their maxima at one time"),
        values={
            **values_of(contradiction),
            "scalers": tuple(f"{s.bounds[0]} of {s.kind} {s.name}" for s, _ in scalers),
            "count": len(scalers),
        },
        related=tuple(Place(s.path, f"the maximum: {_made(s, n)}", s.source) for s, n in others),
    )


def _made(scaler: Autoscaler, count: int) -> str:
    """Return ``8 pods``, or of how many of them quotas let in fewer: ``8 pods, of which quotas let in 6``."""
    less = f", of which quotas let in {count}" if count < scaler.max_replicas else ""
    return f"{many(max(count, scaler.max_replicas), 'pod')}{less}"
