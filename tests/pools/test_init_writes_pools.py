"""``kubesched-lint init`` writes the pools that it knows word for word."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from kubesched_lint.engine.cluster.cluster import Cluster
from kubesched_lint.engine.cluster.nodepools.known import KnownGroups
from kubesched_lint.sources.clusters.read import cluster_from, read_cluster
from kubesched_lint.sources.sketches.sketching import sketch_of

ROOT = Path(__file__).parents[2]
NODE_POOL = """
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: spot}
spec:
  weight: 10
  limits: {cpu: 1500m, memory: 400Gi, nodes: 7, nvidia.com/gpu: 2}
  template:
    metadata: {labels: {tier: batch, "yes": "on", karpenter.sh/registered: "true"}}
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      taints: [{key: batch, value: "true", effect: NoSchedule}, {key: own, effect: NoExecute}]
      requirements:
      - {key: karpenter.k8s.aws/instance-family, operator: In, values: [m6i, c6i]}
      - {key: karpenter.k8s.aws/instance-cpu, operator: Gte, values: ["4"]}
      - {key: team, operator: Exists}
      - {key: topology.kubernetes.io/zone, operator: In, values: [eu-west-1a, eu-west-1b]}
      - {key: topology.kubernetes.io/zone, operator: NotIn, values: [eu-west-1b]}
"""
STATIC = NODE_POOL.replace("weight: 10", "replicas: 3")
ONE_ZONE = NODE_POOL.replace("tier: batch", "topology.kubernetes.io/zone: eu-west-1a")
SKETCH = """
apiVersion: kubesched-lint/v1
kind: ClusterSketch
pools:
- {name: general, zones: [a, b], labels: {pool: general}, min: 1, limits: {nodes: 10},
   shapes: [{name: m6i.large, allocatable: {cpu: 1930m, memory: 7Gi}}, c6i.large, {name: own, labels: {size: big}}]}
- {name: unknown, zones: []}
- {name: autopilot, autoscaler: gke-autopilot, zones: [europe-west1-b]}
- {name: any, autoscaler: karpenter, cloud: gcp}
"""
GROUPS = """
apiVersion: kubesched-lint/v1
kind: NodeGroups
groups:
- {name: asg-a, zones: [eu-west-1a], min: 2, max: 4, labels: {group: a}, taints: [own=a:NoSchedule], shape: m6i.large}
- {name: asg-b, zones: [eu-west-1b], max: 4}
"""


def read(*texts: str) -> Cluster:
    return cluster_from([(f"{i}.yaml", text.encode()) for i, text in enumerate(texts)], "cluster")


def node(name: str, memory: str = "7009Mi", **labels: str) -> str:
    wanted = {"topology.kubernetes.io/zone": "eu-west-1a", "node.kubernetes.io/instance-type": "m6i.large"}
    found = {key.replace("__", "/").replace("_", "."): value for key, value in labels.items()}
    value = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {**wanted, **found, "kubernetes.io/hostname": name}},
        "status": {"allocatable": {"cpu": "1930m", "memory": memory, "pods": "29"}},
    }
    return json.dumps(value)


def nodegroup(name: str, memory: str = "7009Mi", zone: str = "eu-west-1a") -> str:
    return node(name, memory, eks_amazonaws_com__nodegroup="sys", topology_kubernetes_io__zone=zone, team="core")


@pytest.mark.parametrize("text", [NODE_POOL, STATIC, ONE_ZONE, SKETCH, GROUPS], ids=lambda t: t.split()[3])
def test_known_pools_come_back_the_same(text: str) -> None:
    real = read(text, node("plain"))
    again = read(sketch_of(real))
    assert again.inventory.node_pools == real.inventory.node_pools
    assert len(again.inventory.nodes) == len(real.inventory.nodes)
    assert "-min-" not in sketch_of(real), "what a minimum holds is filled in again"
    assert again.pools_written


def test_a_group_that_only_labels_tell_of_is_left_to_them_and_a_group_at_zero_is_a_line_of_the_docs() -> None:
    text = sketch_of(read(nodegroup("a"), nodegroup("b", memory="7010Mi", zone="eu-west-1b")))
    assert not read(text).inventory.node_pools
    assert KnownGroups(read(text)).is_elastic
    docs = (ROOT / "docs" / "sketch.md").read_text(encoding="utf-8")
    example = docs[docs.index("\npools:\n") :].partition("\n```")[0]
    assert "(docs/sketch.md)" in text
    (pool,) = read(f"{text}{example}\n").inventory.node_pools
    assert (pool.labels, pool.shapes[0].name) == ({"pool": "gpu"}, "g5.xlarge")


def test_beside_known_pools_the_others_stay_elastic_until_they_are_written() -> None:
    text = sketch_of(read(NODE_POOL, nodegroup("a"), node("b", karpenter_sh__nodepool="spot")))
    assert "\nmorePools: true" in text
    assert [pool.name for pool in read(text).inventory.node_pools] == ["spot"]
    assert KnownGroups(read(text)).is_elastic
    written = f"{text.replace('morePools: true', 'morePools: false')}- name: sys\n"
    assert not KnownGroups(read(written)).is_elastic


def test_without_pools_nothing_is_said_of_them() -> None:
    text = sketch_of(read(node("plain")))
    assert "morePools" not in text
    assert "pools:" not in text


def test_node_pools_are_found_in_a_folder_beside_the_nodes(tmp_path: Path) -> None:
    (tmp_path / "nodes.json").write_text(node("a", karpenter_sh__nodepool="spot"))
    (tmp_path / "pool.yaml").write_text(NODE_POOL)
    text = sketch_of(read_cluster(str(tmp_path)))
    assert yaml.safe_load(text)["pools"][0]["name"] == "spot"
    assert "morePools" not in text
