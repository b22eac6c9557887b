"""Pods that are proven to stay missing at an autoscaler's maximum, in the words of the bound that proves it."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.analysis.replicas import places_that_scale, scaling_values
from kubesched_lint.checks._bad_ends import told
from kubesched_lint.checks._reasons import is_uncreated
from kubesched_lint.findings import Hazard
from kubesched_lint.verdicts.bad_ends import bad_end
from kubesched_lint.world.world import Member


def check(it: Member) -> Iterator[Hazard]:
    scaler = it.autoscaler
    end = None if scaler is None else bad_end(it, "hpa-max")
    now = bad_end(it, "deploy")
    if scaler is None or end is None or (now is not None and (now.proven or not end.proven)):
        return
    supply = end.cell.wanted if end.cell.stuck else end.cell.bound.most
    values = scaling_values(scaler, supply)
    variant = "stuck" if end.cell.stuck else "uncreated" if is_uncreated(it, end.cell) else "default"
    yield told(it, end, variant, values, *places_that_scale(scaler, supply))
