"""Custom resources in a set: their lines, autoscalers, fixes, running pods, and what their cards do not know."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kubesched_lint import lint, load_cluster, simulate
from kubesched_lint.controllers.deployment import ReplicaSetSize, sync
from kubesched_lint.custom.kinds import SHIPPED
from kubesched_lint.linter.reading import ManifestSet, manifest_set
from kubesched_lint.manifests.loader import documents
from kubesched_lint.model.workload import Strategy

NODES = """\
apiVersion: kubesched-lint/v1
kind: ClusterSketch
nodes:
- {name: worker, count: NUMBER, zones: [eu-west-1a], allocatable: {cpu: "4", memory: 16Gi, pods: 20}}
"""
ROLLOUT = """\
apiVersion: argoproj.io/v1alpha1
kind: Rollout
metadata: {name: web, namespace: shop}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  strategy: STRATEGY
  template:
    metadata: {labels: {app: web}}
    spec:
      affinity:
        podAntiAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
          - labelSelector: {matchLabels: {app: web}}
            topologyKey: kubernetes.io/hostname
      containers:
      - {name: web, image: "registry.example.com/web:1.0", resources: {requests: {cpu: "1", memory: 1Gi}}}
"""


def read(text: str) -> ManifestSet:
    return manifest_set(documents("m.yaml", text.encode(), SHIPPED.is_read), "default")


def cluster_of(tmp_path: Path, number: int) -> Path:
    file = tmp_path / "cluster.yaml"
    file.write_text(NODES.replace("NUMBER", str(number)))
    return file


def rollout_verdict(tmp_path: Path, strategy: str, nodes: int) -> str:
    report = simulate(text=ROLLOUT.replace("STRATEGY", strategy), cluster=cluster_of(tmp_path, nodes))
    return next(outcome.verdict for outcome in report.outcomes if outcome.event == "rollout")


@pytest.mark.parametrize(
    ("strategy", "nodes", "verdict"),
    [
        ("{blueGreen: {activeService: web}}", 6, "fine"),
        ("{blueGreen: {activeService: web}}", 5, "bad"),
        ("{canary: {trafficRouting: {nginx: {}}}}", 5, "bad"),
        ("{canary: {trafficRouting: {nginx: {}}, dynamicStableScale: true}}", 9, "unknown"),
        ("{canary: {maxSurge: 0, maxUnavailable: 1}}", 3, "fine"),
        ("{canary: {maxSurge: 1, maxUnavailable: 1}}", 4, "fine"),
        ("{canary: {maxSurge: 1, maxUnavailable: 1}}", 3, "unknown"),
        ("{canary: {antiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {}}}}", 9, "unknown"),
    ],
)
def test_a_rollout_needs_the_room_of_its_strategy(tmp_path: Path, strategy: str, nodes: int, verdict: str) -> None:
    assert rollout_verdict(tmp_path, strategy, nodes) == verdict


def test_blue_green_deletes_no_old_pod_before_all_new_ones_are_available() -> None:
    strategy = Strategy(max_surge="100%", max_unavailable=0, is_whole=True)
    old = ReplicaSetSize(0, 3, 3)
    assert sync(strategy, 3, 1, [old]) == {1: 3}
    assert sync(strategy, 3, 1, [old, ReplicaSetSize(1, 3, 2)]) == {}
    assert sync(strategy, 3, 1, [old, ReplicaSetSize(1, 3, 3)]) == {0: 0}


def test_a_template_of_another_object_stands_there() -> None:
    text = (
        ROLLOUT.replace("argoproj.io/v1alpha1", "apps/v1")
        .replace("Rollout", "Deployment")
        .replace("replicas: 3", "replicas: 0")
    )
    text = text.replace("  strategy: STRATEGY\n", "") + (
        "---\n"
        "apiVersion: argoproj.io/v1alpha1\n"
        "kind: Rollout\n"
        "metadata: {name: canary, namespace: shop}\n"
        "spec:\n"
        "  replicas: 2\n"
        "  workloadRef: {apiVersion: apps/v1, kind: Deployment, name: web}\n"
        "  strategy: {canary: {}}\n"
    )
    found = {str(w): w for w in read(text).inventory.workloads}
    rollout = found["Rollout shop/canary"]
    assert (rollout.replicas, found["Deployment shop/web"].replicas) == (2, 0)
    assert rollout.source is not None
    assert rollout.source.span(rollout.pod.required_anti_affinity[0].path).line == 13
    assert rollout.source.span(rollout.replicas_path).line == 22


def test_a_rollout_without_its_deployment_is_told() -> None:
    spec = "{workloadRef: {kind: Deployment, name: gone}, strategy: {canary: {}}}"
    text = f"apiVersion: argoproj.io/v1alpha1\nkind: Rollout\nmetadata: {{name: web}}\nspec: {spec}\n"
    manifests = read(text)
    assert not manifests.inventory.workloads
    assert [unread.why for unread in manifests.unread] == ["no containers of its pods are known"]
    assert not manifests.is_complete


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ("replicas: 3", "spec.replicas: expected an integer"),
        ("spec:\n      affinity:", "expected a mapping"),
    ],
)
def test_a_wrong_type_is_told_and_not_an_error(wrong: str, why: str) -> None:
    new = "replicas: many" if "replicas" in wrong else "spec:\n      affinity: 3\n      gone:"
    manifests = read(ROLLOUT.replace(wrong, new).replace("STRATEGY", "{canary: {}}"))
    assert not manifests.errors
    assert why in manifests.unread[0].why


def test_another_version_is_not_read() -> None:
    assert not SHIPPED.is_read("argoproj.io/v9", "Rollout")
    assert SHIPPED.is_read("argoproj.io/v1alpha1", "Rollout")
    assert not SHIPPED.is_read("example.com/v1alpha1", "Rollout")


def test_the_revision_label_is_that_of_the_operator(tmp_path: Path) -> None:
    constraint = (
        "{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway, labelSelector: {matchLabels: {app: web}}, "
        "matchLabelKeys: [KEY]}"
    )
    spread = f"topologySpreadConstraints: [{constraint}]\n      containers:"
    text = ROLLOUT.replace("STRATEGY", "{canary: {}}").replace("containers:", spread)

    def keys(key: str) -> list[str]:
        rules = ["spread-matchlabelkeys-absent-label"]
        return [f.help for f in lint(text=text.replace("KEY", key), select=rules).findings]

    assert not keys("rollouts-pod-template-hash")
    assert "rollouts-pod-template-hash" in keys("pod-template-hash")[0]


def test_running_pods_are_matched_by_owner_and_labels(tmp_path: Path) -> None:
    """The pods of the Rollout are replaced; those of a Deployment with the same labels stay beside them."""
    node = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "n1", "labels": {"kubernetes.io/hostname": "n1"}},
        "status": {"allocatable": {"cpu": "4", "memory": "16Gi", "pods": "20"}, "capacity": {}},
    }

    def replica_set(name: str, kind: str, owner: str) -> dict[str, object]:
        reference = {"apiVersion": "x/v1", "kind": kind, "name": owner, "uid": owner, "controller": True}
        meta = {"name": name, "namespace": "shop", "uid": name, "ownerReferences": [reference]}
        return {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": meta, "spec": {"replicas": 1}}

    def pod(name: str, owner: str) -> dict[str, object]:
        reference = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": owner, "uid": owner, "controller": True}
        meta = {"name": name, "namespace": "shop", "labels": {"app": "web"}, "ownerReferences": [reference]}
        spec = {"nodeName": "n1", "containers": [{"name": "web", "image": "x"}]}
        return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec, "status": {"phase": "Running"}}

    items = [
        node,
        replica_set("web-1", "Rollout", "web"),
        replica_set("old-1", "Deployment", "old"),
        pod("web-1-a", "web-1"),
        pod("old-1-a", "old-1"),
    ]
    file = tmp_path / "snapshot.json"
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    workload = read(ROLLOUT.replace("STRATEGY", "{canary: {}}")).inventory.workloads[0]
    running = load_cluster(file).running
    assert [bound.name for bound in running.pods_of(workload)] == ["web-1-a"]
    assert running.live(workload) is None


def test_a_generated_name_is_the_name_of_every_part() -> None:
    text = (
        "apiVersion: ray.io/v1\nkind: RayCluster\nmetadata: {generateName: ray-}\n"
        "spec: {headGroupSpec: {template: {spec: {containers: [{name: c}]}}}}\n"
    )
    assert [str(w) for w in read(text).inventory.workloads] == ["RayCluster default/ray-:head"]


def test_what_a_field_lacks_is_told_with_the_field() -> None:
    text = (
        ROLLOUT.replace("STRATEGY", "{canary: {}}")
        .replace("Rollout", "JobSet")
        .replace("argoproj.io/v1alpha1", "jobset.x-k8s.io/v1alpha2")
    )
    text = text[: text.index("spec:")] + "spec: {replicatedJobs: [{name: a, replicas: x, template: {}}]}\n"
    assert read(text).unread[0].why == "spec.parallelism: 'x' is not a whole number"
