"""A budget counts as a mistake only if it is evidently for a workload of the set."""

from __future__ import annotations

from typing import Any

import pytest

from kubesched_lint import lint, load_cluster

WEB: dict[str, Any] = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web", "namespace": "shop"},
    "spec": {
        "replicas": 3,
        "selector": {"matchLabels": {"app": "frontend"}},
        "template": {
            "metadata": {"labels": {"app": "frontend", "tier": "web"}},
            "spec": {"containers": [{"name": "c", "image": "x"}]},
        },
    },
}


def budget(name: str, labels: dict[str, str], namespace: str = "shop") -> dict[str, Any]:
    spec = {"maxUnavailable": 1, "selector": {"matchLabels": labels}}
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": metadata, "spec": spec}


@pytest.mark.parametrize(
    ("protection", "is_found"),
    [
        (budget("web", {"app": "web"}), True),
        (budget("web-pdb", {"app": "web"}), True),
        (budget("other", {"app": "fronted", "tier": "web"}), True),
        (budget("other", {"app": "fronted", "tier": "database"}), False),
        (budget("other", {"app": "kafka"}), False),
        (budget("web", {"app": "web"}, "elsewhere"), False),
        (budget("web", {"tier": "web"}), False),
    ],
)
def test_only_a_budget_that_is_evidently_for_a_workload_is_found(protection: dict[str, Any], is_found: bool) -> None:
    found = lint(objects=[WEB, protection], select=["budget-selects-nothing"]).findings
    assert [f.severity.word for f in found] == ["warning"] * is_found


def test_a_running_pod_that_it_selects_is_enough() -> None:
    node = {"kind": "Node", "apiVersion": "v1", "metadata": {"name": "a"}, "status": {"allocatable": {"cpu": "4"}}}
    pod = {
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": {"name": "p", "namespace": "shop", "labels": {"app": "web"}},
        "spec": {"nodeName": "a", "containers": [{"name": "c", "image": "x"}]},
        "status": {"phase": "Running"},
    }
    objects = [WEB, budget("web", {"app": "web"})]
    for running, count in (([node], 1), ([node, pod], 0)):
        cluster = load_cluster(objects=running)
        assert len(lint(objects=objects, cluster=cluster, select=["budget-selects-nothing"]).findings) == count
