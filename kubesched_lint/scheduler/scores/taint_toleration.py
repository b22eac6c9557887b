"""Nodes with fewer PreferNoSchedule taints that the pod does not tolerate score higher.

Mirrors ``pkg/scheduler/framework/plugins/tainttoleration/taint_toleration.go`` (v1.36).
"""

from __future__ import annotations

from kubesched_lint.cluster.nodeset import NodeSet
from kubesched_lint.cluster.state import ClusterState
from kubesched_lint.cluster.topology import NodeCounter
from kubesched_lint.model.pod import Pod
from kubesched_lint.scheduler.quirks import TOLERATION_COMPARISON, has
from kubesched_lint.scheduler.scores.levels import Levels, among, of_tally, scaled
from kubesched_lint.scheduler.tolerance import tolerates_any

NAME = "TaintToleration"
WEIGHT = 3


class TaintToleration:
    name = NAME
    weight = WEIGHT

    def __init__(self, pod: Pod, state: ClusterState) -> None:
        comparison = has(state.kubernetes_version, TOLERATION_COMPARISON)
        disliked = NodeCounter()
        for taint, nodes in state.index.taints.items():
            if taint.effect == "PreferNoSchedule" and not tolerates_any(pod.tolerations, taint, comparison=comparison):
                disliked.add(nodes)
        self._raw = of_tally(disliked, state.index.all)

    def levels(self, feasible: NodeSet) -> Levels:
        return scaled(among(self._raw, feasible), reverse=True)
