"""What operators add or leave out in special cases, each read off the operator's source that its card names."""

from __future__ import annotations

import pytest

from kubesched_lint.custom.kinds import SHIPPED
from kubesched_lint.engine.controllers.bounds import covers
from kubesched_lint.engine.model.inventory import Inventory
from kubesched_lint.engine.model.workloads.workload import Workload
from kubesched_lint.linter.reading.manifest_set import manifest_set
from kubesched_lint.sources.manifests.document import Document
from kubesched_lint.sources.manifests.loader import documents

POD = "containers: [{name: c, image: x, resources: {requests: {cpu: '1'}}}]"
JOB = f"{{name: w, template: {{spec: {{suspend: true, template: {{spec: {{{POD}}}}}}}}}}}"


def workloads(api_version: str, kind: str, spec: str, annotations: str = "", more: str = "") -> tuple[Workload, ...]:
    """Return the workloads of a custom resource, from its ``spec`` and ``annotations`` in YAML's flow style."""
    meta = f"{{name: it, namespace: ns, annotations: {{{annotations}}}}}"
    text = f"apiVersion: {api_version}\nkind: {kind}\nmetadata: {meta}\nspec: {spec}\n{more}"
    return manifest_set(documents("m.yaml", text.encode(), SHIPPED.is_read), "default").inventory.workloads


def knative(annotations: str) -> Workload:
    spec = f"{{template: {{metadata: {{annotations: {{{annotations}}}}}, spec: {{{POD}}}}}}}"
    return workloads("serving.knative.dev/v1", "Service", spec)[0]


@pytest.mark.parametrize(
    ("annotations", "replicas"),
    [
        ("", 1),
        ("autoscaling.knative.dev/min-scale: '3'", 3),
        ("autoscaling.knative.dev/minScale: '3'", 3),
        ("autoscaling.knative.dev/initialScale: '4', autoscaling.knative.dev/min-scale: '3'", 4),
    ],
)
def test_knative_reads_both_spellings_of_a_scale(annotations: str, replicas: int) -> None:
    service = knative(annotations)
    assert service.replicas == replicas
    assert service.custom is not None
    assert ("node-loss" in service.custom.unknown) == (not annotations)


def test_annotations_of_knative_set_the_requests_of_its_sidecar() -> None:
    plain = knative("")
    larger = knative(
        "queue.sidecar.serving.knative.dev/cpu-resource-request: '2', "
        "queue.sidecar.serving.knative.dev/memory-resource-request: 1Gi"
    )
    percentage = knative("queue.sidecar.serving.knative.dev/resource-percentage: '10'")
    assert plain.pod.requests == {"cpu": 1025}
    assert larger.pod.requests == {"cpu": 3000, "memory": 1024**3}
    assert percentage.custom is not None
    assert "drain" in percentage.custom.unknown


@pytest.mark.parametrize(
    ("fields", "claims"),
    [
        ("", ["elasticsearch-data"]),
        ("volumes: [{name: elasticsearch-data, emptyDir: {}}]", []),
        ("volumes: [{name: other, emptyDir: {}}]", ["elasticsearch-data"]),
    ],
)
def test_elasticsearch_has_a_default_claim_unless_a_volume_has_its_name(fields: str, claims: list[str]) -> None:
    spec = f"{{nodeSets: [{{name: a, count: 1, podTemplate: {{spec: {{{POD}, {fields}}}}}}}]}}"
    found = workloads("elasticsearch.k8s.elastic.co/v1", "Elasticsearch", spec)[0]
    assert [claim.name for claim in found.claim_templates] == claims


@pytest.mark.parametrize(("annotations", "replicas"), [("", 3), ("cnpg.io/hibernation: 'on'", 0)])
def test_a_hibernated_cluster_of_cloudnativepg_has_no_pods(annotations: str, replicas: int) -> None:
    spec = "{instances: 3, storage: {size: 1Gi}}"
    assert workloads("postgresql.cnpg.io/v1", "Cluster", spec, annotations)[0].replicas == replicas


def test_a_jobset_decides_whether_its_jobs_are_suspended() -> None:
    suspended = [
        workloads("jobset.x-k8s.io/v1alpha2", "JobSet", f"{{{own} replicatedJobs: [{JOB}]}}")[0].suspended
        for own in ("", "suspend: true,")
    ]
    assert suspended == ["", "suspended"]


@pytest.mark.parametrize(
    ("api_version", "kind", "spec", "event"),
    [
        ("postgresql.cnpg.io/v1", "Cluster", "{storage: {size: 1Gi}, tablespaces: [{name: a}]}", "drain"),
        ("jobset.x-k8s.io/v1alpha2", "JobSet", f"{{volumeClaimPolicies: [{{}}], replicatedJobs: [{JOB}]}}", "drain"),
        (
            "jobset.x-k8s.io/v1alpha2",
            "JobSet",
            f"{{startupPolicy: {{startupPolicyOrder: InOrder}}, replicatedJobs: [{JOB}]}}",
            "deploy",
        ),
        (
            "leaderworkerset.x-k8s.io/v1",
            "LeaderWorkerSet",
            f"{{leaderWorkerTemplate: {{size: 2, restartPolicy: None, workerTemplate: {{spec: {{{POD}}}}}}}}}",
            "node-loss",
        ),
        (
            "leaderworkerset.x-k8s.io/v1",
            "LeaderWorkerSet",
            f"{{leaderWorkerTemplate: {{size: 2, workerTemplate: {{spec: {{{POD}}}}}}}}}",
            "rollout",
        ),
        (
            "elasticsearch.k8s.elastic.co/v1",
            "Elasticsearch",
            "{nodeSets: [{name: a, count: 1}, {name: b, count: 1, zoneAwareness: {}}]}",
            "deploy",
        ),
        ("monitoring.coreos.com/v1", "Prometheus", "{paused: true}", "deploy"),
        (
            "ray.io/v1",
            "RayCluster",
            f"{{upgradeStrategy: {{type: Recreate}}, headGroupSpec: {{template: {{spec: {{{POD}}}}}}}}}",
            "rollout",
        ),
        (
            "ray.io/v1",
            "RayJob",
            f"{{submissionMode: SidecarMode, rayClusterSpec: {{headGroupSpec: {{template: {{spec: {{{POD}}}}}}}}}}}",
            "drain",
        ),
    ],
)
def test_what_no_card_models_is_unknown(api_version: str, kind: str, spec: str, event: str) -> None:
    first = workloads(api_version, kind, spec)[0]
    assert first.custom is not None
    assert event in first.custom.unknown


@pytest.mark.parametrize(
    ("pod", "requests", "ports"),
    [
        (
            "containers: [{name: w, image: x, resources: {requests: {cpu: 50m}}}]",
            {"cpu": 200, "memory": 256 << 20},
            [8080],
        ),
        (f"hostNetwork: true, {POD}", {"cpu": 1000, "memory": 256 << 20}, [8080]),
        (
            "containers: [{name: w, image: x, ports: [{name: metrics, containerPort: 9}, {containerPort: 8}]}]",
            {"cpu": 200, "memory": 256 << 20},
            [9, 8],
        ),
    ],
)
def test_a_worker_of_ray_waits_in_an_init_container_and_has_a_port(
    pod: str, requests: dict[str, int], ports: list[int]
) -> None:
    head = f"{{labels: {{a: b}}, template: {{spec: {{{POD}}}}}}}"
    group = f"{{groupName: g, labels: {{c: d}}, replicas: 2, template: {{spec: {{{pod}}}}}}}"
    spec = f"{{enableInTreeAutoscaling: true, headGroupSpec: {head}, workerGroupSpecs: [{group}]}}"
    first, worker = workloads("ray.io/v1", "RayCluster", spec)
    assert worker.pod.requests == requests
    assert isinstance(worker.source, Document)
    containers = worker.source.value["spec"]["template"]["spec"]["containers"]
    assert [port["containerPort"] for port in containers[0]["ports"]] == ports
    assert (first.pod.labels["a"], worker.pod.labels["c"]) == ("b", "d")
    assert first.pod.requests == {"cpu": 1500, "memory": 512 << 20}  # with the autoscaler
    assert first.custom is not None
    assert not first.custom.unknown


@pytest.mark.parametrize(
    ("containers", "memory", "cpu"),
    [
        ("", 2 << 30, 100),
        ("containers: [{name: side, image: x, resources: {requests: {memory: 1Gi}}}]", 3 << 30, 100),
        ("containers: [{name: a, image: x}, {name: elasticsearch, resources: {limits: {memory: 4Gi}}}]", 4 << 30, 100),
        ("containers: [{name: a, image: x}, {name: elasticsearch}]", 2 << 30, 100),
    ],
)
def test_elasticsearch_has_its_container_memory_and_init_container(containers: str, memory: int, cpu: int) -> None:
    spec = f"{{nodeSets: [{{name: a, count: 1, podTemplate: {{spec: {{{containers}}}}}}}]}}"
    found = workloads("elasticsearch.k8s.elastic.co/v1", "Elasticsearch", spec)[0]
    assert found.pod.requests == {"cpu": cpu, "memory": memory}


KAFKA = "---\napiVersion: kafka.strimzi.io/v1\nkind: Kafka\nmetadata: {name: k}\nspec: {kafka: KAFKA}\n"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
TERMS = (
    f"nodeAffinity: {{{REQUIRED}: {{nodeSelectorTerms: [{{matchExpressions: [{{key: a, operator: Exists}}]}}, {{}}]}}}}"
)


@pytest.mark.parametrize(
    ("kafka", "pool", "keys"),
    [
        ("{rack: {topologyKey: zone}}", "roles: [broker]", [["zone"]]),
        ("{rack: {topologyKey: zone}}", "roles: [controller]", []),
        ("{rack: {type: environment-variable, envVarName: RACK}}", "roles: [broker]", []),
        (
            "{rack: {topologyKey: zone}, template: {pod: {affinity: {TERMS}}}}",
            "roles: [broker]",
            [["a", "zone"], ["zone"]],
        ),
    ],
)
def test_brokers_of_strimzi_need_the_label_of_their_rack(kafka: str, pool: str, keys: list[list[str]]) -> None:
    head = (
        "apiVersion: kafka.strimzi.io/v1\nkind: KafkaNodePool\nmetadata: {name: it, labels: {strimzi.io/cluster: k}}\n"
    )
    storage = "storage: {type: jbod, volumes: [{type: ephemeral}, {id: 3, type: persistent-claim, size: 1Gi}]}"
    text = f"{head}spec: {{replicas: 1, {pool}, {storage}}}\n" + KAFKA.replace("KAFKA", kafka.replace("TERMS", TERMS))
    found = manifest_set(documents("m.yaml", text.encode(), SHIPPED.is_read), "default").inventory.workloads[0]
    assert [claim.name for claim in found.claim_templates] == ["data-3"]
    assert isinstance(found.source, Document)
    affinity = found.source.value["spec"]["template"]["spec"].get("affinity", {}).get("nodeAffinity", {})
    terms = affinity.get(REQUIRED, {}).get("nodeSelectorTerms", [])
    assert [[one["key"] for one in term["matchExpressions"]] for term in terms] == keys
    alone = manifest_set(
        documents("m.yaml", text.split("---")[0].encode(), SHIPPED.is_read), "default"
    ).inventory.workloads
    assert alone[0].custom is not None
    assert "deploy" in alone[0].custom.unknown


@pytest.mark.parametrize(("kind", "ports"), [("Prometheus", {9090, 8080}), ("Alertmanager", {9093, 9094, 8080})])
def test_prometheus_operator_follows_update_strategy_and_uses_ports_of_the_node(kind: str, ports: set[int]) -> None:
    spec = "{hostNetwork: true, updateStrategy: {type: OnDelete}}"
    found = workloads("monitoring.coreos.com/v1", kind, spec)[0]
    assert found.strategy.type == "OnDelete"
    assert {port.port for port in found.pod.host_ports} == ports


@pytest.mark.parametrize(
    ("strategy", "label", "is_known"),
    [
        ("canary: {stableMetadata: {labels: {role: stable}}}", "stable", True),
        ("blueGreen: {activeMetadata: {labels: {role: active}}}", "active", True),
        ("canary: {canaryMetadata: {labels: {role: canary}}}", "", False),
        ("blueGreen: {previewMetadata: {labels: {role: preview}}}", "", False),
    ],
)
def test_a_rollout_labels_its_pods_by_their_part_in_it(strategy: str, label: str, is_known: bool) -> None:
    spec = f"{{strategy: {{{strategy}}}, template: {{metadata: {{labels: {{app: web}}}}, spec: {{{POD}}}}}}}"
    rollout = workloads("argoproj.io/v1alpha1", "Rollout", spec)[0]
    assert rollout.pod.labels == {"app": "web"} | ({"role": label} if label else {})
    assert rollout.custom is not None
    assert ("rollout" not in rollout.custom.unknown) == is_known


def test_a_group_of_one_pod_is_lost_and_replaced_like_a_pod_of_a_statefulset() -> None:
    leader, *others = workloads(
        "leaderworkerset.x-k8s.io/v1",
        "LeaderWorkerSet",
        f"{{leaderWorkerTemplate: {{workerTemplate: {{spec: {{{POD}}}}}}}}}",
    )
    assert leader.custom is not None
    assert not others
    assert not leader.custom.unknown


def test_workers_of_a_leader_that_must_be_ready_come_later() -> None:
    template = f"{{size: 2, workerTemplate: {{spec: {{{POD}}}}}}}"
    leader, workers = workloads(
        "leaderworkerset.x-k8s.io/v1",
        "LeaderWorkerSet",
        f"{{startupPolicy: LeaderReady, leaderWorkerTemplate: {template}}}",
    )
    assert leader.custom is not None
    assert workers.custom is not None
    assert ("deploy" in leader.custom.unknown, "deploy" in workers.custom.unknown) == (False, True)


STRIMZI = "apiVersion: kafka.strimzi.io/v1\nkind: Kafka\nmetadata: {name: k, namespace: ns}\nspec: {kafka: %s}\n"
POOL = """---
apiVersion: kafka.strimzi.io/v1
kind: KafkaNodePool
metadata: {name: %s, namespace: %s, labels: {strimzi.io/cluster: %s}}
spec: {replicas: %d, roles: [broker], storage: {type: ephemeral}}
"""


def made(text: str) -> Inventory:
    return manifest_set(documents("m.yaml", text.encode(), SHIPPED.is_read), "default").inventory


@pytest.mark.parametrize(
    ("kafka", "bound", "is_known"),
    [
        ("{}", 4, True),
        ("{template: {podDisruptionBudget: {metadata: {labels: {a: b}}}}}", 4, True),
        ("{template: {podDisruptionBudget: {maxUnavailable: 2}}}", 3, True),
        ("{template: {podDisruptionBudget: {maxUnavailable: 9}}}", 0, True),
        ("{template: {podDisruptionBudget: {maxUnavailable: 0}}}", 5, False),
    ],
)
def test_the_budget_of_strimzi_covers_all_node_pools_of_a_kafka(kafka: str, bound: int, is_known: bool) -> None:
    mine = POOL % ("a", "ns", "k", 2) + POOL % ("b", "ns", "k", 3)
    found = made(STRIMZI % kafka + mine + POOL % ("c", "other", "k", 7) + POOL % ("d", "ns", "another", 7))
    (budget,) = found.budgets
    assert (budget.namespace, budget.name, budget.min_available) == ("ns", "k-kafka", bound)
    pods = {str(w): w for w in found.workloads if covers(budget, w.namespace, w.pod.labels)}
    assert list(pods) == ["KafkaNodePool ns/a", "KafkaNodePool ns/b"]
    assert {"drain" not in w.custom.unknown for w in pods.values() if w.custom} == {is_known}


@pytest.mark.parametrize(("annotation", "bound"), [("", 2), ("strimzi.io/node-pools: enabled", 4)])
def test_a_kafka_without_node_pools_has_brokers_of_its_own(annotation: str, bound: int) -> None:
    kafka = (STRIMZI % "{replicas: 3}").replace("namespace: ns", f"namespace: ns, annotations: {{{annotation}}}")
    budgets = made(kafka + POOL % ("a", "ns", "k", 5)).budgets
    assert [budget.min_available for budget in budgets] == [bound]


def test_a_kafka_whose_node_pools_are_elsewhere_has_no_budget() -> None:
    assert not made(STRIMZI % "{}").budgets


@pytest.mark.parametrize(
    "part", ["entityOperator: {topicOperator: {}, %s}", "cruiseControl: {%s}", "kafkaExporter: {%s}"]
)
@pytest.mark.parametrize(("template", "bound"), [("", 1), ("template: {podDisruptionBudget: {maxUnavailable: 0}}", 0)])
def test_each_deployment_of_a_kafka_has_a_budget(part: str, template: str, bound: int) -> None:
    found = made((STRIMZI % "{}").replace("spec: {", f"spec: {{{part % template}, "))
    (budget,), (workload,) = found.budgets, found.workloads
    assert budget.max_unavailable == bound
    assert covers(budget, workload.namespace, workload.pod.labels)


ROLES = "config: {node.roles: [%s]}"


@pytest.mark.parametrize(
    ("sets", "budget", "bounds", "is_known"),
    [
        ("{name: a, count: 1}", "", [0], True),
        ("{name: a, count: 3}", "", [2], True),
        ("{name: a, count: 3}", "podDisruptionBudget: {metadata: {labels: {a: b}}},", [2], True),
        ("{name: a, count: 3}", "podDisruptionBudget: {},", [], True),
        ("{name: a, count: 3}", "podDisruptionBudget: {spec: {minAvailable: 1, selector: {}}},", [1], True),
        ("{name: a, count: 2}, {name: b, count: 3, config: {node.store.allow_mmap: false}}", "", [4], True),
        (f"{{name: a, count: 3, {ROLES % 'master, data'}}}", "", [2], True),
        (f"{{name: a, count: 1, {ROLES % 'master'}}}, {{name: b, count: 3, {ROLES % 'data'}}}", "", [3], False),
        (f"{{name: a, count: 3}}, {{name: b, count: 1, {ROLES % ''}}}", "", [3], False),
        ("{name: a, count: 3}, {name: b, count: 1, config: {node: {roles: []}}}", "", [3], False),
        ("{name: a, count: 3}, {name: b, count: 1, config: {node.master: false}}", "", [3], False),
        ("{name: a}", "", [0], False),
    ],
)
def test_the_budget_of_eck_keeps_all_nodes_but_one(sets: str, budget: str, bounds: list[int], is_known: bool) -> None:
    head = "apiVersion: elasticsearch.k8s.elastic.co/v1\nkind: Elasticsearch\nmetadata: {name: it, namespace: ns}\n"
    found = made(f"{head}spec: {{{budget} nodeSets: [{sets}]}}\n")
    assert [one.min_available for one in found.budgets] == bounds
    assert {"drain" not in w.custom.unknown for w in found.workloads if w.custom} == {is_known}
    assert all(covers(one, w.namespace, w.pod.labels) for one in found.budgets for w in found.workloads)


def test_a_budget_written_in_the_resource_is_fixed_there() -> None:
    """The bound of a budget that an operator counts is nobody's to change."""
    head = "apiVersion: elasticsearch.k8s.elastic.co/v1\nkind: Elasticsearch\nmetadata: {name: it, namespace: ns}\n"
    spec = "spec: {podDisruptionBudget: {spec: {minAvailable: 3, selector: {}}}, nodeSets: [{name: a, count: 3}]}\n"
    (budget,) = made(head + spec).budgets
    assert isinstance(budget.source, Document)
    move = budget.source.moved(budget.bound_path)
    assert (move.at, move.is_exact) == (("spec", "podDisruptionBudget", "spec", "minAvailable"), True)
    (counted,) = made(STRIMZI % "{replicas: 3}").budgets
    assert isinstance(counted.source, Document)
    assert not counted.source.moved(counted.bound_path).is_exact
