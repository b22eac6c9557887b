"""nodeName puts the pod on a node past the scheduler: nobody checks whether it fits."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.analysis.facts import Facts
from kubesched_lint.analysis.nearest import hint
from kubesched_lint.analysis.remedy import Remedy
from kubesched_lint.checks._remedies import select_by_label
from kubesched_lint.findings import Hazard, pattern
from kubesched_lint.model.workload import Workload


def check(workload: Workload, facts: Facts) -> Iterator[Hazard]:
    node = workload.pod.node_name
    absent = facts.cluster is not None and node not in facts.index.positions
    yield Hazard(
        at=(*workload.pod.path, "nodeName"),
        evidence=pattern(f"nodeName {node} is written in the manifest"),
        values={"node": node, "nearest": hint(facts.nearest_node(node), "there is ") if absent else ""},
        variant="absent" if absent else "default" if workload.kind != "Pod" else "pod",
    )


def fix(hazard: Hazard, workload: Workload, facts: Facts) -> Iterator[Remedy]:
    """Ask the scheduler for the same node."""
    if hazard.variant != "absent":
        yield from select_by_label(workload, facts, never_runs=False)
