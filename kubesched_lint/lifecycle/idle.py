"""Find the events that do not concern a workload."""

from __future__ import annotations

from kubesched_lint.lifecycle.event_outcomes import scaled_to, size_after, zones
from kubesched_lint.lifecycle.setting import Setting
from kubesched_lint.model.workload import ROLLED_OUT, SCALED


def idle(setting: Setting, event: str, number: int) -> str:
    """Return why an event does not concern a workload; empty if it does."""
    workload, scaler = setting.workloads[number], setting.scalers.get(number)
    scalable = workload.kind in SCALED
    if workload.held and not workload.replicas:
        return "paused: no pods" if workload.held == "paused" else workload.held
    if event == "rollout" and workload.held:
        return workload.held
    if event == "rollout" and workload.kind not in ROLLED_OUT:
        return "–"
    if event == "rollout" and workload.strategy.type == "OnDelete":
        return "OnDelete"
    if event == "hpa-max" and (scaler is None or not scalable):
        return "no HPA"
    asked = scaled_to(event)
    if asked is not None:
        return "–" if asked not in setting.scaled.get(number, ()) else f"has {asked}" * (asked == workload.replicas)
    if event == "scale-down" and not (scalable and size_after(setting, event, number) < workload.replicas):
        return "–"
    if not setting.nodes and event in ("node-loss", "drain"):
        return "no nodes"
    if event == "zone-loss" and not zones(setting):
        return "no zones"
    if not setting.wanted(number):
        return "no pods"
    return ""
