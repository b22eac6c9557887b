"""Every node that the pod could use is closed for the time being."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.analysis.facts import Facts
from kubesched_lint.analysis.settled import usable_when_settled
from kubesched_lint.cluster.passing import passing_of
from kubesched_lint.findings import Hazard, proof
from kubesched_lint.model.workload import Workload


def check(workload: Workload, facts: Facts) -> Iterator[Hazard]:
    """Speaks on the view of today only: on the settled one nothing is closed."""
    if workload.kind == "DaemonSet" or facts.pod(workload).node_name or facts.usable(workload):
        return
    closed = usable_when_settled(workload, facts)
    if not closed:
        return
    states = tuple(str(state) for state in map(passing_of, facts.index.nodes_of(closed)) if state)
    count = closed.bit_count()
    cordoned = closed & ~facts.index.cordoned == 0
    reason = "node(s) were unschedulable" if cordoned else "node(s) had untolerated taint(s)"
    yield Hazard(
        at=("metadata", "name"),
        evidence=proof(
            f"{count} of {count} nodes that it could use are closed: {reason}",
            demand=1,
            supply=0,
            assumes=facts.node_premises(workload),
        ),
        values={"count": count, "states": states, "nodes": facts.names(closed), "replicas": facts.replicas(workload)},
        variant="cordoned" if cordoned else "default",
    )
