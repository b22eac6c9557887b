"""Pods that are proven to stay missing at an autoscaler's maximum, in the words of the bound that proves it."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.engine.placing.rollout import price_of_going_first
from kubesched_lint.engine.scenario.scenario import Member
from kubesched_lint.explaining.ends.bad_ends import bad_end
from kubesched_lint.explaining.ends.hazards import is_helped_by_going_first, told
from kubesched_lint.explaining.ends.reasons import is_uncreated, needs_extra_pod
from kubesched_lint.explaining.sizes.quota_raise import raise_for
from kubesched_lint.explaining.sizes.replicas import places_that_scale, scaling_values
from kubesched_lint.findings import Hazard


def check(it: Member) -> Iterator[Hazard]:
    scaler = it.autoscaler
    end = None if scaler is None else bad_end(it, "hpa-max")
    if scaler is None or end is None:
        return
    # What is stuck at the maximum, and also at the size of now, is one cause: rollout-never-ends tells it.
    before = [bad_end(it, event) for event in (("deploy", "rollout") if end.cell.stuck else ("deploy",))]
    if any(now is not None and (now.proven or not end.proven) for now in before):
        return
    supply = end.cell.wanted if end.cell.stuck else end.cell.bound.most
    values = scaling_values(scaler, supply)
    variant = "stuck" if end.cell.stuck else "uncreated" if is_uncreated(it, end.cell) else "default"
    helps = needs_extra_pod(it, end.cell) and is_helped_by_going_first(it, end)
    price = price_of_going_first(end.cell.wanted)
    values["first"] = f"set maxSurge: 0 and maxUnavailable: 1 ({price}), " if helps else ""
    values["raise"] = raise_for(it, scaler.max_replicas) if variant == "uncreated" else ""
    yield told(it, end, variant, values, *places_that_scale(scaler, supply))
