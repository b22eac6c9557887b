"""Nodes that a DaemonSet skips because of their taints."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.engine.scenario.others.room import taints_in_the_way
from kubesched_lint.engine.scenario.scenario import Member
from kubesched_lint.explaining.nodes.missed_nodes import daemons_where_missed, missed_nodes
from kubesched_lint.explaining.remedies.nodes import tolerate
from kubesched_lint.explaining.remedies.remedy import Remedy
from kubesched_lint.findings import Hazard, pattern


def check(it: Member) -> Iterator[Hazard]:
    running, missed = it.daemon_nodes, missed_nodes(it)
    if not missed or not running or daemons_where_missed(it):
        return  # nodes where other DaemonSets run are a matter of daemonset-misses-shared-nodes
    matching = running.bit_count() + missed.bit_count()
    taints = taints_in_the_way(it, missed)
    yield Hazard(
        at=(*it.workload.pod.path, "tolerations"),
        key=True,
        evidence=pattern(f"{running.bit_count()} of {matching} matching nodes"),
        values={
            "missed": missed.bit_count(),
            "count": matching,
            "nodes": it.scenario.names(missed),
            "taints": tuple(str(t) for t in taints),
        },
    )


def fix(hazard: Hazard, it: Member) -> Iterator[Remedy]:
    """Tolerate the taints of the nodes that it misses."""
    yield from tolerate(it, missed_nodes(it))
