"""A CSI driver that must be on a node (VolumeLimitScaling) closes the nodes without it, for lint, why and simulate."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kubesched_lint.commands.why.ask import Question, answer
from kubesched_lint.engine.model.decode.objects import is_read
from kubesched_lint.library import lint, load_cluster, simulate
from kubesched_lint.linter.reading.manifest_set import manifest_set
from kubesched_lint.sources.manifests.loader import documents

MANIFESTS = """\
apiVersion: storage.k8s.io/v1
kind: CSIDriver
metadata: {name: ebs.csi.aws.com}
spec: {preventPodSchedulingIfMissing: true}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data, namespace: shop}
spec: {storageClassName: gp3, accessModes: [ReadWriteOnce], resources: {requests: {storage: 5Gi}}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]
      containers: [{name: web, image: "web:1", resources: {requests: {cpu: 100m, memory: 64Mi}}}]
"""
CLUSTER = """\
apiVersion: kubesched-lint/v1
kind: ClusterSketch
kinds: [Pod, StorageClass, CSINode, PersistentVolumeClaim, PersistentVolume]
nodes:
- {name: apps, count: 1, allocatable: {cpu: "4", memory: 16Gi}}
objects:
- apiVersion: storage.k8s.io/v1
  kind: StorageClass
  metadata: {name: gp3}
  provisioner: ebs.csi.aws.com
  volumeBindingMode: WaitForFirstConsumer
- {apiVersion: storage.k8s.io/v1, kind: CSINode, metadata: {name: apps}, spec: {drivers: [DRIVERS]}}
"""
DRIVER = "{name: ebs.csi.aws.com, nodeID: i-1}"


@pytest.mark.parametrize(
    ("drivers", "settings", "left", "verdict"),
    [
        ("", {"kubernetes_version": "1.37"}, True, "bad"),
        (DRIVER, {"kubernetes_version": "1.37"}, False, "fine"),
        ("", {"kubernetes_version": "1.36"}, False, "fine"),
        ("", {"kubernetes_version": "1.36", "feature_gates": "VolumeLimitScaling=true"}, False, "unknown"),
        ("", {"kubernetes_version": "1.37", "feature_gates": "VolumeLimitScaling=false"}, True, "unknown"),
    ],
)
def test_all_commands_follow_the_version_and_name_another_gate(
    tmp_path: Path, drivers: str, settings: dict[str, Any], left: bool, verdict: str
) -> None:
    (tmp_path / "cluster.yaml").write_text(CLUSTER.replace("DRIVERS", drivers))
    cluster = load_cluster(tmp_path / "cluster.yaml")
    findings = lint(text=MANIFESTS, cluster=cluster, **settings).findings
    rule = "pods-stay-pending" if verdict == "bad" else "deploy-leaves-pending"
    assert [f.rule for f in findings if f.rule.endswith("-pending")] == [rule] * left
    manifests = manifest_set(documents("web.yaml", MANIFESTS.encode(), is_read), "default").inventory
    asked = answer(Question("web", **settings), manifests, cluster)
    assert ("CSI driver is not installed on the node" in asked.message) == left
    (deployed,) = simulate(text=MANIFESTS, cluster=cluster, events=("deploy",), **settings).outcomes
    assert deployed.verdict == verdict


@pytest.mark.parametrize(("gate", "is_said"), [("", False), ("StorageCapacityScoring=true", True)])
def test_scores_of_a_gate_that_is_off_by_default_are_an_assumption(tmp_path: Path, gate: str, is_said: bool) -> None:
    (tmp_path / "cluster.yaml").write_text(CLUSTER.replace("DRIVERS", DRIVER))
    cluster = load_cluster(tmp_path / "cluster.yaml")
    (deployed,) = simulate(text=MANIFESTS, cluster=cluster, events=("deploy",), feature_gates=gate).outcomes
    assert ("StorageCapacityScoring=true changes no choice of a node" in deployed.assumes) == is_said
