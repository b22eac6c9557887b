"""An autoscaler without its target: a warning where that is known or a name is misspelt, else a note or nothing."""

from __future__ import annotations

from typing import Any

import pytest

from kubesched_lint import lint, load_cluster

RULE = "autoscaler-scales-nothing"


def workload(name: str, kind: str = "Deployment", namespace: str = "shop") -> dict[str, Any]:
    labels = {"app": name}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "x:1"}]}}
    spec = {"selector": {"matchLabels": labels}, "template": template}
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": name, "namespace": namespace}, "spec": spec}


def scaler(target: str, kind: str = "Deployment", name: str = "x", namespace: str = "shop") -> dict[str, Any]:
    spec = {"maxReplicas": 3, "scaleTargetRef": {"apiVersion": "apps/v1", "kind": kind, "name": target}}
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": metadata, "spec": spec}


@pytest.mark.parametrize(
    ("beside", "autoscaler", "severity", "help_begins"),
    [
        (workload("web"), scaler("web"), None, ""),
        (workload("storefront"), scaler("storefornt"), "warning", "write Deployment storefront, or"),
        (workload("web", "StatefulSet"), scaler("web"), "warning", "write StatefulSet web, or"),
        (workload("shop-web"), scaler("web", name="shop-web-hpa"), "warning", "write Deployment shop-web, or"),
        (workload("web"), scaler("web", namespace="shopp"), "warning", "write Deployment web in namespace shop, or"),
        (workload("web"), scaler("web", namespace=""), "note", "check"),  # `kubectl apply -n shop` may be meant
        (workload("web"), scaler("api"), "note", "check"),
        (workload("web-1"), scaler("web-2"), "note", "check"),
        (workload("web"), scaler("web", "Rollout"), None, ""),
    ],
)
def test_without_a_cluster(
    beside: dict[str, Any], autoscaler: dict[str, Any], severity: str | None, help_begins: str
) -> None:
    found = lint(objects=[beside, autoscaler], select=[RULE]).findings
    assert [f.severity.word for f in found] == ([severity] if severity else [])
    assert all(f.help.startswith(help_begins) for f in found)


def test_an_autoscaler_alone_is_no_set_to_judge() -> None:
    assert lint(objects=[scaler("web")], select=[RULE]).findings == ()


def test_what_the_cluster_lists_is_known() -> None:
    node = {"kind": "Node", "apiVersion": "v1", "metadata": {"name": "a"}, "status": {"allocatable": {"cpu": "4"}}}
    for target, severities in (("web", []), ("api", ["warning"])):
        cluster = load_cluster(objects=[node, workload("web")])
        found = lint(objects=[scaler(target)], cluster=cluster, select=[RULE]).findings
        assert [f.severity.word for f in found] == severities
