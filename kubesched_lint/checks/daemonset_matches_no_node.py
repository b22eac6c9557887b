"""A DaemonSet that no node takes makes no pods, and says nothing about it."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.analysis.facts import Facts
from kubesched_lint.analysis.nearest import hint
from kubesched_lint.analysis.remedy import Remedy
from kubesched_lint.analysis.well_known import untold_label
from kubesched_lint.checks._remedies import spell_as_nodes_do, tolerate
from kubesched_lint.findings import Hazard, Severity, UncheckedError, pattern
from kubesched_lint.model.workload import Workload


def check(workload: Workload, facts: Facts) -> Iterator[Hazard]:
    reach = facts.reach(workload)
    if workload.kind != "DaemonSet" or reach.tolerated:
        return
    nodes = facts.today.bit_count()
    if reach.matching:
        taints = facts.taints_in_the_way(workload, reach.matching)
        yield Hazard(
            at=(*workload.pod.path, "tolerations"),
            key=True,
            evidence=pattern(f"{reach.matching.bit_count()} matching nodes, all tainted"),
            values={"nodes": nodes, "taints": tuple(str(t) for t in taints), "nearest": ""},
            severity=Severity.NOTE,
            variant="taints",
        )
        return
    untold = untold_label(facts.pod(workload), facts)
    if untold:
        raise UncheckedError(f"the sketch gives no node the label {untold}; write it to have selectors on it checked")
    miss = facts.node_miss(workload)
    yield Hazard(
        at=miss.at,
        evidence=pattern(f"0 of {nodes} nodes match {miss.wanted}"),
        # Nodes may be still to come; a label that one of them nearly has was meant.
        severity=None if miss.nearest else Severity.NOTE,
        values={"nodes": nodes, "wanted": miss.wanted, "nearest": hint(miss.nearest)},
    )


def fix(hazard: Hazard, workload: Workload, facts: Facts) -> Iterator[Remedy]:
    """Tolerate the taint in the way, or ask for a label that nodes have."""
    if hazard.variant == "taints":
        yield from tolerate(workload, facts.taints_in_the_way(workload, facts.reach(workload).matching))
    else:
        yield from spell_as_nodes_do(workload, hazard.at, facts.index.nodes)
