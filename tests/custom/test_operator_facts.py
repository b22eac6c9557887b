"""What operators add or leave out in special cases, each read off the operator's source that its card names."""

from __future__ import annotations

import pytest

from kubesched_lint.custom.kinds import SHIPPED
from kubesched_lint.linter.reading import manifest_set
from kubesched_lint.manifests.loader import documents
from kubesched_lint.model.workload import Workload

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
