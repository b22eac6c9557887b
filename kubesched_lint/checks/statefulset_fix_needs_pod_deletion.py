"""A stuck pod of the old template blocks the new template that would fix it."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.findings import Hazard, witness
from kubesched_lint.world.world import Member


def check(it: Member) -> Iterator[Hazard]:
    """OrderedReady waits for all pods with lower ordinals before it replaces one, even if they can never be ready."""
    if it.workload.pod_management != "OrderedReady" or it.workload.strategy.type != "RollingUpdate":
        return
    if it.template_changed is not True:
        return
    stuck = [bound for bound in it.running_pods if not bound.node and not bound.terminating]
    if not stuck:
        return
    names = tuple(sorted(bound.name for bound in stuck))
    yield Hazard(
        at=("metadata", "name"),
        evidence=witness(
            f"{', '.join(names)} of the running revision has no node",
            trace=(
                f"the new template of {it.workload} is applied",
                f"the controller waits for {names[0]} to become ready before it replaces any pod",
                f"{names[0]} keeps the old template, and stays Pending",
            ),
        ),
        values={"pods": names, "count": len(names)},
    )
