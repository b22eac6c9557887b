"""How many replicas a workload has after an event that scales it."""

from __future__ import annotations

from kubesched_lint.engine.events.start.simulated_set import SimulatedMember

_SCALE_TO = "scale-to-"


def scale_event(size: int) -> str:
    """Return the name of the event that scales a workload to ``size`` replicas."""
    return f"{_SCALE_TO}{size}"


def scaled_to(event: str) -> int | None:
    """Return the number of replicas in the name of an event; None if it has none."""
    size = event.removeprefix(_SCALE_TO)
    return int(size) if size != event and size.isascii() and size.isdigit() else None


def size_after(member: SimulatedMember, event: str) -> int:
    """Return the replicas after an event: those in its name, the HPA's maximum or minimum, or half without an HPA."""
    asked = scaled_to(event)
    if asked is not None:
        return asked
    scaler = member.scaler
    if event == "hpa-max" and scaler is not None:
        return scaler.max_replicas
    replicas = member.workload.replicas
    least = max(scaler.min_replicas, 1) if scaler is not None else -(-replicas // 2)
    return min(least, replicas)
