"""Cordoned nodes refuse pods that do not tolerate the cordon.

Mirrors ``pkg/scheduler/framework/plugins/nodeunschedulable/node_unschedulable.go`` (v1.36).
"""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.cluster.nodeset import NodeSet
from kubesched_lint.cluster.state import ClusterState
from kubesched_lint.model.pod import Pod
from kubesched_lint.scheduler.quirks import TOLERATION_COMPARISON, has
from kubesched_lint.scheduler.tolerance import CORDON, tolerates_any
from kubesched_lint.scheduler.verdict import Rejection

NAME = "NodeUnschedulable"


def reject(pod: Pod, state: ClusterState, among: NodeSet) -> Iterator[Rejection]:
    cordoned = among & state.index.cordoned
    comparison = has(state.kubernetes_version, TOLERATION_COMPARISON)
    if cordoned and not tolerates_any(pod.tolerations, CORDON, comparison=comparison):
        yield Rejection(NAME, "node(s) were unschedulable", cordoned, resolvable=False)
