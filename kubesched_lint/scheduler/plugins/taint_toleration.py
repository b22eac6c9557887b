"""A taint excludes every pod that does not tolerate it.

Mirrors ``pkg/scheduler/framework/plugins/tainttoleration/taint_toleration.go`` (v1.36).
"""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.cluster.nodeset import NodeSet
from kubesched_lint.cluster.state import ClusterState
from kubesched_lint.model.pod import Pod
from kubesched_lint.scheduler.quirks import TOLERATION_COMPARISON, has
from kubesched_lint.scheduler.tolerance import repelled
from kubesched_lint.scheduler.verdict import Rejection

NAME = "TaintToleration"


def reject(pod: Pod, state: ClusterState, among: NodeSet) -> Iterator[Rejection]:
    comparison = has(state.kubernetes_version, TOLERATION_COMPARISON)
    repelling = among & repelled(state.index, pod.tolerations, comparison=comparison)
    yield Rejection(NAME, "node(s) had untolerated taint(s)", repelling, resolvable=False)
