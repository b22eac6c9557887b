"""What the API servers of other versions refuse more or less than the recorded one; ``quirks`` has the sources."""

from __future__ import annotations

from typing import Any

import pytest

from kubesched_lint.engine.apiserver.validate import validate

Value = dict[str, Any]


def workload(kind: str, pod: Value | None = None, **spec: Any) -> Value:
    template = {
        "metadata": {"labels": {"app": "a"}},
        "spec": {"containers": [{"name": "a", "image": "a"}], **(pod or {})},
    }
    return {
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": {"name": "a", "namespace": "default"},
        "spec": {"selector": {"matchLabels": {"app": "a"}}, "template": template, **spec},
    }


def scaler(least: int, metric: str = "External") -> Value:
    source = {
        "External": {"external": {"metric": {"name": "q"}, "target": {"type": "Value", "value": "1"}}},
        "Resource": {"resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}}},
    }
    return {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "a", "namespace": "default"},
        "spec": {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "a"},
            "minReplicas": least,
            "maxReplicas": 3,
            "metrics": [{"type": metric, **source[metric]}],
        },
    }


def refused(value: Value, version: str) -> list[str]:
    return [str(cause) for cause in validate(value, version=version).causes]


@pytest.mark.parametrize("version", ["1.30", "1.35.2", "1.36"])
def test_an_autoscaler_may_not_start_from_zero_up_to_1_36(version: str) -> None:
    assert refused(scaler(0), version) == [
        "spec.minReplicas: Invalid value: 0: must be greater than or equal to 1",
    ]


def test_an_autoscaler_may_start_from_zero_from_1_37_on() -> None:
    """autoscaling/validation/validation.go, MinReplicasLowerBound 0 (kubernetes#139648)."""
    assert refused(scaler(0), "1.37") == []
    assert refused(scaler(-1), "1.37") == ["spec.minReplicas: Invalid value: -1: must be greater than or equal to 0"]
    assert refused(scaler(0, "Resource"), "1.37") == [
        "spec.metrics: Forbidden: must specify at least one Object or External metric to support scaling to zero "
        "replicas"
    ]


@pytest.mark.parametrize(
    ("most", "said"),
    [
        (2, []),
        ("25%", []),
        (0, ["Invalid value: 0: cannot be 0"]),
        ("200%", ['Invalid value: "200%": must not be greater than 100%']),
        (-1, ["Invalid value: -1: must be greater than or equal to 0"]),
    ],
)
def test_max_unavailable_of_a_stateful_set_is_checked_while_its_gate_is_on(most: object, said: list[str]) -> None:
    """apps/validation/validation.go, validateRollingUpdateStatefulSet; while the gate is off the field is dropped."""
    value = workload("StatefulSet", updateStrategy={"rollingUpdate": {"maxUnavailable": most}})
    field = "spec.updateStrategy.rollingUpdate.maxUnavailable"
    for version in ("1.34", "1.35", "1.35.4", "1.36"):
        assert refused(value, version) == []
    for version in ("1.35.0", "1.35.3", "1.37"):
        assert refused(value, version) == [f"{field}: {text}" for text in said]


def test_on_delete_has_no_max_unavailable_to_check() -> None:
    value = workload("StatefulSet", updateStrategy={"type": "OnDelete"})
    assert refused(value, "1.37") == []


def test_the_service_name_of_a_stateful_set_is_checked_from_1_33_on() -> None:
    value = workload("StatefulSet", serviceName="Not_A_Name")
    assert refused(value, "1.32") == []
    assert len(refused(value, "1.33")) == 1


def test_the_template_of_a_stateful_set_is_checked_from_1_34_on() -> None:
    value = workload("StatefulSet", {"dnsPolicy": "Wrong"})
    assert refused(value, "1.33") == []
    assert len(refused(value, "1.34")) == len(refused(value, "1.36")) == 1
    jobs = workload("StatefulSet", {"restartPolicy": "OnFailure"})
    assert len(refused(jobs, "1.33")) == 1


def test_the_resize_policy_of_an_init_container_is_checked_from_1_36_on() -> None:
    init = {"name": "i", "image": "i", "resizePolicy": [{"resourceName": "cpu", "restartPolicy": "RestartContainer"}]}
    value = workload("Deployment", {"initContainers": [init]})
    assert refused(value, "1.35") == []
    assert len(refused(value, "1.36")) == len(refused(value, "1.37")) == 1


@pytest.mark.parametrize("kind", ["Deployment", "StatefulSet", "DaemonSet", "ReplicaSet"])
def test_an_image_volume_of_a_template_needs_a_reference_from_1_37_on(kind: str) -> None:
    value = workload(kind, {"volumes": [{"name": "v", "image": {}}, {"name": "w", "image": {"reference": "w"}}]})
    assert refused(value, "1.36") == []
    assert refused(value, "1.37") == ["spec.template.spec.volumes[0].image.reference: Required value"]


def test_a_version_that_is_not_modelled_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"Kubernetes 1\.99 is not modelled"):
        validate(scaler(1), version="1.99")
