"""The VerticalPodAutoscaler of a workload: of the manifests or of the cluster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from kubesched_lint.engine.base.places import ObjectRef
from kubesched_lint.engine.model.workloads.vertical import VerticalAutoscaler
from kubesched_lint.engine.scenario.scenario import Member, Scenario, once_per_scenario


def vertical_autoscaler_of(it: Member) -> VerticalAutoscaler | None:
    """Return the VerticalPodAutoscaler that sets its requests; None if none does, or several might.

    Its ``source`` is None if only the cluster has it.
    """
    workload = it.workload
    target = workload.ref if workload.custom is None else workload.custom.resource
    scalers = _by_target(it.scenario).get(target, ())
    return scalers[0] if len(scalers) == 1 else None


@once_per_scenario
def _by_target(scenario: Scenario) -> Mapping[ObjectRef, Sequence[VerticalAutoscaler]]:
    """Return the scaled object → its autoscalers that set requests."""
    scalers: dict[ObjectRef, list[VerticalAutoscaler]] = {}
    for scaler in _all(scenario):
        if scaler.mode != "Off":
            scalers.setdefault(scaler.target, []).append(scaler)
    return scalers


def _all(scenario: Scenario) -> tuple[VerticalAutoscaler, ...]:
    """Those of the manifests, with recommendations of the cluster where they have none, and the cluster's others."""
    live = {} if scenario.cluster is None else {s.ref: s for s in scenario.cluster.inventory.vertical_autoscalers}
    ours = (_with_status_of(live.pop(s.ref, None), s) for s in scenario.manifests.vertical_autoscalers)
    return (*ours, *live.values())


def _with_status_of(live: VerticalAutoscaler | None, scaler: VerticalAutoscaler) -> VerticalAutoscaler:
    if live is None or scaler.recommended or live.target != scaler.target:
        return scaler
    return replace(
        scaler,
        recommended={name: replace(recommendation, path=()) for name, recommendation in live.recommended.items()},
    )
