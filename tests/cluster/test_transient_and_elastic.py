"""What will pass by itself, and what an autoscaler may add, is told apart from what is there to stay."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kubesched_lint.engine.cluster.cluster import Cluster
from kubesched_lint.engine.cluster.nodepools.known import KnownGroups
from kubesched_lint.engine.cluster.nodes.transient import is_transient_taint
from kubesched_lint.engine.model.nodes.node import Taint
from kubesched_lint.sources.clusters.read import cluster_from


def nodes(*specs: dict[str, Any], **options: bool) -> Cluster:
    items = [
        {"apiVersion": "v1", "kind": "Node", "metadata": {"name": f"n{i}", **s.pop("metadata", {})}, **s}
        for i, s in enumerate(specs)
    ]
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": items}).encode()
    return cluster_from([("c.json", text)], "c.json", **options)


def tainted(*taints: tuple[str, str], unschedulable: bool = False) -> dict[str, Any]:
    spec: dict[str, Any] = {"taints": [{"key": key, "effect": effect} for key, effect in taints]}
    return {"spec": {**spec, "unschedulable": True} if unschedulable else spec}


@pytest.mark.parametrize(
    "key",
    [
        "node.kubernetes.io/not-ready",
        "node.kubernetes.io/unreachable",
        "node.kubernetes.io/memory-pressure",
        "node.kubernetes.io/network-unavailable",
        "node.kubernetes.io/unschedulable",
        "node.cloudprovider.kubernetes.io/uninitialized",
        "ToBeDeletedByClusterAutoscaler",
        "DeletionCandidateOfClusterAutoscaler",
        "karpenter.sh/disrupted",
        "startup-taint.cluster-autoscaler.kubernetes.io/gpu",
        "node.cilium.io/agent-not-ready",
        "ebs.csi.aws.com/agent-not-ready",
        "aws-node-termination-handler/spot-itn",
    ],
)
def test_taints_of_controllers_pass(key: str) -> None:
    assert is_transient_taint(Taint(key))


@pytest.mark.parametrize(
    "key",
    [
        "dedicated",
        "nvidia.com/gpu",
        "node-role.kubernetes.io/control-plane",
        "kubernetes.azure.com/scalesetpriority",
        "CriticalAddonsOnly",
        "eks.amazonaws.com/compute-type",
        "karpenter.sh/capacity-type",
    ],
)
def test_taints_of_people_stay(key: str) -> None:
    assert not is_transient_taint(Taint(key))


CORDON = ("node.kubernetes.io/unschedulable", "NoSchedule")


def test_settled_nodes_keep_what_stays_and_lose_what_passes() -> None:
    cluster = nodes(
        tainted(("dedicated", "NoSchedule"), ("node.kubernetes.io/not-ready", "NoExecute")),
        tainted(CORDON, unschedulable=True),
        tainted(("dedicated", "NoSchedule")),
    )
    assert [p.node for p in cluster.transient_states] == ["n0", "n1"]
    settled = cluster.without_transient().inventory.nodes
    assert [str(t) for t in settled[0].taints] == ["dedicated:NoSchedule"]
    assert (settled[1].taints, settled[1].unschedulable) == ((), False)
    assert settled[2] is cluster.inventory.nodes[2]


def test_a_cluster_where_nothing_passes_is_settled_already() -> None:
    cluster = nodes({}, tainted(("dedicated", "NoSchedule")))
    assert cluster.without_transient() is cluster
    assert cluster.notes == ()


def test_what_passes_is_named() -> None:
    cluster = nodes(
        tainted(CORDON, unschedulable=True), tainted(("node.kubernetes.io/disk-pressure", "NoSchedule")), {}, {}, {}
    )
    (note,) = cluster.notes
    assert note.startswith("2 of 5 nodes are in a transient state")
    assert "n0: cordoned; n1: node.kubernetes.io/disk-pressure:NoSchedule" in note
    assert "n0: cordoned" in cluster.transient_premise


def test_long_lists_are_cut() -> None:
    cluster = nodes(*[tainted(CORDON, unschedulable=True) for _ in range(9)])
    assert "and 6 more" in cluster.notes[0]


def test_karpenters_label_shows_an_autoscaler() -> None:
    labelled = {"metadata": {"labels": {"karpenter.sh/nodepool": "general"}}}
    cluster = nodes(labelled, {})
    assert [n.elastic for n in cluster.inventory.nodes] == [True, False]
    assert KnownGroups(cluster).is_elastic
    assert cluster.elastic_because == "1 of 2 nodes carries the label karpenter.sh/nodepool: Karpenter"
    assert "--fixed" in cluster.elastic_premise


@pytest.mark.parametrize(
    "labels",
    [
        {"karpenter.sh/provisioner-name": "default"},
        {"eks.amazonaws.com/nodegroup": "x"},
        {"cloud.google.com/gke-nodepool": "x"},
        {"kubernetes.azure.com/agentpool": "x"},
        {"agentpool": "x"},
        {"eks.amazonaws.com/compute-type": "fargate"},
    ],
)
def test_managed_pools_may_scale(labels: dict[str, str]) -> None:
    assert KnownGroups(nodes({"metadata": {"labels": labels}})).is_elastic


@pytest.mark.parametrize(
    "labels",
    [
        {"kubernetes.io/hostname": "kind-control-plane", "node-role.kubernetes.io/control-plane": ""},
        {"minikube.k8s.io/name": "minikube"},
        {"eks.amazonaws.com/compute-type": "hybrid", "eks.amazonaws.com/nodegroup": "x"},
        {"pool": "general"},
    ],
)
def test_machines_of_ones_own_are_fixed(labels: dict[str, str]) -> None:
    assert not KnownGroups(nodes({"metadata": {"labels": labels}})).is_elastic


def test_machine_sets_are_seen_from_annotations() -> None:
    assert KnownGroups(
        nodes({"metadata": {"annotations": {"machine.openshift.io/machine": "openshift-machine-api/a"}}})
    ).is_elastic


def test_the_caller_has_the_last_word() -> None:
    labelled = {"metadata": {"labels": {"karpenter.sh/nodepool": "general"}}}
    assert not KnownGroups(nodes(labelled, elastic=False)).is_elastic
    assert KnownGroups(nodes({}, elastic=True)).is_elastic
    assert nodes({}, elastic=True).elastic_because == "set by --elastic"


def test_running_pods_on_nodes_that_are_not_there_are_said() -> None:
    items = [
        {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n0"}},
        *(
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {"name": f"p{i}", "namespace": "shop"},
                "spec": {"containers": [{"name": "c"}], **({"nodeName": node} if node else {})},
            }
            for i, node in enumerate(["n0", "gone", "gone", ""])
        ),
    ]
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": items}).encode()
    cluster = cluster_from([("c.json", text)], "c.json")
    assert cluster.notes == (
        "2 running pods are on nodes that the cluster does not hold, and are not counted: "
        "shop/p1 on gone; shop/p2 on gone",
    )
