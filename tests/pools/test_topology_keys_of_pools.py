"""A topology key that neither a node nor a node of a pool has: no pod ever runs, and the matrix says none."""

from __future__ import annotations

from kubesched_lint.library import load_cluster, simulate
from tests.lifecycle.simulated import workload

POOL = {
    "apiVersion": "karpenter.sh/v1",
    "kind": "NodePool",
    "metadata": {"name": "default"},
    "spec": {
        "template": {"spec": {"requirements": [{"key": "kubernetes.io/arch", "operator": "In", "values": ["amd64"]}]}}
    },
}
NODE = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {"name": "n", "labels": {"kubernetes.io/hostname": "n", "kubernetes.io/arch": "amd64"}},
    "status": {"allocatable": {"cpu": "4", "memory": "16Gi", "pods": "110"}},
}


def test_no_pod_runs_where_no_node_has_the_key() -> None:
    constraint = {"maxSkew": 1, "topologyKey": "example.com/row", "whenUnsatisfiable": "DoNotSchedule"}
    constraint["labelSelector"] = {"matchLabels": {"app": "web"}}
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "100m"}}}
    web = workload("Deployment", "web", 3, {"containers": [container], "topologySpreadConstraints": [constraint]})
    (outcome,) = simulate(objects=[web, POOL], cluster=load_cluster(objects=[NODE]), events=["deploy"]).outcomes
    assert (outcome.verdict, outcome.proven, outcome.text) == ("bad", True, "0/3 −3")
