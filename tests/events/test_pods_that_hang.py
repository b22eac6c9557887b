"""Pods that get a node and hang there: lint proves it, and no cell of the matrix calls it fine."""

from __future__ import annotations

import pytest

from kubesched_lint.library import lint, load_cluster, simulate
from tests.events import simulated

CLUSTER = """\
apiVersion: kubesched-lint/v1
kind: ClusterSketch
nodes:
- {name: worker, count: 4, zones: [a], allocatable: {cpu: "4", memory: 16Gi}}
"""


def objects(provisioner: str, apart: bool) -> list[dict]:
    pod = simulated.apart("web", "kubernetes.io/hostname") if apart else {}
    pod["volumes"] = [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "100m"}}}
    pod["containers"] = [{**container, "volumeMounts": [{"name": "data", "mountPath": "/data"}]}]
    spec = {"accessModes": ["ReadWriteOnce"], "storageClassName": "disk", "resources": {"requests": {"storage": "1Gi"}}}
    return [
        simulated.workload("Deployment", "web", 3, pod),
        {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data"}, "spec": spec},
        {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "StorageClass",
            "metadata": {"name": "disk"},
            "provisioner": provisioner,
            "volumeBindingMode": "WaitForFirstConsumer",
        },
    ]


@pytest.mark.parametrize(
    ("provisioner", "apart", "severity"),
    [
        ("ebs.csi.aws.com", True, "error"),
        ("kubernetes.io/gce-pd", True, "error"),
        ("ebs.csi.aws.com", False, "warning"),
        ("disks.example.com", True, "warning"),
    ],
)
def test_a_disk_of_a_cloud_and_anti_affinity_make_it_certain(provisioner: str, apart: bool, severity: str) -> None:
    given, cluster = objects(provisioner, apart), load_cluster(text=CLUSTER)
    (finding,) = (f for f in lint(objects=given, cluster=cluster).findings if f.rule == "claim-shared-by-replicas")
    assert finding.severity.word == severity
    deploy, *later = simulate(objects=given, cluster=cluster, events=["deploy", "rollout", "node-loss"]).outcomes
    is_error = severity == "error"
    assert (deploy.verdict == "bad" and deploy.proven) == is_error
    for outcome in later:
        ends = outcome.verdict, outcome.proven, outcome.bound[1]
        assert (ends == ("bad", False, 1)) == is_error, "no event makes a second pod run"
    assert (deploy.bound[1] == 1) == is_error
    assert deploy.message.startswith("Multi-Attach error") == is_error
