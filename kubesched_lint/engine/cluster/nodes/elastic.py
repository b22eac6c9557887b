"""Detect nodes that an autoscaler may have made, and their node groups, by labels and annotations.

A label of Karpenter or of a cluster-autoscaler proves an autoscaler. A managed pool's label proves only that the cloud
could scale it; the snapshot does not show whether it does. An error must not rest on that, so pool nodes count as
elastic until the user gives ``--fixed``. No autoscaler adds a control-plane node.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING

from msgspec import Struct

from kubesched_lint.engine.model.nodes.node import KARPENTER

if TYPE_CHECKING:
    from kubesched_lint.engine.model.nodes.node import Node, NodePool

NODE_POOL = "karpenter.sh/nodepool"
_POOL_NAMES = (NODE_POOL, "karpenter.sh/provisioner-name")

CONTROL_PLANE = ("node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master")

COMPLETE, OPEN = "complete", "open"
"""Whether every node group of the cluster is known, also those without a node now."""


class ClusterOptions(Struct, frozen=True):
    """What the user says about the cluster; it overrides the cluster's files.

    ``elastic``: whether an autoscaler adds and removes nodes; None: the labels of the nodes decide. ``node_groups``:
    ``complete`` if there is no node group besides those that the nodes show and ``declared`` names, ``open`` if there
    may be others, ``""`` if the user does not say.
    """

    elastic: bool | None = None
    node_groups: str = ""
    declared: tuple[NodePool, ...] = ()
    """Node groups that may have no node now."""
    scheduler_config: str = ""
    """The configuration file of its kube-scheduler."""
    kubernetes_version: str = ""
    feature_gates: str = ""
    fresh_since: str = ""
    """Running pods of an older file may be gone by now (RFC 3339); empty: they count whatever their age."""


# Strongest evidence first: the first match is reported.
_LABELS = {
    "karpenter.sh/nodepool": "Karpenter",
    "karpenter.sh/provisioner-name": "Karpenter",  # before v1beta1
    "eks.amazonaws.com/nodegroup": "an EKS managed node group",
    "alpha.eksctl.io/nodegroup-name": "an eksctl node group",
    "cloud.google.com/gke-nodepool": "a GKE node pool",
    "kubernetes.azure.com/agentpool": "an AKS node pool",
    "agentpool": "an AKS node pool",
    "kops.k8s.io/instancegroup": "a kOps instance group",
    "doks.digitalocean.com/node-pool": "a DigitalOcean node pool",
    "lke.linode.com/pool-id": "a Linode node pool",
    "k8s.scaleway.com/pool-name": "a Scaleway pool",
    "vke.vultr.com/node-pool": "a Vultr node pool",
    "alibabacloud.com/nodepool-id": "an Alibaba Cloud node pool",
    "ibm-cloud.kubernetes.io/worker-pool-id": "an IBM Cloud worker pool",
    "hcloud/node-group": "a Hetzner node group of cluster-autoscaler",
    "worker.gardener.cloud/pool": "a Gardener worker pool",
}
_ANNOTATIONS = {
    "oci.oraclecloud.com/node-pool-id": "an OKE node pool",
    "cluster.x-k8s.io/machine": "a Cluster API machine",
    "machine.openshift.io/machine": "an OpenShift machine",
}
_COMPUTE_TYPE = "eks.amazonaws.com/compute-type"
_OWNER = "cluster.x-k8s.io/owner-name"
"""The annotation of a Cluster API node with the name of its MachineSet."""


class Maker(Struct, frozen=True):
    """The evidence that an autoscaler may have made a node, and the node group that the node belongs to.

    ``because`` completes "carries the": ``label karpenter.sh/nodepool: Karpenter``. ``group`` is ``""`` if the node
    belongs to no group that could add another one like it, else ``key=name``.
    """

    because: str
    group: str = ""


def is_never_added(labels: Mapping[str, str]) -> bool:
    """Return whether no autoscaler adds such a node: of the control plane, or one of the customer's own machines."""
    return labels.get(_COMPUTE_TYPE) == "hybrid" or any(key in labels for key in CONTROL_PLANE)


def maker_of(labels: Mapping[str, str], annotations: Mapping[str, str]) -> Maker | None:
    """Return the maker of a node; None if nothing shows one."""
    if is_never_added(labels):
        return None
    kind = labels.get(_COMPUTE_TYPE, "")
    if kind == "fargate":  # Fargate creates a node for one pod
        return Maker(f"label {_COMPUTE_TYPE}={kind}")
    for key, maker in _LABELS.items():
        if key in labels:
            return Maker(f"label {key}: {maker}", f"{key}={labels[key]}")
    if kind == "auto":  # Auto Mode uses Karpenter
        return Maker(f"label {_COMPUTE_TYPE}={kind}")
    for key, maker in _ANNOTATIONS.items():
        if key in annotations:
            return Maker(f"annotation {key}: {maker}", f"{key}={_machine_set(annotations, key)}")
    return None


def pool_of(node: Node) -> str:
    """Return the name of the pool that made a node; empty if nothing shows one."""
    return node.group.partition("=")[2] or next((node.labels[key] for key in _POOL_NAMES if key in node.labels), "")


def known_groups(pools: Iterable[NodePool]) -> Collection[tuple[bool, str]]:
    """Return what ``is_of_known`` asks for: of each pool whether Karpenter is its maker, and its name."""
    return {(pool.maker == KARPENTER, pool.name) for pool in pools}


def is_of_known(node: Node, known: Collection[tuple[bool, str]]) -> bool:
    """Return whether a known pool makes nodes like this one."""
    key, _, name = node.group.partition("=")
    return (False, name) in known or (key == NODE_POOL and (True, name) in known)


def elastic_because(labels: Mapping[str, str], annotations: Mapping[str, str]) -> str:
    """Return why an autoscaler may have made the node, as ``label karpenter.sh/nodepool: Karpenter``; empty if none."""
    maker = maker_of(labels, annotations)
    return "" if maker is None else maker.because


def _machine_set(annotations: Mapping[str, str], key: str) -> str:
    """Return the name of the MachineSet, or of the pool itself.

    A MachineSet names its machines after itself, with a hyphen and a random suffix.
    """
    value = annotations[key]
    if not key.endswith("/machine"):
        return value
    return annotations.get(_OWNER) or value.rpartition("/")[2].rpartition("-")[0]
