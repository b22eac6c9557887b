"""``kubesched-lint why`` from files to an answer."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from kubesched_lint.cli.subcommands.why import app

CLUSTER = """
apiVersion: kubesched-lint/v1
kind: ClusterSketch
nodes:
- {name: node, count: 1, zones: [a, b, c], allocatable: {cpu: "4", memory: 8Gi, pods: "20"}}
objects:
- apiVersion: v1
  kind: Pod
  metadata: {name: waits, namespace: shop, labels: {app: web}}
  spec:
    nodeSelector: {disk: ssd}
    containers: [{name: c, image: web}]
- apiVersion: v1
  kind: Pod
  metadata: {name: runs, namespace: shop, labels: {app: web}}
  spec:
    nodeName: node-a
    containers: [{name: c, image: web, resources: {requests: {cpu: "3"}}}]
"""
MANIFESTS = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  replicas: 4
  selector: {matchLabels: {app: apart}}
  template:
    metadata: {labels: {app: apart}}
    spec:
      affinity:
        podAntiAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
          - {labelSelector: {matchLabels: {app: apart}}, topologyKey: topology.kubernetes.io/zone}
      containers: [{name: c, image: web}]
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db, namespace: shop}
spec:
  replicas: 2
  serviceName: db
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec:
      containers: [{name: c, image: db}]
  volumeClaimTemplates:
  - metadata: {name: data}
    spec: {accessModes: [ReadWriteOnce], storageClassName: fast, resources: {requests: {storage: 1Gi}}}
---
apiVersion: v1
kind: PersistentVolume
metadata: {name: disk-b}
spec:
  capacity: {storage: 1Gi}
  accessModes: [ReadWriteOnce]
  storageClassName: fast
  csi: {driver: d, volumeHandle: h}
  claimRef: {namespace: shop, name: data-db-1}
  nodeAffinity:
    required:
      nodeSelectorTerms:
      - matchExpressions: [{key: topology.kubernetes.io/zone, operator: In, values: [b]}]
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data-db-1, namespace: shop, annotations: {pv.kubernetes.io/bind-completed: "yes"}}
spec: {accessModes: [ReadWriteOnce], storageClassName: fast, volumeName: disk-b, resources: {requests: {storage: 1Gi}}}
---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: fast}
provisioner: d
volumeBindingMode: WaitForFirstConsumer
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent, namespace: ops}
spec:
  selector: {matchLabels: {app: agent}}
  template:
    metadata: {labels: {app: agent}}
    spec:
      containers: [{name: c, image: agent}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: lab}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: c, image: web}]}
"""


@pytest.fixture
def why(tmp_path: Path):
    (tmp_path / "cluster.yaml").write_text(CLUSTER)
    (tmp_path / "app.yaml").write_text(MANIFESTS)

    def run(*arguments: str, paths: bool = True):
        given = [arguments[0], *([str(tmp_path / "app.yaml")] if paths else []), *arguments[1:]]
        return CliRunner().invoke(app, [*given, "--cluster", str(tmp_path / "cluster.yaml")])

    return run


def answer_of(result):
    return json.loads(result.stdout)


def test_a_workload_that_fits_exits_with_0(why):
    result = why("shop/web", "-f", "json")
    assert result.exit_code == 0
    assert answer_of(result)["fits"] == ["node-a", "node-b", "node-c"]


def test_later_replicas_come_after_the_earlier_ones(why):
    result = why("shop/web", "--replica", "3", "-f", "json")
    assert len(answer_of(result)["fits"]) == 1
    fourth = why("shop/web", "--replica", "4")
    assert fourth.exit_code == 1
    assert "0/3 nodes are available: 3 node(s) didn't match pod anti-affinity rules." in fourth.stdout
    fifth = why("shop/web", "--replica", "5", "-f", "json")
    assert "replica 4 already finds no node, so this explains replica 4" in answer_of(fifth)["notes"]


def test_each_replica_of_a_statefulset_has_its_own_claim(why):
    first, second = (answer_of(why("db", "--replica", n, "-f", "json")) for n in ("1", "2"))
    assert len(first["fits"]) == 3
    assert second["fits"] == ["node-b"]
    reason = "node(s) didn't match PersistentVolume's node affinity"
    assert second["nodes"][0]["obstacles"][0]["reason"] == reason


def test_a_daemonsets_pods_are_not_scored(why):
    answer = answer_of(why("agent", "-f", "json"))
    assert len(answer["fits"]) == 3
    assert not any("scores" in node for node in answer["nodes"])


def test_a_pod_of_the_snapshot_may_be_asked_about_without_manifests(why):
    waiting = why("waits", "-f", "json", paths=False)
    assert waiting.exit_code == 1
    assert answer_of(waiting)["nodes"][0]["obstacles"][0]["detail"] == "asks for disk=ssd, the node has no such label"
    running = answer_of(why("pod/shop/runs", "-f", "json", paths=False))
    assert running["notes"] == ["it runs on node-a now; this explains where a new copy would go"]
    # It does not stand in its own way: 3 CPU of 4 fit where it runs.
    assert "node-a" in running["fits"]


def test_an_ambiguous_name_exits_with_2_and_lists_the_choices(why):
    result = why("web")
    assert result.exit_code == 2
    assert result.stderr == "error: 'web' may mean shop/web or lab/web\n"
    assert result.stdout == ""


def test_errors_exit_with_2(why, tmp_path):
    assert why("nobody").exit_code == 2
    assert why("shop/web", "--kubernetes-version", "new").exit_code == 2
    missing = CliRunner().invoke(app, ["web", "--cluster", str(tmp_path / "none.yaml")])
    assert missing.exit_code == 2
    assert "no such file" in missing.stderr


def test_a_broken_manifest_is_told_beside_the_answer(why, tmp_path):
    (tmp_path / "app.yaml").write_text(MANIFESTS + "---\n]broken\n")
    result = why("shop/web")
    assert result.exit_code == 2
    assert "error: " in result.stderr
    assert "fit" in result.stdout
