"""Every node that the pod could use is closed at the moment."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.engine.base.text import many, plural
from kubesched_lint.engine.cluster.nodes.transient import transient_state_of
from kubesched_lint.engine.placing.scenarios import usable_without_transient
from kubesched_lint.engine.scenario.premises.premises import node_premises
from kubesched_lint.engine.scenario.scenario import Member
from kubesched_lint.findings import Hazard, proof


def check(it: Member) -> Iterator[Hazard]:
    """Report only on today's view of the cluster: without transient states no node is closed."""
    if it.workload.kind == "DaemonSet" or it.pod.node_name or it.usable:
        return
    closed = usable_without_transient(it)
    if not closed:
        return
    states = tuple(str(state) for state in map(transient_state_of, it.scenario.index.nodes_of(closed)) if state)
    count = closed.bit_count()
    cordoned = closed & ~it.scenario.index.cordoned == 0
    reason = "node(s) were unschedulable" if cordoned else "node(s) had untolerated taint(s)"
    yield Hazard(
        at=("metadata", "name"),
        evidence=proof(
            f"{count} of {many(count, 'node')} that it could use {plural(count, 'is', 'are')} closed: {reason}",
            demand=1,
            supply=0,
            assumes=node_premises(it),
        ),
        values={"count": count, "states": states, "nodes": it.scenario.names(closed), "replicas": it.replicas},
        variant="cordoned" if cordoned else "default",
    )
