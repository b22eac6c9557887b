"""Nodes that a DaemonSet passes over because of their taints."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.analysis.daemons import daemon_nodes
from kubesched_lint.analysis.facts import Facts
from kubesched_lint.analysis.remedy import Remedy
from kubesched_lint.checks._remedies import tolerate
from kubesched_lint.findings import Hazard, pattern
from kubesched_lint.model.workload import Workload


def check(workload: Workload, facts: Facts) -> Iterator[Hazard]:
    matching = facts.reach(workload).matching
    running = daemon_nodes(workload, facts)
    missed = matching & ~running
    if not missed or not running:
        return
    taints = facts.taints_in_the_way(workload, missed)
    yield Hazard(
        at=(*workload.pod.path, "tolerations"),
        key=True,
        evidence=pattern(f"{running.bit_count()} of {matching.bit_count()} matching nodes"),
        values={
            "missed": missed.bit_count(),
            "count": matching.bit_count(),
            "nodes": facts.names(missed),
            "taints": tuple(str(t) for t in taints),
        },
    )


def fix(hazard: Hazard, workload: Workload, facts: Facts) -> Iterator[Remedy]:
    """Tolerate the taints of the nodes that it misses."""
    missed = facts.reach(workload).matching & ~daemon_nodes(workload, facts)
    yield from tolerate(workload, facts.taints_in_the_way(workload, missed))
