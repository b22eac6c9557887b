"""A stuck pod of the old template is in the way of the template that mends it."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.analysis.facts import Facts
from kubesched_lint.findings import Hazard, witness
from kubesched_lint.model.workload import Workload


def check(workload: Workload, facts: Facts) -> Iterator[Hazard]:
    """OrderedReady waits for every pod below before it replaces one, also for those that can never be ready."""
    if workload.pod_management != "OrderedReady" or workload.strategy.type != "RollingUpdate":
        return
    if facts.template_changed(workload) is not True:
        return
    stuck = [bound for bound in facts.running_pods(workload) if not bound.node and not bound.terminating]
    if not stuck:
        return
    names = tuple(sorted(bound.name for bound in stuck))
    yield Hazard(
        at=("metadata", "name"),
        evidence=witness(
            f"{', '.join(names)} of the running revision has no node",
            trace=(
                f"the new template of {workload} is applied",
                f"the controller waits for {names[0]} to become ready before it replaces any pod",
                f"{names[0]} keeps the old template, and stays Pending",
            ),
        ),
        values={"pods": names, "count": len(names)},
    )
