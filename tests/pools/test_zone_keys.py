"""CSI drivers, clouds of old and Karpenter call one zone by several label keys."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kubesched_lint.engine.cluster.cluster import Cluster
from kubesched_lint.engine.model.decode.objects import is_read
from kubesched_lint.engine.model.nodes.node import PLACE_LIKE, ZONE
from kubesched_lint.findings import Report, Severity
from kubesched_lint.linter.lint import lint
from kubesched_lint.linter.options import Options
from kubesched_lint.linter.reading.manifest_set import manifest_set
from kubesched_lint.rulebook.own import rulebook_with
from kubesched_lint.sources.clusters.read import cluster_from
from kubesched_lint.sources.manifests.loader import documents

ZONE_KEYS = sorted(key for key, stable in PLACE_LIKE.items() if stable == ZONE)

DB = """
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  serviceName: db
  replicas: 1
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec:
      containers: [{name: c, image: p, resources: {requests: {cpu: "1"}}}]
  volumeClaimTemplates:
  - metadata: {name: data}
    spec: {accessModes: [ReadWriteOnce], storageClassName: gp3, resources: {requests: {storage: 1Gi}}}
"""


def node(**labels: str) -> dict[str, Any]:
    own = {"kubernetes.io/hostname": "n", "karpenter.sh/nodepool": "default", ZONE: "eu-west-1b", **labels}
    full = {"cpu": "100m", "memory": "3Gi", "pods": "17"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "n", "labels": own},
        "status": {"allocatable": full},
    }


def pool(key: str = ZONE) -> dict[str, Any]:
    requirements = [
        {"key": key, "operator": "In", "values": ["eu-west-1a", "eu-west-1b"]},
        {"key": "karpenter.k8s.aws/instance-family", "operator": "In", "values": ["m6i"]},
    ]
    template = {"spec": {"nodeClassRef": {"group": "karpenter.k8s.aws"}, "requirements": requirements}}
    body = {"spec": {"template": template}}
    return {"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {"name": "default"}, **body}


def gp3(key: str = "", *zones: str) -> dict[str, Any]:
    terms = [{"matchLabelExpressions": [{"key": key, "values": list(zones)}]}] if key else []
    found = {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "gp3"}}
    mode = {"provisioner": "ebs.csi.aws.com", "volumeBindingMode": "WaitForFirstConsumer"}
    return {**found, **mode, "allowedTopologies": terms}


def bound(key: str) -> list[dict[str, Any]]:
    term = {"matchExpressions": [{"key": key, "operator": "In", "values": ["eu-west-1b"]}]}
    common = {"accessModes": ["ReadWriteOnce"], "storageClassName": "gp3"}
    volume = {
        **common,
        "capacity": {"storage": "1Gi"},
        "claimRef": {"name": "data-db-0", "namespace": "default"},
        "csi": {"driver": "ebs.csi.aws.com", "volumeHandle": "v"},
        "nodeAffinity": {"required": {"nodeSelectorTerms": [term]}},
    }
    claim = {**common, "volumeName": "pv", "resources": {"requests": {"storage": "1Gi"}}}
    meta = {"name": "data-db-0", "namespace": "default", "annotations": {"pv.kubernetes.io/bind-completed": "yes"}}
    return [
        {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "pv"}, "spec": volume},
        {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": meta,
            "spec": claim,
            "status": {"phase": "Bound"},
        },
    ]


def cluster(*objects: dict[str, Any]) -> Cluster:
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects)})
    return cluster_from([("c.json", text.encode())], "c.json")


def report(found: Cluster, text: str = DB) -> Report:
    manifests = manifest_set(documents("set.yaml", text.encode(), is_read), "default")
    return lint(manifests, found, Options(), rulebook_with().select("default", (), ()))[0]


def loud(found: Report) -> list[str]:
    return [f.rule for f in found.findings if f.severity is not Severity.NOTE]


@pytest.mark.parametrize("key", [ZONE, *ZONE_KEYS])
def test_a_node_is_made_in_the_zone_of_the_volume_whatever_its_key(key: str) -> None:
    found = report(cluster(node(**{key: "eu-west-1b"}), pool(), gp3(), *bound(key)))
    assert not loud(found)
    assert any("fits after adding 1 × m6i.large in eu-west-1b" in note for note in found.summary.notes)


@pytest.mark.parametrize("key", [ZONE, *ZONE_KEYS])
def test_a_node_is_made_where_the_class_makes_volumes_whatever_its_key(key: str) -> None:
    found = report(cluster(node(**{key: "eu-west-1b"}), pool(key), gp3(key, "eu-west-1b", "eu-west-1c")))
    assert not loud(found)
    assert any("fits after adding 1 × m6i.large in eu-west-1b" in note for note in found.summary.notes)
    elsewhere = report(cluster(node(**{key: "eu-west-1b"}), pool(key), gp3(key, "eu-west-1c")))
    assert loud(elsewhere) == ["affinity-zone-outside-pools"]


SKETCH = """
apiVersion: kubesched-lint/v1
kind: ClusterSketch
nodes:
- {name: w, zones: [eu-west-1a, eu-west-1b], allocatable: {cpu: "4", memory: 8Gi}LABELS}
"""
CLASS = """
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: gp3}
provisioner: ebs.csi.aws.com
volumeBindingMode: WaitForFirstConsumer
allowedTopologies:
- matchLabelExpressions: [{key: topology.ebs.csi.aws.com/zone, values: [ZONE]}]
---
"""


def sketched(labels: str = "") -> Cluster:
    return cluster_from([("s.yaml", SKETCH.replace("LABELS", labels).encode())], "s.yaml")


def test_the_zones_of_a_sketch_are_those_of_drivers() -> None:
    assert not loud(report(sketched(), CLASS.replace("ZONE", "eu-west-1a") + DB))
    assert loud(report(sketched(), CLASS.replace("ZONE", "eu-west-1c") + DB)) == ["allowed-topologies-conflict"]
    cluster = sketched(", labels: {topology.ebs.csi.aws.com/zone: other}")
    assert loud(report(cluster, CLASS.replace("ZONE", "eu-west-1a") + DB)) == ["allowed-topologies-conflict"]


def test_real_nodes_have_the_keys_that_they_have() -> None:
    plain = node()
    del plain["metadata"]["labels"]["karpenter.sh/nodepool"]
    plain["status"]["allocatable"]["cpu"] = "4"
    found = report(cluster(plain, gp3("topology.gke.io/zone", "eu-west-1b")))
    assert "allowed-topologies-conflict" in loud(found)


@pytest.mark.parametrize("key", ["topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone"])
def test_a_volume_that_names_its_zone_by_label_gets_a_node_there(key: str) -> None:
    volume, claim = bound("topology.gke.io/zone")
    del volume["spec"]["nodeAffinity"]
    volume["metadata"]["labels"] = {key: "eu-west-1c"}
    anywhere = pool()
    anywhere["spec"]["template"]["spec"]["requirements"].pop(0)
    found = report(cluster(node(), anywhere, gp3(), volume, claim))
    assert not loud(found)
    assert any("fits after adding 1 × m6i.large in eu-west-1c" in note for note in found.summary.notes)


@pytest.mark.parametrize("key", ZONE_KEYS)
def test_the_zone_of_a_node_or_a_pool_may_have_any_name(key: str) -> None:
    there = node(**{key: "eu-west-1b"})
    del there["metadata"]["labels"][ZONE]
    anywhere = pool()
    anywhere["spec"]["template"]["spec"]["requirements"].pop(0)
    notes = report(cluster(there, anywhere, gp3())).summary.notes
    assert any("in eu-west-1b" in note for note in notes)
    anywhere["spec"]["template"]["metadata"] = {"labels": {key: "eu-west-1c"}}
    notes = report(cluster(there, anywhere, gp3())).summary.notes
    assert any("in eu-west-1c" in note for note in notes)


def test_the_region_that_a_pool_requires_is_the_region_of_its_nodes() -> None:
    regional = pool()
    wanted = regional["spec"]["template"]["spec"]["requirements"]
    wanted.append({"key": "topology.kubernetes.io/region", "operator": "In", "values": ["europe"]})
    chosen = DB.replace("    spec:\n", "    spec:\n      nodeSelector: {topology.kubernetes.io/region: europe}\n", 1)
    assert not loud(report(cluster(node(), regional, gp3()), chosen))
