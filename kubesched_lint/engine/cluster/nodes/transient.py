"""Cordons, taints and sizes that disappear by themselves: a verdict that depends on them may not hold tomorrow."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

if TYPE_CHECKING:
    from kubesched_lint.engine.model.nodes.node import Node, Taint

CORDON = "node.kubernetes.io/unschedulable"

_KEYS = frozenset(
    [
        CORDON,
        # The node lifecycle controller sets and removes these by the node's conditions
        # (k8s.io/api/core/v1/well_known_taints.go).
        "node.kubernetes.io/not-ready",
        "node.kubernetes.io/unreachable",
        "node.kubernetes.io/memory-pressure",
        "node.kubernetes.io/disk-pressure",
        "node.kubernetes.io/pid-pressure",
        "node.kubernetes.io/network-unavailable",
        "node.kubernetes.io/out-of-service",
        # Cloud controller managers, Cluster API and Karpenter, until a new node is known
        # (k8s.io/cloud-provider/api/well_known_taints.go, cluster-api common_types.go, karpenter apis/v1/taints.go).
        "node.cloudprovider.kubernetes.io/uninitialized",
        "node.cloudprovider.kubernetes.io/shutdown",
        "node.cluster.x-k8s.io/uninitialized",
        "node.cluster.x-k8s.io/outdated-revision",
        "karpenter.sh/unregistered",
        # Autoscalers and upgrades, on nodes that are about to be removed
        # (kubernetes/autoscaler cluster-autoscaler/utils/taints/taints.go, karpenter as above).
        "ToBeDeletedByClusterAutoscaler",
        "DeletionCandidateOfClusterAutoscaler",
        "karpenter.sh/disrupted",
        "karpenter.sh/disruption",
        "cloud.google.com/impending-node-termination",
        "remediator.kubernetes.azure.com/unschedulable",
    ]
)
_PREFIXES = (
    "startup-taint.cluster-autoscaler.kubernetes.io/",
    "status-taint.cluster-autoscaler.kubernetes.io/",
    "ignore-taint.cluster-autoscaler.kubernetes.io/",
    "aws-node-termination-handler/",
)
# Daemons of network and storage drivers remove it once they run: node.cilium.io/agent-not-ready,
# ebs.csi.aws.com/agent-not-ready, efs.csi.aws.com/agent-not-ready.
_SUFFIX = "/agent-not-ready"


def is_transient_taint(taint: Taint) -> bool:
    """Return whether a controller sets and removes the taint, so that it says nothing about the future."""
    return taint.key in _KEYS or taint.key.startswith(_PREFIXES) or taint.key.endswith(_SUFFIX)


class TransientState(Struct, frozen=True):
    """A node that is cordoned or has transient taints (except the taint of its cordon)."""

    node: str
    cordoned: bool
    taints: tuple[Taint, ...]

    def __str__(self) -> str:
        states = ["cordoned"] * self.cordoned + [str(taint) for taint in self.taints]
        return f"{self.node}: {', '.join(states)}"


class TransientSize(Struct, frozen=True):
    """A pod that is resized in place: until its kubelet has done so, it counts with more."""

    pod: str
    """namespace/name."""

    def __str__(self) -> str:
        return f"Pod {self.pod}: resized in place"


def transient_state_of(node: Node) -> TransientState | None:
    """Return the transient states of a node; None if it has none."""
    taints = tuple(filter(is_transient_taint, node.taints))
    if not taints and not node.unschedulable:
        return None
    others = tuple(t for t in taints if t.key != CORDON)
    return TransientState(node.name, node.unschedulable or len(others) < len(taints), others)


def without_transient_state(node: Node) -> Node:
    """Return the node after all transient states have ended."""
    if transient_state_of(node) is None:
        return node
    kept = tuple(t for t in node.taints if not is_transient_taint(t))
    return replace(node, taints=kept, unschedulable=False, ready=True)
