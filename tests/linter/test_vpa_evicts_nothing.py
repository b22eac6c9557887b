"""A budget that allows no eviction, and a VerticalPodAutoscaler that needs evictions."""

from __future__ import annotations

from typing import Any

import pytest

from kubesched_lint import lint, load_cluster

TEMPLATE = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "web", "image": "x:1"}]}}
SELECTOR = {"matchLabels": {"app": "web"}}
TARGET = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}


def objects_of(replicas: int, bounds: dict[str, Any], **update: Any) -> list[dict[str, Any]]:
    specs = {
        ("apps/v1", "Deployment"): {"replicas": replicas, "selector": SELECTOR, "template": TEMPLATE},
        ("policy/v1", "PodDisruptionBudget"): {"selector": SELECTOR, **bounds},
        ("autoscaling.k8s.io/v1", "VerticalPodAutoscaler"): {"targetRef": TARGET, "updatePolicy": update},
    }
    return [
        {"apiVersion": version, "kind": kind, "metadata": {"name": "web"}, "spec": spec}
        for (version, kind), spec in specs.items()
    ]


def findings(replicas: int, bounds: dict[str, Any], **update: Any) -> list[Any]:
    return list(lint(objects=objects_of(replicas, bounds, **update), select=["vpa-evicts-nothing"]).findings)


def test_one_of_the_cluster_is_told_at_the_replicas() -> None:
    web, budget, vpa = objects_of(3, {"maxUnavailable": 0})
    running = load_cluster(objects=[{"apiVersion": "kubesched-lint/v1", "kind": "ClusterSketch", "nodes": []}, vpa])
    (found,) = lint(objects=[web, budget], cluster=running, select=["vpa-evicts-nothing"]).findings
    assert found.at == ("spec", "replicas")


@pytest.mark.parametrize("update", [{}, {"updateMode": "Auto"}, {"updateMode": "Recreate"}])
def test_a_budget_that_allows_nothing_stops_evictions(update: dict[str, Any]) -> None:
    (found,) = findings(3, {"maxUnavailable": 0}, **update)
    assert found.severity.name == "NOTE"
    assert "(maxUnavailable 0) allows no eviction" in found.message


@pytest.mark.parametrize("mode", ["Off", "Initial", "InPlace", "InPlaceOrRecreate", "Later"])
def test_other_modes_need_no_eviction(mode: str) -> None:
    assert not findings(3, {"maxUnavailable": 0}, updateMode=mode)


def test_the_number_of_replicas_decides() -> None:
    assert not findings(1, {"minAvailable": 1})
    assert findings(1, {"minAvailable": 1}, minReplicas=1)
    assert not findings(3, {"minAvailable": 2})
