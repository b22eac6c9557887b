"""Two pods cannot use the same host port of a node.

Mirrors ``pkg/scheduler/framework/plugins/nodeports/node_ports.go`` (v1.36).
"""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.cluster.nodeset import EMPTY, NodeSet
from kubesched_lint.cluster.state import ClusterState
from kubesched_lint.model.pod import Pod
from kubesched_lint.scheduler.verdict import Rejection

NAME = "NodePorts"


def reject(pod: Pod, state: ClusterState, among: NodeSet) -> Iterator[Rejection]:
    taken = EMPTY
    for port in pod.host_ports:
        taken |= state.port_conflicts(port)
    if taken:
        yield Rejection(
            NAME, "node(s) didn't have free ports for the requested pod ports", among & taken, resolvable=True
        )
