"""Pods and volumes of a cluster are recognized as those of a custom resource, by the names that its operator gives.

Owners and labels are written as in the operators' sources, not as in the cards.
"""

from __future__ import annotations

from typing import Any

import pytest

from kubesched_lint import lint, load_cluster
from kubesched_lint.custom.kinds import SHIPPED
from kubesched_lint.linter.reading.manifest_set import manifest_set
from kubesched_lint.sources.manifests.loader import documents

NODE = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {"name": "n1", "labels": {"kubernetes.io/hostname": "n1"}},
    "status": {"allocatable": {"cpu": "4", "memory": "16Gi", "pods": "20"}, "capacity": {}},
}
TEMPLATE = "{spec: {containers: [{name: c}]}}"
STRIMZI, RAY = {"strimzi.io/cluster": "x"}, {"ray.io/is-ray-node": "yes"}
MONITORING = {"app.kubernetes.io/instance": "x", "app.kubernetes.io/managed-by": "prometheus-operator"}
JOBSET, LWS = "jobset.sigs.k8s.io", "leaderworkerset.sigs.k8s.io"
ECK = {"elasticsearch.k8s.elastic.co/cluster-name": "x", "common.k8s.elastic.co/type": "elasticsearch"}
SET = "elasticsearch.k8s.elastic.co/statefulset-name"

Pod = tuple[str, str, dict[str, str]]
"""Kind and name of the owner, and labels."""
CASES: dict[str, tuple[str, dict[str, tuple[Pod, ...]], tuple[Pod, ...]]] = {
    "monitoring.coreos.com/v1 Alertmanager": (
        "{replicas: 2}",
        {"": (("StatefulSet", "alertmanager-x", {"app.kubernetes.io/name": "alertmanager", **MONITORING}),)},
        (("StatefulSet", "prometheus-x", {"app.kubernetes.io/name": "prometheus", **MONITORING}),),
    ),
    "monitoring.coreos.com/v1 Prometheus": (
        "{shards: 2}",
        {
            "": (
                ("StatefulSet", "prometheus-x", {"app.kubernetes.io/name": "prometheus", **MONITORING}),
                ("StatefulSet", "prometheus-x-shard-1", {"app.kubernetes.io/name": "prometheus", **MONITORING}),
            )
        },
        (("StatefulSet", "alertmanager-x", {"app.kubernetes.io/name": "alertmanager", **MONITORING}),),
    ),
    "postgresql.cnpg.io/v1 Cluster": (
        "{instances: 1}",
        {"": (("Cluster", "x", {"cnpg.io/cluster": "x", "cnpg.io/podRole": "instance"}),)},
        (("ReplicaSet", "x-pooler", {"cnpg.io/cluster": "x", "cnpg.io/podRole": "pooler"}),),
    ),
    "elasticsearch.k8s.elastic.co/v1 Elasticsearch": (
        "{nodeSets: [{name: a, count: 1}, {name: b, count: 1}]}",
        {name: (("StatefulSet", f"x-es-{name}", {**ECK, SET: f"x-es-{name}"}),) for name in "ab"},
        (("StatefulSet", "y-es-a", {"elasticsearch.k8s.elastic.co/cluster-name": "y", SET: "y-es-a"}),),
    ),
    "jobset.x-k8s.io/v1alpha2 JobSet": (
        f"{{replicatedJobs: [{{name: a, template: {{spec: {{template: {TEMPLATE}}}}}}}]}}",
        {"a": (("Job", "x-a-0", {f"{JOBSET}/jobset-name": "x", f"{JOBSET}/replicatedjob-name": "a"}),)},
        (("Job", "x-b-0", {f"{JOBSET}/jobset-name": "x", f"{JOBSET}/replicatedjob-name": "b"}),),
    ),
    "kafka.strimzi.io/v1 KafkaNodePool": (
        "{replicas: 1, roles: [broker], storage: {type: ephemeral}}",
        {"": (("StrimziPodSet", "x-x", {**STRIMZI, "strimzi.io/pool-name": "x", "strimzi.io/name": "x-kafka"}),)},
        (("StrimziPodSet", "x-y", {**STRIMZI, "strimzi.io/pool-name": "y", "strimzi.io/name": "x-kafka"}),),
    ),
    "kafka.strimzi.io/v1 Kafka": (
        "{kafka: {}, entityOperator: {topicOperator: {}}, cruiseControl: {}}",
        {
            name: (("ReplicaSet", f"x-{name}-1", {**STRIMZI, "strimzi.io/name": f"x-{name}"}),)
            for name in ("entity-operator", "cruise-control")
        },
        (("StrimziPodSet", "x-y", {**STRIMZI, "strimzi.io/pool-name": "y", "strimzi.io/name": "x-kafka"}),),
    ),
    "leaderworkerset.x-k8s.io/v1 LeaderWorkerSet": (
        f"{{leaderWorkerTemplate: {{size: 2, workerTemplate: {TEMPLATE}}}}}",
        {
            "leader": (("StatefulSet", "x", {f"{LWS}/name": "x", f"{LWS}/worker-index": "0"}),),
            "workers": (("StatefulSet", "x-0", {f"{LWS}/name": "x", f"{LWS}/worker-index": "1"}),),
        },
        (("StatefulSet", "y", {f"{LWS}/name": "y", f"{LWS}/worker-index": "0"}),),
    ),
    "ray.io/v1 RayCluster": (
        f"{{headGroupSpec: {{template: {TEMPLATE}}}, workerGroupSpecs: [{{groupName: g, template: {TEMPLATE}}}]}}",
        {
            "head": (("RayCluster", "x", {**RAY, "ray.io/cluster": "x", "ray.io/group": "headgroup"}),),
            "g": (("RayCluster", "x", {**RAY, "ray.io/cluster": "x", "ray.io/group": "g"}),),
        },
        (("RayCluster", "x-ab1cd", {**RAY, "ray.io/cluster": "x-ab1cd", "ray.io/group": "g"}),),
    ),
    "ray.io/v1 RayJob": (
        f"{{rayClusterSpec: {{headGroupSpec: {{template: {TEMPLATE}}}, "
        f"workerGroupSpecs: [{{groupName: g, template: {TEMPLATE}}}]}}}}",
        {
            "head": (("RayCluster", "x-ab1cd", {**RAY, "ray.io/cluster": "x-ab1cd", "ray.io/group": "headgroup"}),),
            "g": (("RayCluster", "x-ab1cd", {**RAY, "ray.io/cluster": "x-ab1cd", "ray.io/group": "g"}),),
            "submitter": (("Job", "x", {"job-name": "x", "batch.kubernetes.io/job-name": "x"}),),
        },
        (
            ("RayCluster", "x", {**RAY, "ray.io/cluster": "x", "ray.io/group": "g"}),
            ("RayCluster", "x-other-ab1cd", {**RAY, "ray.io/cluster": "x-other-ab1cd", "ray.io/group": "headgroup"}),
        ),
    ),
    "argoproj.io/v1alpha1 Rollout": (
        "{selector: {matchLabels: {app: x}}, strategy: {canary: {}}, "
        "template: {metadata: {labels: {app: x}}, spec: {containers: [{name: c}]}}}",
        {"": (("ReplicaSet", "x-7d4b9", {"app": "x", "rollouts-pod-template-hash": "7d4b9"}),)},
        (("DaemonSet", "x", {"app": "x"}),),
    ),
    "serving.knative.dev/v1 Service": (
        f"{{template: {TEMPLATE}}}",
        {"": (("ReplicaSet", "x-00001-deployment-1", {"serving.knative.dev/service": "x"}),)},
        (("ReplicaSet", "y-00001-deployment-1", {"serving.knative.dev/service": "y"}),),
    ),
}


def manifest(case: str) -> str:
    version, _, kind = case.partition(" ")
    labels = "{strimzi.io/cluster: x}"
    return f"apiVersion: {version}\nkind: {kind}\nmetadata: {{name: x, labels: {labels}}}\nspec: {CASES[case][0]}\n"


def owner(kind: str, name: str) -> dict[str, Any]:
    return {"apiVersion": "x/v1", "kind": kind, "name": name, "uid": name, "controller": True}


def objects_of(pods: tuple[Pod, ...], first: str, made_by: str) -> list[dict[str, Any]]:
    """Return pods, and the ReplicaSets that own some of them."""
    found = []
    for number, (kind, name, labels) in enumerate(pods):
        meta = {"name": f"{first}{number}", "labels": labels, "ownerReferences": [owner(kind, name)]}
        spec = {"nodeName": "n1", "containers": [{"name": "c", "image": "x"}]}
        found.append(
            {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec, "status": {"phase": "Running"}}
        )
        if kind == "ReplicaSet":
            meta = {"name": name, "uid": name, "ownerReferences": [owner(made_by, name.rpartition("-")[0])]}
            found.append({"apiVersion": "apps/v1", "kind": kind, "metadata": meta, "spec": {"replicas": 1}})
    return found


def test_every_shipped_card_has_a_case() -> None:
    assert {case.partition(" ")[2] for case in CASES} == {kind.kind for kind in SHIPPED}


@pytest.mark.parametrize("case", CASES)
def test_the_pods_of_each_part_are_recognized_and_no_others(case: str) -> None:
    _, parts, others = CASES[case]
    made_by = "Rollout" if "Rollout" in case else "Deployment"
    items = [item for part, pods in parts.items() for item in objects_of(pods, f"{part or 'its'}-", made_by)]
    cluster = load_cluster(objects=[NODE, *items, *objects_of(others, "other-", "Deployment")])
    workloads = manifest_set(
        documents("m.yaml", manifest(case).encode(), SHIPPED.is_read), "default"
    ).inventory.workloads
    found = {w.ref.name.partition(":")[2]: [b.name for b in cluster.running.pods_of(w)] for w in workloads}
    assert found == {part: [f"{part or 'its'}-{n}" for n in range(len(pods))] for part, pods in parts.items()}


STORAGE = "resources: {requests: {storage: 1Gi}}"
CLAIMS = {
    "postgresql.cnpg.io/v1 Cluster": ("{instances: 3, storage: {size: 1Gi}}", "x-2"),
    "postgresql.cnpg.io/v1 Cluster with WAL": (
        "{instances: 3, storage: {size: 1Gi}, walStorage: {size: 1Gi}}",
        "x-1-wal",
    ),
    "monitoring.coreos.com/v1 Prometheus": (
        f"{{podManagementPolicy: OrderedReady, storage: {{volumeClaimTemplate: {{spec: {{{STORAGE}}}}}}}}}",
        "prometheus-x-db-prometheus-x-0",
    ),
    "monitoring.coreos.com/v1 Prometheus with shards": (
        "{podManagementPolicy: OrderedReady, replicas: 2, shards: 3, "
        f"storage: {{volumeClaimTemplate: {{spec: {{{STORAGE}}}}}}}}}",
        "prometheus-x-db-prometheus-x-shard-2-1",
    ),
}


@pytest.mark.parametrize("case", CLAIMS)
@pytest.mark.parametrize("host", ["n1", "gone"])
def test_a_volume_of_the_cluster_pins_the_pod_of_its_claim(case: str, host: str) -> None:
    spec, claim = CLAIMS[case]
    version, kind = case.split(" ")[:2]
    terms = [{"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": [host]}]}]
    volume = {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": "pv"},
        "spec": {
            "capacity": {"storage": "1Gi"},
            "accessModes": ["ReadWriteOnce"],
            "claimRef": {"namespace": "default", "name": claim},
            "nodeAffinity": {"required": {"nodeSelectorTerms": terms}},
        },
    }
    bound = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": claim, "namespace": "default"},
        "spec": {"accessModes": ["ReadWriteOnce"], "volumeName": "pv", "resources": {"requests": {"storage": "1Gi"}}},
        "status": {"phase": "Bound"},
    }
    text = f"apiVersion: {version}\nkind: {kind}\nmetadata: {{name: x}}\nspec: {spec}\n"
    report = lint(text=text, cluster=load_cluster(objects=[NODE, volume, bound]), select=["statefulset-ordered-block"])
    pinned = [finding.evidence.text.endswith(f"reaches volume pv of {claim}") for finding in report.findings]
    assert pinned == ([] if host == "n1" else [True])
    if claim.startswith("prometheus"):
        pods = [finding.message.partition(" of ")[0] for finding in report.findings]
        assert pods == ([] if host == "n1" else [claim.removeprefix("prometheus-x-db-")])
