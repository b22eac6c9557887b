"""Pools of a sketch, NodeGroups and Karpenter's NodePools: what is read, and what is said about mistakes."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from kubesched_lint.engine.cluster.cluster import Cluster, ClusterError
from kubesched_lint.engine.cluster.nodepools.known import KnownGroups
from kubesched_lint.engine.cluster.nodepools.label_demand import LabelDemand, demand_of
from kubesched_lint.engine.cluster.nodepools.templates import (
    NodeTemplate,
    fits_limits,
    is_open,
    region_of,
    shapes,
    templates,
)
from kubesched_lint.engine.model.nodes.node import NodePool
from kubesched_lint.engine.model.pod import Pod, Toleration
from kubesched_lint.engine.placing.growth.plan import LIMITED, Plan
from kubesched_lint.findings import Finding
from kubesched_lint.sources.clusters.read import cluster_from

ISSUE = """
apiVersion: kubesched-lint/v1
kind: ClusterSketch
nodes: []
pools:
- {name: general, zones: [eu-west-1a, eu-west-1b], labels: {pool: general}, taints: [], shapes: [{name: m6i.large, allocatable: {cpu: 1930m, memory: 7Gi}}], limits: {nodes: 10}}
"""  # noqa: E501
KARPENTER = """
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: spot}
spec:
  weight: 10
  limits: {cpu: 100, memory: 400Gi}
  template:
    metadata: {labels: {tier: batch}}
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      taints: [{key: batch, value: "true", effect: NoSchedule}]
      startupTaints: [{key: node.cilium.io/agent-not-ready, effect: NoExecute}]
      expireAfter: 720h
      requirements:
      - {key: karpenter.sh/capacity-type, operator: In, values: [spot]}
      - {key: karpenter.k8s.aws/instance-family, operator: In, values: [m6i, c6i]}
      - {key: karpenter.k8s.aws/instance-cpu, operator: Lt, values: ["9"]}
      - {key: karpenter.k8s.aws/instance-cpu, operator: Gte, values: ["4"]}
      - {key: topology.kubernetes.io/zone, operator: In, values: [eu-west-1a, eu-west-1b]}
      - {key: topology.kubernetes.io/zone, operator: NotIn, values: [eu-west-1b]}
"""
GROUPS = """
apiVersion: kubesched-lint/v1
kind: NodeGroups
groups:
- {name: asg-a, zones: [eu-west-1a], min: 0, max: 4, labels: {group: a}, taints: [own=a:NoSchedule], shape: m6i.large}
"""


def read(*texts: str) -> Cluster:
    return cluster_from([(f"{i}.yaml", text.encode()) for i, text in enumerate(texts)], "cluster")


def only_pool(*texts: str) -> NodePool:
    (pool,) = read(*texts).inventory.node_pools
    return pool


def made(pool: NodePool, wishes: LabelDemand | None = None) -> list[NodeTemplate]:
    return list(templates(pool, wishes or LabelDemand(), ()))


def test_the_sketch_of_the_issue_makes_two_kinds_of_nodes() -> None:
    pool = only_pool(ISSUE)
    assert pool.limits == {"nodes": 10}
    kinds = made(pool)
    assert [str(kind) for kind in kinds] == [
        "m6i.large in eu-west-1a (pool general)",
        "m6i.large in eu-west-1b (pool general)",
    ]
    node = kinds[1].node(1, kinds[1].shape.allocatable)
    assert node.name == "general-eu-west-1b-m6i.large-1"
    assert node.allocatable == {"cpu": 1930, "memory": 7 << 30, "pods": 110}
    assert node.labels["pool"] == "general"
    assert node.labels["topology.kubernetes.io/zone"] == "eu-west-1b"
    assert node.labels["topology.kubernetes.io/region"] == "eu-west-1"
    assert node.labels["kubernetes.io/hostname"] == node.name


def test_karpenters_pool_is_narrowed_by_all_its_requirements() -> None:
    pool = only_pool(KARPENTER)
    assert (pool.weight, pool.zones) == (10, ("eu-west-1a",))
    assert [str(taint) for taint in pool.taints] == ["batch=true:NoSchedule"]
    assert {s.name for s in shapes(pool)} == {"m6i.xlarge", "m6i.2xlarge", "c6i.xlarge", "c6i.2xlarge"}
    assert not is_open(pool)
    labels = made(pool)[0].labels
    assert labels["karpenter.sh/nodepool"] == "spot"
    assert labels["karpenter.sh/capacity-type"] == "spot"
    assert labels["tier"] == "batch"


def test_json_of_kubectl_holds_pools_too() -> None:
    listed = {
        "apiVersion": "v1",
        "kind": "List",
        "items": [{"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {"name": "j"}, "spec": {}}],
    }
    cluster = cluster_from([("pools.json", json.dumps(listed).encode())], "pools.json")
    assert [pool.name for pool in cluster.inventory.node_pools] == ["j"]


def test_a_pool_of_the_manifests_counts(
    findings_of: Callable[..., dict[str, Finding]], deployment: Callable[..., str]
) -> None:
    nodes = "apiVersion: kubesched-lint/v1\nkind: ClusterSketch\nnodes: [{name: node, allocatable: {cpu: 1}}]\n"
    web = deployment(pod="nodeSelector: {tier: batch}\ntolerations: [{key: batch, operator: Exists}]")
    assert "nodeselector-matches-nothing" in findings_of(web, nodes)
    assert not findings_of(KARPENTER + web, nodes)


def test_a_static_pool_adds_nothing_for_a_pod() -> None:
    pool = only_pool(KARPENTER.replace("weight: 10", "replicas: 3"))
    assert pool.limits == {"nodes": 0}


def test_machine_types_that_are_not_in_the_table_are_of_unknown_size() -> None:
    pool = only_pool(
        "apiVersion: kubesched-lint/v1\nkind: ClusterSketch\n"
        "pools: [{name: p, shapes: [m6i.large, z9.huge, {name: own, allocatable: {cpu: 2}}]}]\n"
    )
    assert {s.name: s.allocatable is None for s in pool.shapes} == {"m6i.large": False, "z9.huge": True, "own": False}
    assert is_open(pool)
    category = KARPENTER.replace(
        "instance-family, operator: In, values: [m6i, c6i]", "instance-category, operator: Exists"
    )
    assert is_open(only_pool(category))


def test_node_groups_are_read_beside_a_snapshot() -> None:
    cluster = read("apiVersion: v1\nkind: Node\nmetadata: {name: node, labels: {group: a}}\n", GROUPS)
    (pool,) = cluster.inventory.node_pools
    assert (pool.name, pool.limits, pool.sees_empty_zones) == ("asg-a", {"nodes": 4}, False)
    assert [str(taint) for taint in pool.taints] == ["own=a:NoSchedule"]
    assert cluster.pools_written


def test_what_a_group_holds_at_its_minimum_is_there_though_nobody_lists_it() -> None:
    held = GROUPS.replace("min: 0", "min: 2")
    nodes = read("apiVersion: kubesched-lint/v1\nkind: ClusterSketch\nnodes: []\n", held).inventory.nodes
    assert [node.name for node in nodes] == ["asg-a-min-1", "asg-a-min-2"]
    assert nodes[0].labels["topology.kubernetes.io/zone"] == "eu-west-1a"
    assert nodes[0].labels["group"] == "a"
    assert nodes[0].allocatable is not None
    listed = "{name: own, zones: [eu-west-1a], labels: {group: a}, allocatable: {cpu: 1}}"
    beside = read(f"apiVersion: kubesched-lint/v1\nkind: ClusterSketch\nnodes: [{listed}]\n", held)
    assert [node.name for node in beside.inventory.nodes] == ["own", "asg-a-min-1"]
    elsewhere = held.replace("zones: [eu-west-1a], ", "zones: [a, b], ").replace("labels: {group: a}, ", "")
    several = read("apiVersion: v1\nkind: Node\nmetadata: {name: node}\n", elsewhere)
    zones = [node.labels.get("topology.kubernetes.io/zone") for node in several.inventory.nodes]
    assert zones == [None, "a", "b"]


def test_a_minimum_of_unknown_size_or_left_out_by_fixed_adds_nothing() -> None:
    sized = GROUPS.replace("min: 0", "min: 2")
    node = "apiVersion: v1\nkind: Node\nmetadata: {name: node}\n"
    assert len(read(node, sized.replace(", shape: m6i.large", "")).inventory.nodes) == 1
    files = [("n.yaml", node.encode()), ("g.yaml", sized.encode())]
    assert len(cluster_from(files, "cluster", elastic=False).inventory.nodes) == 1


def test_the_minimum_counts_against_the_most(
    plan_of: Callable[[str, str], Plan], deployment: Callable[..., str]
) -> None:
    held = "{name: g, zones: [a], min: 1, max: 2, shape: {name: s, allocatable: {cpu: 1}}}"
    cluster = f"apiVersion: kubesched-lint/v1\nkind: NodeGroups\ngroups: [{held}]\n"
    plan = plan_of(deployment(replicas=3), cluster)
    assert [(v.today, v.grown, v.left, v.kind) for v in plan.verdicts] == [(1, 1, 1, LIMITED)]


def test_karpenters_labels_are_on_the_nodes_of_a_sketched_pool() -> None:
    pool = only_pool(
        "apiVersion: kubesched-lint/v1\nkind: ClusterSketch\n"
        "pools: [{name: p, autoscaler: karpenter, zones: [a], shapes: [m6i.large]}]\n"
    )
    assert made(pool)[0].labels["karpenter.sh/nodepool"] == "p"


def test_fixed_leaves_the_pools_out_and_elastic_distrusts_them() -> None:
    text = ISSUE.replace("nodes: []", "nodes: [{name: node}]").encode()
    fixed = cluster_from([("c.yaml", text)], "c.yaml", elastic=False)
    assert not fixed.inventory.node_pools
    assert KnownGroups(cluster_from([("c.yaml", text)], "c.yaml", elastic=True)).is_elastic
    assert not KnownGroups(read(text.decode())).is_elastic


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("pools: [{name: p, zone: [a]}]", "pools[0].zone: unknown field: did you mean zones?"),
        ("pools: [{zones: [a]}]", "pools[0]: name is missing"),
        ("pools: [{name: p, autoscaler: karpentr}]", "did you mean karpenter?"),
        ("pools: [{name: p, cloud: ibm}]", "pools[0].cloud"),
        ("pools: [{name: p}, {name: q}, {name: p}]", "pools[2]: is named p, and so is pools[0]"),
        ("pools: [{name: p, limits: {nodes: -1}}]", "pools[0].limits.nodes: expected 0 or more, found -1"),
        ("pools: [{name: p, requirements: [{key: a, operator: Gt, values: [x]}]}]", "compares with one whole number"),
        ("pools: [{name: p, requirements: [{key: a, operator: Lte}]}]", "compares with one whole number"),
        ("morePools: 3", "morePools: expected true or false"),
        ("pools: [{name: p, min: -1}]", "pools[0].min"),
        ("pools: [{name: p, shapes: [{name: m, alocatable: {}}]}]", "did you mean allocatable?"),
        ("pools: [{name: p, shapes: [{name: m, allocatable: {cpu: two}}]}]", "pools[0].shapes[0].allocatable.cpu"),
        ("pools: [{name: p, requirements: [{key: a, operator: Is}]}]", "pools[0].requirements[0].operator"),
        ("pools: [{name: p, taints: [gpu]}]", "pools[0].taints[0]"),
        ("pool: []", "pool: unknown field: did you mean pools?"),
    ],
)
def test_a_mistake_in_a_pool_has_its_place_and_a_guess(written: str, expected: str) -> None:
    with pytest.raises(ClusterError) as caught:
        read(f"apiVersion: kubesched-lint/v1\nkind: ClusterSketch\n{written}\n")
    assert expected in caught.value.message
    assert caught.value.line == 3


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("groups: [{name: g}]", "max"),
        ("groups: [{name: g, max: 2, min: 3}]", "groups[0].min: expected 0 to 2, the most nodes it may have, found 3"),
        ("groups: [{name: g, max: 2, zonez: []}]", "did you mean zones?"),
        ("group: []", "did you mean groups?"),
    ],
)
def test_a_mistake_in_a_node_group_has_its_place(written: str, expected: str) -> None:
    with pytest.raises(ClusterError, match="3:") as caught:
        read(f"apiVersion: kubesched-lint/v1\nkind: NodeGroups\n{written}\n")
    assert expected in caught.value.message


def test_a_wrong_operator_of_karpenter_is_one_located_error() -> None:
    with pytest.raises(ClusterError, match="expected one of In, NotIn"):
        read(KARPENTER.replace("operator: Lt", "operator: Less"))


# --- limits ---------------------------------------------------------------------------------------------------------


def test_limits_count_capacity() -> None:
    pool = only_pool(KARPENTER)
    kind = next(t for t in made(pool) if t.shape.name == "m6i.2xlarge")
    assert fits_limits(kind, {"cpu": 20_000}) == 2
    assert fits_limits(kind, {}) is None
    assert fits_limits(kind, {"cpu": -4000}) == 0


@pytest.mark.parametrize(
    ("zone", "region"),
    [("eu-west-1a", "eu-west-1"), ("europe-west1-b", "europe-west1"), ("westeurope-2", "westeurope"), ("az1", "")],
)
def test_the_region_follows_from_the_zone(zone: str, region: str) -> None:
    assert region_of(zone) == region


# --- what pods ask for ----------------------------------------------------------------------------------------------


def test_open_labels_take_the_values_that_pods_ask_for() -> None:
    pool = only_pool(
        "apiVersion: kubesched-lint/v1\nkind: ClusterSketch\npools:\n"
        "- {name: p, zones: [a], shapes: [s], requirements: [{key: team, operator: Exists}]}\n"
    )
    wishes = demand_of([Pod("shop", {}, node_selector={"team": t}) for t in ("x", "y")])
    assert [t.labels.get("team") for t in made(pool, wishes)] == [None, "x", "y"]
    assert len(made(pool)) == 1


def test_autopilot_separates_only_what_is_selected_and_tolerated() -> None:
    pool = only_pool(
        "apiVersion: kubesched-lint/v1\nkind: ClusterSketch\n"
        "pools: [{name: p, autoscaler: gke-autopilot, zones: [z]}]\n"
    )
    both = Pod("shop", {}, node_selector={"group": "a"}, tolerations=(Toleration("group", "Equal", "a", "NoSchedule"),))
    half = Pod("shop", {}, node_selector={"group": "b"})
    made_for = made(pool, demand_of([both, half]))
    assert {t.labels.get("group") for t in made_for} == {None, "a"}
    assert all([str(x) for x in t.taints] == ["group=a:NoSchedule"] for t in made_for if "group" in t.labels)


def test_a_provisioner_is_a_pool(
    findings_of: Callable[..., dict[str, Finding]], deployment: Callable[..., str]
) -> None:
    provisioner = """
---
apiVersion: karpenter.sh/v1alpha5
kind: Provisioner
metadata: {name: old}
spec:
  labels: {team: old, failure-domain.beta.kubernetes.io/zone: eu-west-1a}
  taints: [{key: own, value: "yes", effect: NoSchedule}]
  requirements: [{key: karpenter.k8s.aws/instance-family, operator: In, values: [m6i]}]
  limits: {resources: {cpu: "100"}}
  providerRef: {name: default}
---
apiVersion: karpenter.sh/v1alpha1
kind: NodeOverlay
metadata: {name: fuse}
spec: {requirements: [{key: kubernetes.io/os, operator: Exists}], capacity: {example.com/fuse: 1}}
"""
    nodes = """
apiVersion: kubesched-lint/v1
kind: ClusterSketch
nodes: [{name: now, zones: [eu-west-1a], labels: {karpenter.sh/provisioner-name: old}, allocatable: {cpu: 1}}]
"""
    tolerant = "nodeSelector: {team: old}\ntolerations: [{key: own, operator: Exists}]"
    assert not findings_of(deployment(pod=tolerant) + provisioner, nodes)
    refused = findings_of(deployment(pod="nodeSelector: {team: old}") + provisioner, nodes)
    assert "has a taint that it does not tolerate" in refused["pool-cannot-provide-label"].message
    assert "old has the taint own=yes:NoSchedule" in refused["pool-cannot-provide-label"].evidence.text
    assert "resource-exceeds-any-node" in findings_of(deployment(cpu="400", pod=tolerant) + provisioner, nodes)
