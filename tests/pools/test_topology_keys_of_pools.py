"""A topology key that neither a node nor a node of a pool has: no new pod ever runs, and the matrix says none."""

from __future__ import annotations

import pytest

from kubesched_lint.library import load_cluster, simulate
from tests.events.simulated import workload

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


def replica_set(name: str, pods: int, template: dict) -> list[dict]:
    """A ReplicaSet of a Deployment ``web`` with running pods."""

    def owner(kind: str, of: str) -> list[dict]:
        return [{"apiVersion": "apps/v1", "kind": kind, "name": of, "uid": f"uid-{of}", "controller": True}]

    labels = {"app": "web", "pod-template-hash": name}
    template = {**template, "metadata": {"labels": labels}}
    meta = {
        "name": f"web-{name}",
        "uid": f"uid-web-{name}",
        "labels": labels,
        "ownerReferences": owner("Deployment", "web"),
    }
    spec = {"replicas": pods, "selector": {"matchLabels": labels}, "template": template}
    found = [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": meta, "spec": spec}]
    for number in range(pods):
        meta = {"name": f"web-{name}-{number}", "labels": labels, "ownerReferences": owner("ReplicaSet", f"web-{name}")}
        pod = {**template["spec"], "nodeName": "n"}
        found.append({"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": pod, "status": {"phase": "Running"}})
    return found


@pytest.mark.parametrize(("running", "text"), [(0, "0/3 −3"), (1, "0–1/3"), (3, "stuck")])
def test_no_new_pod_runs_where_no_node_has_the_key(running: int, text: str) -> None:
    constraint = {"maxSkew": 1, "topologyKey": "example.com/row", "whenUnsatisfiable": "DoNotSchedule"}
    constraint["labelSelector"] = {"matchLabels": {"app": "web"}}
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "100m"}}}
    web = workload("Deployment", "web", 3, {"containers": [container], "topologySpreadConstraints": [constraint]})
    old = replica_set("old", running, {"spec": {"containers": [container]}}) if running else []
    (outcome,) = simulate(objects=[web, POOL], cluster=load_cluster(objects=[NODE, *old]), events=["deploy"]).outcomes
    assert (outcome.verdict, outcome.proven, outcome.text) == ("bad", True, text)
