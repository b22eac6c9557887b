"""Which events do not concern a workload, and why."""

from __future__ import annotations

from kubesched_lint.engine.bounds.supposed_bounds import after_of
from kubesched_lint.engine.events.start.simulated_set import UNREACHABLE_OF, SimulatedMember, zones
from kubesched_lint.engine.events.start.sizes import scaled_to, size_after
from kubesched_lint.engine.model.workloads.workload import ROLLED_OUT, SCALED


def idle(member: SimulatedMember, event: str) -> str:
    """Return why an event does not concern a workload; empty if it does."""
    simulated = member.set
    event = UNREACHABLE_OF.get(event, event)
    workload, scaler = member.workload, member.scaler
    scalable = workload.kind in SCALED
    if workload.suspended and not workload.replicas:
        return "paused: no pods" if workload.suspended == "paused" else workload.suspended
    hypothesis = simulated.supposes(event)
    if hypothesis is not None:
        return "" if member.wanted or after_of(simulated).wanted[member.number] else "no pods"
    if event == "rollout" and workload.suspended:
        return workload.suspended
    if event == "rollout" and workload.kind not in ROLLED_OUT:
        return "–"
    if event == "rollout" and workload.strategy.type == "OnDelete":
        return "OnDelete"
    if event == "hpa-max" and (scaler is None or not scalable):
        return "no HPA"
    asked = scaled_to(event)
    if asked is not None:
        return "–" if asked not in member.scaled else f"has {asked}" * (asked == workload.replicas)
    if event == "scale-down" and not (scalable and size_after(member, event) < workload.replicas):
        return "–"
    if not simulated.nodes and event in ("node-loss", "drain"):
        return "no nodes"
    if event == "zone-loss":
        zone_nodes = zones(simulated)
        if not zone_nodes:
            return "no zones"
        if len(zone_nodes) == 1 and sum(map(len, zone_nodes.values())) == len(simulated.nodes):
            return "one zone"  # nothing runs without any node, whatever the workload asks
    if not member.wanted:
        return "no pods"
    return ""
