"""A VerticalPodAutoscaler beside a horizontal autoscaler that follows the same resource."""

from __future__ import annotations

from typing import Any

import pytest

from kubesched_lint import lint, load_cluster

RULE = "vpa-beside-hpa"
CONTAINERS = [{"name": name, "image": "x:1"} for name in ("web", "proxy")]
TEMPLATE = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": CONTAINERS}}
WEB = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web"},
    "spec": {"selector": {"matchLabels": {"app": "web"}}, "template": TEMPLATE},
}
TARGET = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}


def horizontal(version: str = "autoscaling/v2", **spec: Any) -> dict[str, Any]:
    kind = "HorizontalPodAutoscaler" if version.startswith("autoscaling/") else "ScaledObject"
    metadata = {"name": "web", "annotations": spec.pop("annotations", {})}
    return {"apiVersion": version, "kind": kind, "metadata": metadata, "spec": {"scaleTargetRef": TARGET, **spec}}


def of_resource(name: str, target: str = "Utilization", container: str = "") -> dict[str, Any]:
    field = "containerResource" if container else "resource"
    said = {"name": name, "target": {"type": target}, **({"container": container} if container else {})}
    return {"type": field[0].upper() + field[1:], field: said}


def findings(scaler: dict[str, Any], *policies: dict[str, Any], mode: str = "Auto") -> list[Any]:
    spec = {
        "targetRef": TARGET,
        "updatePolicy": {"updateMode": mode},
        "resourcePolicy": {"containerPolicies": policies},
    }
    vpa = {"apiVersion": "autoscaling.k8s.io/v1", "kind": "VerticalPodAutoscaler", "metadata": {"name": "web"}}
    return list(lint(objects=[WEB, scaler, {**vpa, "spec": spec}], select=[RULE]).findings)


@pytest.mark.parametrize(
    ("scaler", "severity", "resource"),
    [
        (horizontal(metrics=[of_resource("cpu")]), "warning", "cpu"),
        (horizontal(metrics=[of_resource("memory", "AverageValue")]), "note", "memory"),
        (horizontal(metrics=[of_resource("cpu", "Utilization", "web")]), "warning", "cpu"),
        (horizontal(), "warning", "cpu"),
        (horizontal("autoscaling/v1", targetCPUUtilizationPercentage=60), "warning", "cpu"),
        (horizontal("keda.sh/v1alpha1", triggers=[{"type": "cpu", "metricType": "Utilization"}]), "warning", "cpu"),
        (
            horizontal("keda.sh/v1alpha1", triggers=[{"type": "memory", "metadata": {"type": "AverageValue"}}]),
            "note",
            "memory",
        ),
    ],
)
def test_metrics_of_a_resource_are_read(scaler: dict[str, Any], severity: str, resource: str) -> None:
    (found,) = findings(scaler)
    assert found.severity.name.lower() == severity
    assert f"sets the {resource} requests" in found.message


@pytest.mark.parametrize(
    "scaler",
    [
        horizontal(metrics=[{"type": "External", "external": {"metric": {"name": "cpu"}}}]),
        horizontal("autoscaling/v1", annotations={"autoscaling.alpha.kubernetes.io/metrics": "[]"}),
        horizontal("keda.sh/v1alpha1", triggers=[{"type": "kafka"}]),
    ],
)
def test_other_metrics_do_not_count(scaler: dict[str, Any]) -> None:
    assert not findings(scaler)


def test_only_what_the_vertical_one_sets_counts() -> None:
    by_cpu = horizontal(metrics=[of_resource("cpu")])
    assert not findings(by_cpu, mode="Off")
    assert not findings(by_cpu, {"containerName": "*", "controlledResources": ["memory"]})
    assert findings(by_cpu, {"containerName": "web", "mode": "Off"})
    by_web = horizontal(metrics=[of_resource("cpu", container="web")])
    assert not findings(by_web, {"containerName": "web", "mode": "Off"})


def test_a_vertical_one_of_the_cluster_is_told_at_the_metric() -> None:
    vpa = {"apiVersion": "autoscaling.k8s.io/v1", "kind": "VerticalPodAutoscaler", "metadata": {"name": "web"}}
    sketch = {"apiVersion": "kubesched-lint/v1", "kind": "ClusterSketch", "nodes": []}
    running = load_cluster(objects=[sketch, {**vpa, "spec": {"targetRef": TARGET}}])
    (found,) = lint(objects=[WEB, horizontal(metrics=[of_resource("cpu")])], cluster=running, select=[RULE]).findings
    assert found.at == ("spec", "metrics", 0, "resource", "name")
