"""A DaemonSet that matches no node makes no pods, without any error."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.engine.base.text import many
from kubesched_lint.engine.controllers.daemonset import targets
from kubesched_lint.engine.scenario.nodes.unknown_nodes import check_known
from kubesched_lint.engine.scenario.others.room import taints_in_the_way
from kubesched_lint.engine.scenario.scenario import Member
from kubesched_lint.explaining.near_misses.nearest import FIXED, hint, miss_of
from kubesched_lint.explaining.remedies.nodes import spell_as_nodes_do, tolerate
from kubesched_lint.explaining.remedies.remedy import Remedy
from kubesched_lint.findings import Hazard, Severity, pattern


def check(it: Member) -> Iterator[Hazard]:
    reach = it.reach
    if it.workload.kind != "DaemonSet" or reach.tolerated or targets(it.pod, it.scenario.index)[0]:
        return  # its controller does not read the scheduler's configuration
    nodes = it.scenario.today.bit_count()
    if reach.matching:
        taints = taints_in_the_way(it, reach.matching)
        yield Hazard(
            at=(*it.workload.pod.path, "tolerations"),
            key=True,
            evidence=pattern(f"{many(reach.matching.bit_count(), 'matching node')}, all tainted"),
            values={"nodes": nodes, "taints": tuple(str(t) for t in taints), "nearest": ""},
            severity=Severity.NOTE,
            variant="taints",
        )
        return
    check_known(it.pod, it.scenario)
    miss = miss_of(it)
    yield Hazard(
        at=miss.at,
        evidence=pattern(f"0 of {many(nodes, 'node')} match {miss.wanted}"),
        # The nodes may come later; but if a node has almost the same label, that label was meant. Another operating
        # system, architecture or machine type is meant as it is: the same files serve clusters with and without
        # such nodes.
        severity=None if miss.nearest and miss.key not in FIXED else Severity.NOTE,
        values={"nodes": nodes, "wanted": miss.wanted, "nearest": hint(miss.nearest)},
        cause=miss.lack,
    )


def fix(hazard: Hazard, it: Member) -> Iterator[Remedy]:
    """Tolerate the taint, or select a label that nodes have."""
    if hazard.variant == "taints":
        yield from tolerate(it, it.reach.matching)
    else:
        yield from spell_as_nodes_do(it.workload, hazard.at, it.scenario.index.nodes)
