"""A stuck pod of the old template blocks the new template that would fix it."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.engine.scenario.scenario import Member
from kubesched_lint.findings import Hazard, Severity, proof


def check(it: Member) -> Iterator[Hazard]:
    """OrderedReady waits for all pods with lower ordinals before it replaces one, even if they can never be ready."""
    if it.workload.pod_management != "OrderedReady" or it.workload.strategy.type != "RollingUpdate":
        return
    if it.template_changed is not True:
        return
    stuck = [bound for bound in it.running_pods if not bound.node and not bound.terminating]
    if not stuck:
        return
    placed = sum(1 for bound in it.running_pods if bound.node)
    names = tuple(sorted(bound.name for bound in stuck))
    yield Hazard(
        at=("metadata", "name"),
        evidence=proof(
            f"{', '.join(names)} of the running revision has no node, and the controller replaces no pod before "
            f"{names[0]} is ready"
        ),
        severity=Severity.WARNING,
        values={"pending": max(it.replicas - placed, 1), "pods": names, "count": len(names)},
    )
