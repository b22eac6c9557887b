"""nodeName puts the pod on a node without the scheduler, so nothing checks whether it fits."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.engine.base.errors import UncheckedError
from kubesched_lint.engine.base.placeholders import to_fill_in
from kubesched_lint.engine.scenario.nodes.unknown_nodes import is_unknown_host, nearest_node
from kubesched_lint.engine.scenario.scenario import Member
from kubesched_lint.explaining.near_misses.nearest import correction, hint
from kubesched_lint.explaining.remedies.nodes import select_by_label
from kubesched_lint.explaining.remedies.remedy import Remedy
from kubesched_lint.findings import Hazard, Severity, pattern

_VARIANTS = {"Pod": "pod", "Job": "job", "CronJob": "job"}


def check(it: Member) -> Iterator[Hazard]:
    node = it.workload.pod.node_name
    if word := to_fill_in(node):
        raise UncheckedError(f"{word} is a placeholder, fill it in first")
    absent = it.scenario.cluster is not None and node not in it.scenario.index.positions
    absent = absent and not is_unknown_host(node, it.scenario)
    near = nearest_node(it.scenario, node) if absent else ""
    variant = "absent" if absent else _VARIANTS.get(it.workload.kind, "default")
    yield Hazard(
        at=(*it.workload.pod.path, "nodeName"),
        evidence=pattern(f"nodeName {node} is written in the manifest"),
        severity=Severity.NOTE if variant == "pod" else None,  # somebody chose the node for this one pod
        values={"node": node, "nearest": hint(near, "there is "), "correction": correction(near)},
        cause=node if absent and not near else "",
        variant=variant,
    )


def fix(hazard: Hazard, it: Member) -> Iterator[Remedy]:
    """Select the same node through the scheduler."""
    if hazard.variant != "absent":
        yield from select_by_label(it, never_runs=False)
