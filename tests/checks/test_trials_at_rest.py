"""What stands when a trial begins: pods of StatefulSets, and of workloads whose new pods the API server refuses."""

from __future__ import annotations

import pytest
import yaml

from kubesched_lint.engine.model.decode.objects import is_read
from kubesched_lint.engine.placing.trial import trials_of
from kubesched_lint.engine.scenario.scenario import Scenario
from kubesched_lint.linter.reading.manifest_set import manifest_set
from kubesched_lint.sources.manifests.loader import documents
from tests.events.simulated import asking, other, snapshot, workload


def test_pods_of_a_workload_that_is_refused_now_keep_their_room():
    node = other("Node", "n", status={"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "1"}})
    standing = other("Pod", "db-0", spec={"nodeName": "n", **asking("1")})
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "db", "uid": "u", "controller": True}
    standing["metadata"].update(namespace="default", labels={"app": "db"}, ownerReferences=[owner])
    cluster = snapshot(node, standing, kinds=["Node", "Pod", "PriorityClass", "Namespace"])
    objects = [
        workload("Deployment", "web", 1, asking("1")),
        workload("ReplicaSet", "db", 2, asking("1", priorityClassName="absent")),
    ]
    text = "---\n".join(map(yaml.safe_dump, objects))
    found = manifest_set(documents("set.yaml", text.encode(), is_read), "default")
    scenario = Scenario(found.inventory, cluster)
    (web,) = scenario.as_created
    assert [trial[web][0] for trial in trials_of(scenario)] == [1, 1, 1]


@pytest.mark.parametrize("templates", [[], [{"metadata": {"name": "data"}, "spec": {"storageClassName": "disk"}}]])
def test_pods_of_a_statefulset_stand_and_its_next_ones_come(templates):
    """Nobody takes the room of a pod that runs: made anew, it would wait in the trial where it comes last."""
    disk = other("StorageClass", "disk", "storage.k8s.io/v1", provisioner="d", volumeBindingMode="WaitForFirstConsumer")
    node = other("Node", "n", status={"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "3"}})
    spec = {**asking("1"), "nodeName": "n"}
    if templates:
        spec["volumes"] = [{"name": "data", "persistentVolumeClaim": {"claimName": "data-db-0"}}]
    running = other("Pod", "db-0", spec=spec)
    owner = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "db", "uid": "u", "controller": True}
    running["metadata"].update(namespace="default", labels={"app": "db"}, ownerReferences=[owner])
    cluster = snapshot(node, running, disk, kinds=["Node", "Pod", "PriorityClass", "Namespace", "StorageClass"])
    database = workload("StatefulSet", "db", 2, asking("1"))
    database["spec"]["volumeClaimTemplates"] = templates
    objects = [workload("Deployment", "web", 3, asking("1")), database]
    text = "---\n".join(map(yaml.safe_dump, objects))
    found = manifest_set(documents("set.yaml", text.encode(), is_read), "default")
    trials = trials_of(Scenario(found.inventory, cluster))
    left = [{workload.name: count for workload, (count, _) in trial.items()} for trial in trials]
    assert {"web": 1, "db": 1} in left, "only the next one waits where web comes first"
    assert {"web": 2} in left, "it runs where it comes first"
    assert all(counts.get("db", 0) < 2 for counts in left)


@pytest.mark.parametrize("kind", ["Deployment", "StatefulSet", "DaemonSet"])
def test_a_running_pod_of_the_set_that_is_evicted_waits_again(kind):
    node = other("Node", "n", status={"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "1"}})
    running = other("Pod", "weak-0", spec={**asking("1"), "nodeName": "n"})
    made_by = "ReplicaSet" if kind == "Deployment" else kind
    owner = {"apiVersion": "apps/v1", "kind": made_by, "name": "weak", "uid": "u", "controller": True}
    running["metadata"].update(namespace="default", labels={"app": "weak"}, ownerReferences=[owner])
    replicas = other("ReplicaSet", "weak", "apps/v1", spec=workload("ReplicaSet", "weak", 1, asking("1"))["spec"])
    parent = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "weak", "uid": "d", "controller": True}
    replicas["metadata"].update(namespace="default", labels={"app": "weak"}, ownerReferences=[parent])
    cluster = snapshot(node, running, replicas, kinds=["Node", "Pod", "PriorityClass", "Namespace", "ReplicaSet"])
    objects = [
        other("PriorityClass", "high", "scheduling.k8s.io/v1", value=1000),
        workload("Deployment", "strong", 1, asking("1", priorityClassName="high")),
        workload(kind, "weak", None if kind == "DaemonSet" else 1, asking("1")),
    ]
    text = "---\n".join(map(yaml.safe_dump, objects))
    found = manifest_set(documents("set.yaml", text.encode(), is_read), "default")
    trials = trials_of(Scenario(found.inventory, cluster))
    assert [{workload.name: count for workload, (count, _) in trial.items()} for trial in trials] == [{"weak": 1}] * 3
