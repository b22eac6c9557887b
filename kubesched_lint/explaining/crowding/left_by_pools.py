"""The pods that wait although node pools add nodes for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from kubesched_lint.engine.model.workloads.workload import Workload
from kubesched_lint.engine.placing.growth.growth import growth_plan
from kubesched_lint.engine.scenario.devices.devices import devices_unknown, needs_devices
from kubesched_lint.engine.scenario.scenario import Scenario


class Left(NamedTuple):
    """How many pods wait, and the scheduler's message; ``variant``: what a finding says of the pools."""

    pending: int
    message: str
    variant: str = ""


def left_by_pools(fewest: int, message: str, workloads: Sequence[Workload], scenario: Scenario) -> Left | None:
    """Return what waits of ``fewest`` pods; None if nothing does, or if nobody knows."""
    if not scenario.pools:
        return Left(fewest, message)
    if any(needs_devices(workload.pod, scenario) for workload in workloads) and devices_unknown(scenario):
        return None  # nobody knows the devices of the nodes that the pools could add
    plan = growth_plan(scenario)
    verdicts = [verdict for workload in workloads if (verdict := plan.of(workload)) is not None]
    if len(verdicts) < len(workloads):
        return Left(fewest, message)
    pending = min(fewest, sum(verdict.left for verdict in verdicts))
    return Left(pending, verdicts[-1].message or message, "pools") if pending else None
