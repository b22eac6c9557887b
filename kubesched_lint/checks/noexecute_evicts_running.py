"""Pods run on a node whose NoExecute taint they do not tolerate: they are about to be evicted."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.analysis.facts import Facts
from kubesched_lint.findings import Hazard, pattern
from kubesched_lint.model.node import Taint
from kubesched_lint.model.pod import BoundPod
from kubesched_lint.model.workload import Workload
from kubesched_lint.scheduler.tolerance import first_untolerated


def check(workload: Workload, facts: Facts) -> Iterator[Hazard]:
    doomed: dict[str, list[str]] = {}
    for bound in facts.running_pods(workload):
        taint = _evicting(bound, facts)
        if taint is not None:
            doomed.setdefault(str(taint), []).append(bound.node)
    for taint_text, nodes in doomed.items():
        yield Hazard(
            at=(*workload.pod.path, "tolerations"),
            key=True,
            evidence=pattern(f"{len(nodes)} running pods on {', '.join(sorted(set(nodes))[:6])}"),
            values={"count": len(nodes), "taint": taint_text, "nodes": tuple(sorted(set(nodes)))},
        )


def _evicting(bound: BoundPod, facts: Facts) -> Taint | None:
    position = facts.index.positions.get(bound.node)
    if position is None:
        return None
    taints = [t for t in facts.index.nodes[position].taints if t.effect == "NoExecute"]
    return first_untolerated(bound.pod.tolerations, taints)
