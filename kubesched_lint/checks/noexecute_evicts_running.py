"""Pods run on a node whose NoExecute taint they do not tolerate: they are about to be evicted."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.engine.base.text import many
from kubesched_lint.engine.model.nodes.node import Taint
from kubesched_lint.engine.model.pod import BoundPod
from kubesched_lint.engine.scenario.scenario import Member, Scenario
from kubesched_lint.engine.scheduler.tolerance import first_untolerated
from kubesched_lint.findings import Hazard, pattern


def check(it: Member) -> Iterator[Hazard]:
    doomed: dict[str, list[str]] = {}
    for bound in it.running_pods:
        taint = _evicting(bound, it.scenario)
        if taint is not None:
            doomed.setdefault(str(taint), []).append(bound.node)
    for taint_text, nodes in doomed.items():
        yield Hazard(
            at=(*it.workload.pod.path, "tolerations"),
            key=True,
            evidence=pattern(f"{many(len(nodes), 'running pod')} on {', '.join(sorted(set(nodes))[:6])}"),
            values={"count": len(nodes), "taint": taint_text, "nodes": tuple(sorted(set(nodes)))},
        )


def _evicting(bound: BoundPod, scenario: Scenario) -> Taint | None:
    position = scenario.index.positions.get(bound.node)
    if position is None:
        return None
    taints = [t for t in scenario.index.nodes[position].taints if t.effect == "NoExecute"]
    return first_untolerated(bound.pod.tolerations, taints)
