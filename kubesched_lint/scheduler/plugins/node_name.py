"""A pod that names its node can run on no other.

Mirrors ``pkg/scheduler/framework/plugins/nodename/node_name.go`` (v1.36). Such a pod goes directly to the kubelet, so
the scheduler sees it only in simulations.
"""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.cluster.nodeset import NodeSet
from kubesched_lint.cluster.state import ClusterState
from kubesched_lint.model.pod import Pod
from kubesched_lint.scheduler.verdict import Rejection

NAME = "NodeName"


def reject(pod: Pod, state: ClusterState, among: NodeSet) -> Iterator[Rejection]:
    if pod.node_name:
        others = among & ~state.index.named([pod.node_name])
        yield Rejection(NAME, "node(s) didn't match the requested node name", others, resolvable=False)
