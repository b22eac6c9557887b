"""A ScaledObject of KEDA counts as the HorizontalPodAutoscaler that KEDA makes of it."""

from __future__ import annotations

from typing import Any

import pytest

from kubesched_lint.engine.model.decode.fields import DecodeError
from kubesched_lint.engine.model.decode.objects import decode_object, gather, is_read, kinds_in
from kubesched_lint.engine.model.policy import Autoscaler


def decoded(spec: dict[str, Any], **annotations: str) -> Autoscaler:
    metadata = {"name": "web", "annotations": {f"autoscaling.keda.sh/{k}": v for k, v in annotations.items()}}
    value = {"apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject", "metadata": metadata, "spec": spec}
    assert is_read(value["apiVersion"], value["kind"])
    field, found = decode_object(value, "shop")
    assert field == "autoscalers"
    assert isinstance(found, Autoscaler)
    return found


def test_defaults_are_those_of_keda() -> None:
    found = decoded({"scaleTargetRef": {"name": "web"}})
    assert (found.ref.kind, found.target.kind, found.target.namespace) == ("ScaledObject", "Deployment", "shop")
    assert (found.min_replicas, found.max_replicas, found.path) == (1, 100, ("spec",))


def test_keda_scales_to_zero_and_its_autoscaler_to_one() -> None:
    spec = {"scaleTargetRef": {"kind": "StatefulSet", "name": "db"}, "minReplicaCount": 0, "maxReplicaCount": 7}
    found = decoded(spec)
    assert (found.target.kind, found.min_replicas, found.max_replicas) == ("StatefulSet", 1, 7)


@pytest.mark.parametrize(("paused", "replicas"), [("3", 3), ("0", 1)])
def test_a_paused_one_stays_at_its_number(paused: str, replicas: int) -> None:
    found = decoded({"scaleTargetRef": {"name": "web"}, "maxReplicaCount": 9}, **{"paused-replicas": paused})
    assert (found.min_replicas, found.max_replicas) == (replicas, replicas)
    assert found.path[-1] == "autoscaling.keda.sh/paused-replicas"


def test_windows_are_those_of_cron_triggers() -> None:
    cron = {"timezone": "UTC", "start": "0 8 * * *", "end": "0 18 * * *", "desiredReplicas": "5"}
    triggers = [{"type": "cpu", "metadata": {"value": "80"}}, {"type": "cron", "metadata": cron}]
    (window,) = decoded({"scaleTargetRef": {"name": "web"}, "triggers": triggers}).windows
    assert (window.replicas, window.start) == (5, "0 8 * * *")
    assert window.path == ("spec", "triggers", 1, "metadata", "desiredReplicas")


@pytest.mark.parametrize("number", ["five", "-1", "", "²"])
def test_a_number_that_is_none_is_no_window(number: str) -> None:
    trigger = {"type": "cron", "metadata": {"desiredReplicas": number}}
    assert decoded({"scaleTargetRef": {"name": "web"}, "triggers": [trigger]}).windows == ()


def test_metadata_holds_strings_only() -> None:
    trigger = {"type": "cron", "metadata": {"desiredReplicas": 5}}
    with pytest.raises(DecodeError, match="a string"):
        decoded({"scaleTargetRef": {"name": "web"}, "triggers": [trigger]})


def test_a_set_with_scaled_objects_has_no_autoscalers_of_kubernetes() -> None:
    found = kinds_in(gather([("autoscalers", decoded({"scaleTargetRef": {"name": "web"}}))]))
    assert "ScaledObject" in found
    assert "HorizontalPodAutoscaler" not in found
