"""A pod that needs a kubelet feature runs only on nodes whose kubelet declares it.

Mirrors ``pkg/scheduler/framework/plugins/nodedeclaredfeatures/nodedeclaredfeatures.go`` (v1.36). A sketched node of
unknown resources has unknown features too, and accepts the pod.
"""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.cluster.nodeset import NodeSet, of, positions
from kubesched_lint.cluster.state import ClusterState
from kubesched_lint.model.pod import Pod
from kubesched_lint.scheduler.quirks import NODE_DECLARED_FEATURES, has
from kubesched_lint.scheduler.verdict import Rejection

NAME = "NodeDeclaredFeatures"


def reject(pod: Pod, state: ClusterState, among: NodeSet) -> Iterator[Rejection]:
    if not pod.required_features or not has(state.kubernetes_version, NODE_DECLARED_FEATURES):
        return
    wanted = frozenset(pod.required_features)
    lacking = of(
        i
        for i in positions(among & ~state.index.unknown_resources)
        if not wanted <= frozenset(state.index.nodes[i].declared_features)
    )
    yield Rejection(NAME, "node(s) didn't match Pod's required features", lacking, resolvable=False)
