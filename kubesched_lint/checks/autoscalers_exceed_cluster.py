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
    for found in contradictions(scenario.with_manifests(replace(scenario.manifests, autoscalers=full))):
        scalers = tuple(_growing(scenario, found))
        if scalers:
            yield _hazard(scenario, found, scalers)


def _growing(scenario: Scenario, found: Impossible) -> Iterator[tuple[Autoscaler, int]]:
    """Yield the autoscalers of the manifests that add pods to the contradiction, with how many pods they ask for."""
    for demand in found.demands:
        it = scenario.member(demand.workload)
        if it.autoscaler is not None and it.autoscaler.source is not None and it.replicas < demand.count:
            yield it.autoscaler, demand.count


def _hazard(scenario: Scenario, found: Impossible, scalers: tuple[tuple[Autoscaler, int], ...]) -> Hazard:
    *others, (last, _) = scalers
    return Hazard(
        at=last.path,
        source=last.source,
        victim=found.demands[-1].workload.ref,
        together=tuple(d.workload.ref for d in found.demands),
        evidence=proof_of(found, scenario, "these autoscalers reach their maxima at one time"),
        values={
            **values_of(found),
            "scalers": tuple(f"{s.bounds[0]} of {s.kind} {s.name}" for s, _ in scalers),
            "count": len(scalers),
        },
        related=tuple(Place(s.path, f"the maximum: {many(n, 'pod')}", s.source) for s, n in others),
    )
