"""Custom resources in a set: their lines, autoscalers, fixes, running pods, and what their cards do not know."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kubesched_lint import lint, load_cluster, simulate
from kubesched_lint.custom.kinds import SHIPPED
from kubesched_lint.engine.base.places import Path as Path_
from kubesched_lint.engine.controllers.deployment import ReplicaSetSize, sync
from kubesched_lint.engine.model.workloads.workload import Strategy
from kubesched_lint.explaining.remedies.remedy import Remedy, written
from kubesched_lint.linter.reading.manifest_set import ManifestSet, manifest_set
from kubesched_lint.sources.manifests.changes import ChangeError, Put
from kubesched_lint.sources.manifests.document import Document
from kubesched_lint.sources.manifests.loader import documents

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
        (
            "{canary: {trafficRouting: {nginx: {}}, steps: [{setWeight: 5}, {setCanaryScale: {replicas: 9}}]}}",
            9,
            "unknown",
        ),
        ("{canary: {maxSurge: 0, maxUnavailable: 1, steps: [{experiment: {}}]}}", 3, "unknown"),
        ("{canary: {maxSurge: 0, maxUnavailable: 1, steps: [{setWeight: 5}]}}", 3, "fine"),
        ("{canary: {maxSurge: 1, maxUnavailable: 1}}", 4, "fine"),
        ("{canary: {maxSurge: 1, maxUnavailable: 1}}", 3, "fine"),
        ("{canary: {maxSurge: 1, maxUnavailable: 1, steps: [{setWeight: 5}]}}", 3, "unknown"),
        ("{canary: {trafficRouting: {nginx: {}}, replicaProgressThreshold: {value: 50}}}", 5, "unknown"),
        ("{canary: {antiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {}}}}", 9, "unknown"),
    ],
)
def test_a_rollout_needs_the_room_of_its_strategy(tmp_path: Path, strategy: str, nodes: int, verdict: str) -> None:
    assert rollout_verdict(tmp_path, strategy, nodes) == verdict


@pytest.mark.parametrize(("bound", "verdict"), [("maxUnavailable: 1", "unknown"), ("minAvailable: 1", "fine")])
def test_a_budget_works_if_the_operator_has_the_scale_that_it_asks_for(
    tmp_path: Path, bound: str, verdict: str
) -> None:
    group = "{groupName: g, replicas: 2, template: {spec: {containers: [{name: c, image: x}]}}}"
    text = (
        f"apiVersion: ray.io/v1\nkind: RayCluster\nmetadata: {{name: r}}\nspec: {{workerGroupSpecs: [{group}]}}\n---\n"
        "apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: b}\n"
        f"spec: {{{bound}, selector: {{matchLabels: {{ray.io/cluster: r}}}}}}\n"
    )
    report = simulate(text=text, cluster=cluster_of(tmp_path, 3))
    (drain,) = [outcome for outcome in report.outcomes if outcome.event == "drain"]
    assert drain.verdict == verdict


def _running(number: int) -> list[dict[str, Any]]:
    """Three nodes, and pods of the Cluster ``pg`` on the first of them."""
    allocatable = {"cpu": "4", "memory": "8Gi", "pods": "9"}
    status = {"allocatable": allocatable, "conditions": [{"type": "Ready", "status": "True"}]}
    names = ["a", "b", "c"]
    nodes = [
        {"kind": "Node", "metadata": {"name": n, "labels": {"kubernetes.io/hostname": n}}, "status": status}
        for n in names
    ]
    pods = []
    for count, node in enumerate(names[:number], 1):
        owner = {"apiVersion": "postgresql.cnpg.io/v1", "kind": "Cluster", "name": "pg", "uid": "1", "controller": True}
        labels = {"cnpg.io/cluster": "pg", "cnpg.io/podRole": "instance"}
        meta = {"name": f"pg-{count}", "namespace": "default", "labels": labels, "ownerReferences": [owner]}
        containers = [{"name": "postgres", "image": "x"}]
        spec = {"nodeName": node, "containers": containers}
        ready = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
        pods.append({"kind": "Pod", "metadata": meta, "spec": spec, "status": ready})
    return [{"apiVersion": "v1", **item} for item in (*nodes, *pods)]


@pytest.mark.parametrize(("instances", "running", "verdict"), [(3, 0, "fine"), (4, 0, "unknown"), (3, 3, "unknown")])
def test_an_order_of_its_own_matters_unless_equal_pods_end_well(instances: int, running: int, verdict: str) -> None:
    text = (
        "apiVersion: postgresql.cnpg.io/v1\nkind: Cluster\nmetadata: {name: pg}\n"
        f"spec: {{instances: {instances}, affinity: {{podAntiAffinityType: required}}}}\n"
    )
    report = simulate(text=text, cluster=load_cluster(objects=_running(running)))
    (rollout,) = [outcome for outcome in report.outcomes if outcome.event == "rollout"]
    assert rollout.verdict == verdict


@pytest.mark.parametrize(("own", "count"), [("", 0), ("initContainers: [{name: i, image: x, resources: PEAK}]", 1)])
def test_no_finding_blames_a_container_of_the_operator(own: str, count: int) -> None:
    pod = own.replace("PEAK", "{requests: {cpu: '3'}}")
    text = (
        "apiVersion: elasticsearch.k8s.elastic.co/v1\nkind: Elasticsearch\nmetadata: {name: es}\n"
        f"spec: {{nodeSets: [{{name: a, count: 1, podTemplate: {{spec: {{{pod}}}}}}}]}}\n"
    )
    assert len(lint(text=text, select=["init-container-peak"]).findings) == count


@pytest.mark.parametrize(("count", "verdict"), [("", "unknown"), ("count: 0, ", "none"), ("count: 1, ", "depends")])
def test_a_node_set_without_count_has_an_unknown_number_of_pods(tmp_path: Path, count: str, verdict: str) -> None:
    pod = "{containers: [{name: elasticsearch, resources: {requests: {cpu: '1', memory: 9Gi}}}]}"
    text = (
        "apiVersion: elasticsearch.k8s.elastic.co/v1\nkind: Elasticsearch\nmetadata: {name: es}\n"
        f"spec: {{nodeSets: [{{name: a, {count}podTemplate: {{spec: {pod}}}}}]}}\n---\n"
        "apiVersion: v1\nkind: Pod\nmetadata: {name: other}\n"
        "spec: {containers: [{name: c, image: x, resources: {requests: {cpu: '1', memory: 9Gi}}}]}\n"
    )
    found = {
        o.object.name: o for o in simulate(text=text, cluster=cluster_of(tmp_path, 1)).outcomes if o.event == "deploy"
    }
    assert found["es:a"].verdict == verdict
    assert any("the autoscaler of ECK sets" in text for text in found["other"].assumes) == (verdict == "unknown")


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


@pytest.mark.parametrize("kind", ["Deployment", "PodTemplate"])
def test_a_rollout_without_its_template_is_told(kind: str) -> None:
    spec = f"{{workloadRef: {{kind: {kind}, name: gone}}, strategy: {{canary: {{}}}}}}"
    text = f"apiVersion: argoproj.io/v1alpha1\nkind: Rollout\nmetadata: {{name: web}}\nspec: {spec}\n"
    manifests = read(text)
    assert not manifests.inventory.workloads
    assert [unread.why for unread in manifests.unread] == ["no containers of its pods are known"]
    assert not manifests.is_complete


def test_a_pod_template_that_nothing_names_makes_no_pods() -> None:
    template = "{spec: {containers: [{name: c, image: x}]}}"
    manifests = read(f"apiVersion: v1\nkind: PodTemplate\nmetadata: {{name: web}}\ntemplate: {template}\n")
    assert not manifests.inventory.workloads
    assert not manifests.unread
    assert manifests.is_complete


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


NODE = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {"name": "n1", "labels": {"kubernetes.io/hostname": "n1"}},
    "status": {"allocatable": {"cpu": "4", "memory": "16Gi", "pods": "20"}, "capacity": {}},
}


def replica_set(name: str, kind: str, owner: str) -> dict[str, object]:
    reference = {"apiVersion": "x/v1", "kind": kind, "name": owner, "uid": owner, "controller": True}
    meta = {"name": name, "namespace": "shop", "uid": name, "ownerReferences": [reference]}
    return {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": meta, "spec": {"replicas": 1}}


def pod(name: str, kind: str, owner: str, **labels: str) -> dict[str, object]:
    reference = {"apiVersion": "x/v1", "kind": kind, "name": owner, "uid": owner, "controller": True}
    meta = {"name": name, "namespace": "shop", "labels": labels, "ownerReferences": [reference]}
    spec = {"nodeName": "n1", "containers": [{"name": "web", "image": "x"}]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec, "status": {"phase": "Running"}}


def running_of(tmp_path: Path, text: str, *items: dict[str, object]) -> list[list[str]]:
    """Return the names of the running pods of each workload."""
    file = tmp_path / "snapshot.json"
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [NODE, *items]}))
    running = load_cluster(file).running
    workloads = read(text).inventory.workloads
    assert all(running.live(workload) is None for workload in workloads)
    return [[bound.name for bound in running.pods_of(workload)] for workload in workloads]


def test_running_pods_are_matched_by_owner_and_labels(tmp_path: Path) -> None:
    """The pods of the Rollout are replaced; those of a Deployment with the same labels stay beside them."""
    found = running_of(
        tmp_path,
        ROLLOUT.replace("STRATEGY", "{canary: {}}"),
        replica_set("web-1", "Rollout", "web"),
        replica_set("old-1", "Deployment", "old"),
        pod("web-1-a", "ReplicaSet", "web-1", app="web"),
        pod("old-1-a", "ReplicaSet", "old-1", app="web"),
    )
    assert found == [["web-1-a"]]


def test_pods_of_a_deployment_that_the_operator_makes_are_matched(tmp_path: Path) -> None:
    text = (
        "apiVersion: serving.knative.dev/v1\nkind: Service\nmetadata: {name: hello, namespace: shop}\n"
        "spec: {template: {spec: {containers: [{name: c}]}}}\n"
    )
    label = {"serving.knative.dev/service": "hello"}
    found = running_of(
        tmp_path,
        text,
        replica_set("hello-1", "Deployment", "hello-00001-deployment"),
        pod("hello-1-a", "ReplicaSet", "hello-1", **label),
        pod("other", "StatefulSet", "hello", **label),
    )
    assert found == [["hello-1-a"]]


def test_the_parts_of_a_resource_have_their_own_running_pods(tmp_path: Path) -> None:
    text = (
        "apiVersion: leaderworkerset.x-k8s.io/v1\nkind: LeaderWorkerSet\nmetadata: {name: serve, namespace: shop}\n"
        "spec: {leaderWorkerTemplate: {size: 2, workerTemplate: {spec: {containers: [{name: c}]}}}}\n"
    )
    name, index = "leaderworkerset.sigs.k8s.io/name", "leaderworkerset.sigs.k8s.io/worker-index"
    leader = pod("serve-0", "StatefulSet", "serve", **{name: "serve", index: "0"})
    worker = pod("serve-0-1", "StatefulSet", "serve-0", **{name: "serve", index: "1"})
    assert running_of(tmp_path, text, leader, worker) == [["serve-0"], ["serve-0-1"]]


def edited(strategy: str, at: Path_) -> Path_:
    """Return where a change of a field of the plain workload is written."""
    source = read(ROLLOUT.replace("STRATEGY", strategy)).inventory.workloads[0].source
    assert isinstance(source, Document)
    remedy, document = written(Remedy("x", safe=True, changes=(Put(at, 0),)), source)
    assert document.kind == "Rollout"
    assert not document.moves
    return remedy.changes[0].at


def test_an_edit_is_written_where_the_resource_has_the_value() -> None:
    surge = ("spec", "strategy", "rollingUpdate", "maxSurge")
    container = ("spec", "template", "spec", "containers", 0, "resources")
    assert edited("{canary: {}}", surge) == ("spec", "strategy", "canary", "maxSurge")
    assert edited("{canary: {}}", container) == container
    assert edited("{canary: {}}", ("metadata", "labels", "a")) == ("metadata", "labels", "a")


@pytest.mark.parametrize(
    ("strategy", "at"),
    [
        ("{blueGreen: {}}", ("spec", "strategy", "rollingUpdate", "maxSurge")),
        ("{canary: {}}", ("spec", "strategy", "rollingUpdate")),
        ("{canary: {}}", ("spec", "strategy", "type")),
    ],
)
def test_an_edit_of_what_the_controller_decides_is_refused(strategy: str, at: Path_) -> None:
    with pytest.raises(ChangeError, match="card of Rollout does not say"):
        edited(strategy, at)


def test_what_a_card_does_not_know_makes_an_error_a_warning(tmp_path: Path) -> None:
    """Exclusive placement adds affinity, so whether a pod fits is not what the plain Job says."""
    text = (
        "apiVersion: jobset.x-k8s.io/v1alpha2\nkind: JobSet\n"
        "metadata: {name: train, namespace: ml, annotations: {KEY: zone}}\n"
        "spec: {replicatedJobs: [{name: w, template: {spec: {template: {spec: {restartPolicy: Never, "
        "containers: [{name: c, image: x, resources: {requests: {cpu: '9'}}}]}}}}}]}\n"
    )

    def found(key: str) -> list[tuple[str, bool]]:
        report = lint(text=text.replace("KEY", key), cluster=cluster_of(tmp_path, 2), elastic=False)
        findings = [f for f in report.findings if f.rule == "resource-exceeds-any-node"]
        return [(f.severity.word, any("exclusive-topology" in a for a in f.evidence.assumes)) for f in findings]

    assert found("other") == [("error", False)]
    assert found("alpha.jobset.sigs.k8s.io/exclusive-topology") == [("warning", True)]


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


def test_a_template_of_a_wrong_type_is_told() -> None:
    text = (
        "apiVersion: jobset.x-k8s.io/v1alpha2\nkind: JobSet\nmetadata: {name: a}\n"
        "spec: {replicatedJobs: [{name: a, template: {spec: text}}]}\n"
    )
    assert "a mapping is expected" in read(text).unread[0].why


SPREAD_KAFKA = """\
apiVersion: kafka.strimzi.io/v1
kind: KafkaNodePool
metadata: {name: brokers, namespace: shop, labels: {strimzi.io/cluster: events, team: web}}
spec:
  replicas: 3
  roles: [controller, broker]
  storage: {type: ephemeral}
  template:
    pod:
      topologySpreadConstraints:
      - maxSkew: 1
        topologyKey: kubernetes.io/hostname
        whenUnsatisfiable: DoNotSchedule
        labelSelector: {matchLabels: {LABEL}}
"""
SPREAD_ELASTICSEARCH = """\
apiVersion: elasticsearch.k8s.elastic.co/v1
kind: Elasticsearch
metadata: {name: logs, namespace: shop}
spec:
  version: 9.2.0
  nodeSets:
  - name: data
    count: 3
    podTemplate:
      spec:
        topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: kubernetes.io/hostname
          whenUnsatisfiable: DoNotSchedule
          labelSelector: {matchLabels: {LABEL}}
"""


@pytest.mark.parametrize(
    ("text", "label", "is_own"),
    [
        (SPREAD_KAFKA, "strimzi.io/component-type: kafka", True),
        (SPREAD_KAFKA, "strimzi.io/broker-role: 'true'", True),
        (SPREAD_KAFKA, "app.kubernetes.io/part-of: strimzi-events", True),
        (SPREAD_KAFKA, "team: web", True),
        (SPREAD_KAFKA, "strimzi.io/component-type: kafka-connect", False),
        (SPREAD_ELASTICSEARCH, "elasticsearch.k8s.elastic.co/node-data_hot: 'true'", True),
        (SPREAD_ELASTICSEARCH, "elasticsearch.k8s.elastic.co/cluster-name: lgs", False),
    ],
)
def test_spread_constraints_may_select_the_labels_of_the_operator(text: str, label: str, is_own: bool) -> None:
    rules = [f.rule for f in lint(text=text.replace("LABEL", label)).findings]
    assert ("spread-selector-misses-self" in rules) is not is_own
