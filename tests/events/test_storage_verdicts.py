"""Claims that never bind keep their pods Pending; claims of which nobody knows where they bind are told of.

Outcomes are recorded ones of a Kubernetes v1.36.2 control plane where a test says so.
"""

from __future__ import annotations

from typing import Any

import pytest

from kubesched_lint.engine.events.answers.cells import BAD, FINE, UNKNOWN
from tests.events.simulated import asking, cell, other, report_of, snapshot, workload

NODES = [
    {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
        "status": {"allocatable": {"cpu": "4", "memory": "16Gi", "pods": "110"}},
    }
    for name in ("n0", "n1")
]
EVERYTHING = (
    *("Node", "Pod", "Namespace", "LimitRange", "ResourceQuota", "PersistentVolumeClaim", "PersistentVolume"),
    *("StorageClass", "CSINode", "VolumeAttachment", "CSIStorageCapacity", "PriorityClass", "RuntimeClass"),
    *("DeviceClass", "PodGroup", "HorizontalPodAutoscaler", "PodDisruptionBudget", "ReplicaSet", "Service"),
)
UNBOUND = "pod has unbound immediate PersistentVolumeClaims"


def storage_class(name: str, provisioner: str, mode: str = "Immediate", **more: Any) -> dict[str, Any]:
    found = other("StorageClass", name, "storage.k8s.io/v1", provisioner=provisioner, volumeBindingMode=mode)
    found["metadata"].update(more)
    return found


def claim(name: str, *modes: str, **spec: Any) -> dict[str, Any]:
    wanted = {"accessModes": list(modes) or ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    return other("PersistentVolumeClaim", name, spec={**wanted, **spec})


def volume(name: str, **spec: Any) -> dict[str, Any]:
    plain = {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"}, "nfs": {"server": "s", "path": "/"}}
    return other("PersistentVolume", name, spec={**plain, **spec})


def mounting(name: str) -> dict[str, Any]:
    return asking("100m", volumes=[{"name": "d", "persistentVolumeClaim": {"claimName": name}}])


def stateful(name: str, replicas: int, storage: str) -> dict[str, Any]:
    template = {"metadata": {"name": "d"}, "spec": claim("d", storageClassName=storage)["spec"]}
    return workload("StatefulSet", name, replicas, asking("100m"), volumeClaimTemplates=[template])


def test_a_class_that_binds_at_once_and_makes_no_volumes_leaves_its_pods_pending():
    """Recorded: 0 of 1."""
    objects = (storage_class("fast", "kubernetes.io/no-provisioner"), stateful("db", 1, "fast"))
    found = cell(report_of(snapshot(*NODES, kinds=EVERYTHING), *objects), "db", "deploy")
    assert (found.verdict, found.bound.most, found.proven) == (BAD, 0, True)
    assert UNBOUND in found.message


def test_on_a_list_of_nodes_the_same_rests_on_there_being_no_volumes():
    objects = (storage_class("fast", "kubernetes.io/no-provisioner"), stateful("db", 1, "fast"))
    found = cell(report_of(snapshot(*NODES, kinds=()), *objects), "db", "deploy")
    assert (found.verdict, found.bound.most, found.proven) == (BAD, 0, False)
    assert any("no volumes of class fast" in premise for premise in found.assumes)


def test_a_claim_for_one_pod_counts_although_its_class_binds_at_once():
    """Recorded: 1 of 2."""
    objects = (
        storage_class("fast", "ebs.csi.aws.com"),
        claim("shared", "ReadWriteOncePod", storageClassName="fast"),
        workload("Deployment", "web", 2, mounting("shared")),
    )
    found = cell(report_of(snapshot(*NODES, kinds=EVERYTHING), *objects), "web", "deploy")
    assert (found.verdict, found.bound.least, found.bound.most) == (BAD, 1, 1)
    assert any("binds at once" in premise for premise in found.assumes)


def ephemeral(storage: str) -> dict[str, Any]:
    template = {"spec": claim("", storageClassName=storage)["spec"]}
    return asking("100m", volumes=[{"name": "s", "ephemeral": {"volumeClaimTemplate": template}}])


def test_an_ephemeral_volume_of_a_class_that_is_not_there_leaves_its_pod_pending():
    """Recorded: 0 of 1."""
    found = cell(
        report_of(snapshot(*NODES, kinds=EVERYTHING), workload("Deployment", "p", 1, ephemeral("none-such"))),
        "p",
        "deploy",
    )
    assert (found.verdict, found.bound.most, found.proven) == (BAD, 0, True)
    assert UNBOUND in found.message


@pytest.mark.parametrize("kinds", [EVERYTHING, ()])
def test_an_ephemeral_volume_of_a_class_that_waits_for_the_pod_is_no_trouble(kinds):
    objects = (storage_class("fast", "ebs.csi.aws.com", "WaitForFirstConsumer"), ephemeral("fast"))
    found = cell(
        report_of(snapshot(*NODES, kinds=kinds), objects[0], workload("Deployment", "p", 1, objects[1])), "p", "deploy"
    )
    assert (found.verdict, found.proven) == (FINE, True)


def test_a_claim_that_got_the_default_class_never_binds_to_a_volume_without_one():
    """Recorded: 0 of 1."""
    default = {"annotations": {"storageclass.kubernetes.io/is-default-class": "true"}}
    objects = (
        volume("pv"),
        claim("c", volumeName="pv"),
        workload("Deployment", "p", 1, mounting("c")),
    )
    bound = cell(report_of(snapshot(*NODES, kinds=EVERYTHING), *objects), "p", "deploy")
    assert bound.verdict == FINE
    gp3 = storage_class("gp3", "ebs.csi.aws.com", "WaitForFirstConsumer", **default)
    unbound = cell(report_of(snapshot(*NODES, kinds=EVERYTHING), gp3, *objects), "p", "deploy")
    assert (unbound.verdict, unbound.bound.most) == (BAD, 0)
    assert UNBOUND in unbound.message


def test_claims_that_compete_for_a_volume_are_not_judged():
    objects = (
        volume("pv", storageClassName="fast", capacity={"storage": "5Gi"}),
        claim("one", storageClassName="fast"),
        claim("two", storageClassName="fast"),
        storage_class("fast", "kubernetes.io/no-provisioner"),
        workload("Deployment", "a", 1, mounting("one")),
        workload("Deployment", "b", 1, mounting("two")),
    )
    result = report_of(snapshot(*NODES, kinds=EVERYTHING), *objects)
    for name in "ab":
        found = cell(result, name, "deploy")
        assert (found.verdict, found.bound.least, found.bound.most) == (UNKNOWN, 0, 1)
    alone = cell(report_of(snapshot(*NODES, kinds=EVERYTHING), *objects[:2], *objects[3:5]), "a", "deploy")
    assert (alone.verdict, alone.proven) == (FINE, True)


def test_a_claim_whose_class_nobody_tells_is_an_assumption_beside_the_verdict():
    found = cell(report_of(snapshot(*NODES, kinds=()), stateful("db", 2, "gp3")), "db", "deploy")
    assert (found.verdict, found.proven) == (FINE, False)
    assert any("what StorageClass gp3 does" in premise for premise in found.assumes)
    assert found.text == "2/2 ok *"


def test_in_a_snapshot_that_lacks_the_classes_it_is_unknown():
    kinds = tuple(kind for kind in EVERYTHING if kind != "StorageClass")
    found = cell(report_of(snapshot(*NODES, kinds=kinds), stateful("db", 2, "gp3")), "db", "deploy")
    assert (found.verdict, found.bound.least, found.bound.most) == (UNKNOWN, 0, 2)
    assert any("the snapshot holds no StorageClass" in m for m in found.missing)


def test_a_live_claim_that_is_bound_wins_over_the_manifest_that_made_it():
    live = claim("c", storageClassName="fast", volumeName="pv")
    live["metadata"]["annotations"] = {"pv.kubernetes.io/bind-completed": "yes"}
    live["status"] = {"phase": "Bound"}
    hostname = {"key": "kubernetes.io/hostname", "operator": "In", "values": ["n0"]}
    there = volume(
        "pv",
        storageClassName="fast",
        claimRef={"namespace": "default", "name": "c"},
        nodeAffinity={"required": {"nodeSelectorTerms": [{"matchExpressions": [hostname]}]}},
    )
    fast = storage_class("fast", "kubernetes.io/no-provisioner", "WaitForFirstConsumer")
    objects = (
        claim("c", storageClassName="fast"),
        workload("Deployment", "a", 1, {**mounting("c"), "nodeSelector": {"kubernetes.io/hostname": "n1"}}),
    )
    found = cell(report_of(snapshot(*NODES, fast, live, there, kinds=EVERYTHING), *objects), "a", "deploy")
    assert (found.verdict, found.bound.most) == (BAD, 0)
    assert "didn't match PersistentVolume's node affinity" in found.message


def _bound_elsewhere(name: str, volume_name: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """A claim in use, and its volume on node n0."""
    live = claim(name, storageClassName="fast", volumeName=volume_name)
    live["metadata"]["annotations"] = {"pv.kubernetes.io/bind-completed": "yes"}
    live["status"] = {"phase": "Bound"}
    hostname = {"key": "kubernetes.io/hostname", "operator": "In", "values": ["n0"]}
    return live, volume(
        volume_name,
        storageClassName="fast",
        claimRef={"namespace": "default", "name": name},
        nodeAffinity={"required": {"nodeSelectorTerms": [{"matchExpressions": [hostname]}]}},
    )


@pytest.mark.parametrize(("management", "most"), [("OrderedReady", 1), ("Parallel", 2)])
def test_a_pod_whose_volume_no_node_of_it_reaches_runs_after_no_event(management: str, most: int):
    """A quota, which an event may free, changes nothing for it; OrderedReady makes no pod after one that waits."""
    fast = storage_class("fast", "kubernetes.io/no-provisioner", "WaitForFirstConsumer")
    objects = (*_bound_elsewhere("d-db-1", "pv"), fast)
    free = [volume(name, storageClassName="fast") for name in ("free-0", "free-2")]
    template = {"metadata": {"name": "d"}, "spec": claim("d", storageClassName="fast")["spec"]}
    there = asking("100m", nodeSelector={"kubernetes.io/hostname": "n1"})
    more = {"podManagementPolicy": management, "volumeClaimTemplates": [template]}
    limit = other("ResourceQuota", "q", spec={"hard": {"requests.cpu": "350m"}})
    rival = workload("Deployment", "rival", 1)
    set_of = (workload("StatefulSet", "db", 3, there, **more), rival, limit)
    found = report_of(snapshot(*NODES, *objects, *free, kinds=EVERYTHING), *set_of)
    for event in ("deploy", "rollout", "node-loss", "drain"):
        ends = cell(found, "db", event)
        assert (ends.verdict, ends.bound.most) == (BAD, most), event
        assert "didn't match PersistentVolume's node affinity" in ends.message, event
