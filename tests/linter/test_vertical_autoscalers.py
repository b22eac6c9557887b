"""A VerticalPodAutoscaler changes the requests of new pods: by its bounds, and by what its status recommends."""

from __future__ import annotations

from typing import Any

import pytest

from kubesched_lint.engine.model.decode.objects import decode_object, is_read
from kubesched_lint.engine.model.pod import Container
from kubesched_lint.engine.model.workloads.vertical import VerticalAutoscaler

GI = 1 << 30


def decoded(version: str = "v1", status: object = None, **spec: Any) -> VerticalAutoscaler:
    value = {
        "apiVersion": f"autoscaling.k8s.io/{version}",
        "kind": "VerticalPodAutoscaler",
        "metadata": {"name": "web"},
        "spec": spec,
        "status": status,
    }
    assert is_read(value["apiVersion"], value["kind"])
    field, found = decode_object(value, "shop")
    assert field == "vertical_autoscalers"
    assert isinstance(found, VerticalAutoscaler)
    return found


def with_policies(*policies: dict[str, Any]) -> VerticalAutoscaler:
    return decoded(resourcePolicy={"containerPolicies": list(policies)})


def test_defaults_are_those_of_the_api() -> None:
    found = decoded(targetRef={"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"})
    assert (found.target.kind, found.target.namespace, found.target.name) == ("Deployment", "shop", "web")
    assert (found.mode, found.min_replicas, found.recommended) == ("Recreate", 2, {})


def test_one_of_v1beta1_targets_nothing() -> None:
    assert decoded("v1beta1", selector={"matchLabels": {"app": "web"}}).target.name == ""


@pytest.mark.parametrize(
    ("mode", "replicas", "evicts"),
    [
        ("", 2, True),
        ("", 1, False),
        ("Auto", 2, True),
        ("InPlaceOrRecreate", 2, True),
        ("Initial", 9, False),
        ("InPlace", 9, False),
    ],
)
def test_which_modes_evict(mode: str, replicas: int, evicts: bool) -> None:
    assert decoded(updatePolicy={"updateMode": mode}).evicts_from(replicas) is evicts


def test_its_own_number_of_replicas_decides() -> None:
    assert decoded(updatePolicy={"minReplicas": 1}).evicts_from(1)


def test_the_policy_of_a_container_wins_over_that_of_all_others() -> None:
    found = with_policies({"containerName": "*", "mode": "Off"}, {"containerName": "web", "minAllowed": {"cpu": 2}})
    web, proxy = Container("web"), Container("proxy")
    assert found.policy_of("web").allowed(web, {"cpu": 100}) == {"cpu": 2000}
    assert found.policy_of("proxy").allowed(proxy, {"cpu": 100}) == {}


def test_a_target_is_raised_and_then_cut() -> None:
    policy = {"minAllowed": {"cpu": "3", "memory": "0"}, "maxAllowed": {"cpu": "2", "memory": "1Gi"}}
    allowed = with_policies(policy).policy_of("web").allowed(Container("web"), {"cpu": 100, "memory": 4 * GI})
    assert allowed == {"cpu": 2000, "memory": GI}


def test_limits_cut_targets_only_where_they_stay() -> None:
    container = Container("web", limits={"cpu": 500})
    assert with_policies({}).policy_of("web").allowed(container, {"cpu": 900}) == {"cpu": 900}
    requests_only = with_policies({"controlledValues": "RequestsOnly"}).policy_of("web")
    assert requests_only.allowed(container, {"cpu": 900}) == {"cpu": 500}


def test_resources_that_it_does_not_control_stay() -> None:
    policy = {"controlledResources": ["memory"], "minAllowed": {"cpu": 8}}
    assert with_policies(policy).policy_of("web").allowed(Container("web"), {"cpu": 1, "memory": GI}) == {"memory": GI}


def test_the_status_holds_targets() -> None:
    listed = [{"containerName": "web", "target": {"cpu": "1500m", "memory": "1Gi"}}]
    status = {"recommendation": {"containerRecommendations": listed}}
    found = decoded(status=status).recommended["web"]
    assert found.target == {"cpu": 1500, "memory": GI}
    assert found.path == ("status", "recommendation", "containerRecommendations", 0, "target")
