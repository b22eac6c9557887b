"""Detect nodes that an autoscaler may have made, by labels and annotations.

A label of Karpenter or of a cluster-autoscaler proves an autoscaler. A managed pool's label proves only that the cloud
could scale it; the snapshot does not show whether it does. An error must not rest on that, so pool nodes count as
elastic until the user gives ``--fixed``.
"""

from __future__ import annotations

from collections.abc import Mapping

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


def elastic_because(labels: Mapping[str, str], annotations: Mapping[str, str]) -> str:
    """Return why an autoscaler may have made the node, as ``label karpenter.sh/nodepool: Karpenter``; empty if none."""
    kind = labels.get("eks.amazonaws.com/compute-type", "")
    if kind == "hybrid":  # EKS Hybrid Nodes are the customer's own machines
        return ""
    if kind in ("fargate", "auto"):  # Fargate creates a node per pod; Auto Mode uses Karpenter
        return f"label eks.amazonaws.com/compute-type={kind}"
    for key, maker in _LABELS.items():
        if key in labels:
            return f"label {key}: {maker}"
    for key, maker in _ANNOTATIONS.items():
        if key in annotations:
            return f"annotation {key}: {maker}"
    return ""
