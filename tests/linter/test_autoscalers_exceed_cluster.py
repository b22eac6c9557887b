"""The maxima of several autoscalers together, against fixed nodes."""

from __future__ import annotations

from typing import Any

from kubesched_lint import lint, load_cluster
from kubesched_lint.engine.cluster.cluster import Cluster

RULE = "autoscalers-exceed-cluster"
NODES = [{"name": "worker", "count": 4, "allocatable": {"cpu": "4", "memory": "16Gi"}}]
SKETCH = {"apiVersion": "kubesched-lint/v1", "kind": "ClusterSketch", "nodes": NODES}
CLUSTER = load_cluster(objects=[SKETCH])


def deployment(name: str, replicas: int) -> dict[str, Any]:
    containers = [{"name": "c", "image": "x:1", "resources": {"requests": {"cpu": "1"}}}]
    template = {"metadata": {"labels": {"app": name}}, "spec": {"containers": containers}}
    spec = {"replicas": replicas, "selector": {"matchLabels": {"app": name}}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": spec}


def scaled(name: str, most: int, kind: str = "HorizontalPodAutoscaler") -> list[dict[str, Any]]:
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": name}
    is_keda = kind == "ScaledObject"
    spec = {"scaleTargetRef": target, ("maxReplicaCount" if is_keda else "maxReplicas"): most}
    version = "keda.sh/v1alpha1" if is_keda else "autoscaling/v2"
    scaler = {"apiVersion": version, "kind": kind, "metadata": {"name": name}, "spec": spec}
    return [deployment(name, 2), scaler]


def findings(*objects: dict[str, Any], cluster: Cluster = CLUSTER) -> list[Any]:
    return list(lint(objects=objects, cluster=cluster, select=[RULE]).findings)


def test_the_proof_counts_the_maxima_of_both_kinds() -> None:
    (found,) = findings(*scaled("web", 10), *scaled("api", 7, "ScaledObject"))
    assert (found.evidence.demand, found.evidence.supply) == (17, 16)
    assert "these autoscalers reach their maxima at one time" in found.evidence.assumes
    assert "maxReplicas of HorizontalPodAutoscaler web" in found.help
    assert "maxReplicaCount of ScaledObject api" in found.help
    assert not findings(*scaled("web", 10), *scaled("api", 6, "ScaledObject"))


def test_one_autoscaler_beside_fixed_replicas_counts() -> None:
    (found,) = findings(*scaled("web", 12), deployment("api", 5))
    assert "with its autoscaler at maximum" in found.message


def test_it_is_silent_where_nodes_may_come_or_the_set_does_not_fit_already() -> None:
    both = (*scaled("web", 10), *scaled("api", 10))
    assert not findings(*both, cluster=load_cluster(objects=[SKETCH], elastic=True))
    assert not findings(*both, deployment("db", 14))


def test_a_maximum_that_a_quota_cuts_names_both_numbers() -> None:
    """ "The maximum: 6 pods" stood at ``maxReplicas: 8``."""
    web, scaler = scaled("web", 12)
    web["metadata"]["namespace"] = scaler["metadata"]["namespace"] = "team"
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team"}}
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q", "namespace": "team"}}
    quota["spec"] = {"hard": {"requests.cpu": "10"}}
    (found,) = findings(namespace, quota, web, scaler, *scaled("api", 7))
    assert [place.label for place in found.related] == ["the maximum: 12 pods, of which quotas let in 10"]
