"""The label at `replicas:` names the number that counts, and what sets it if that is not this line."""

from __future__ import annotations

from typing import Any

import pytest

from kubesched_lint import lint, load_cluster

LABELS = {"matchLabels": {"app": "web"}}
CPU = ("spec", "template", "spec", "containers", 0, "resources")
ROOM = {"allocatable": {"cpu": "4", "pods": "99"}}
NODE = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "a"}, "status": ROOM}


def web(replicas: int | None) -> dict[str, Any]:
    pod = {"containers": [{"name": "c", "image": "x:1", "ports": [{"containerPort": 80, "hostPort": 80}]}]}
    spec = {"selector": LABELS, "template": {"metadata": {"labels": {"app": "web"}}, "spec": pod}}
    replicas_field = {} if replicas is None else {"replicas": replicas}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web"},
        "spec": {**replicas_field, **spec},
    }


def scaler(least: int, most: int) -> dict[str, Any]:
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    spec = {"minReplicas": least, "maxReplicas": most, "scaleTargetRef": target}
    kind = {"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler"}
    return {**kind, "metadata": {"name": "auto"}, "spec": spec}


@pytest.mark.parametrize(
    ("objects", "running", "label"),
    [
        ([web(11)], None, "11 replicas wanted here"),
        ([web(11), scaler(2, 9)], None, "9 replicas wanted, not 11: maxReplicas of HorizontalPodAutoscaler auto is 9"),
        ([web(3), scaler(5, 9)], None, "5 replicas wanted, not 3: minReplicas of HorizontalPodAutoscaler auto is 5"),
        ([web(None), scaler(5, 9)], None, "5 replicas wanted: minReplicas of HorizontalPodAutoscaler auto is 5"),
        ([web(None)], web(7), "7 replicas wanted, as many as run"),
    ],
)
def test_the_label_says_what_sets_the_number(
    objects: list[dict[str, Any]], running: dict[str, Any] | None, label: str
) -> None:
    cluster = load_cluster(objects=[NODE, *([running] if running else [])])
    (found,) = lint(objects=objects, cluster=cluster, select=["hostport-replicas-exceed-nodes"]).findings
    assert [place.label for place in found.related] == [label]


@pytest.mark.parametrize(
    ("is_written", "at", "related"),
    [(True, ("spec", "maxReplicas"), "what each pod requests"), (False, (*CPU, "requests", "cpu"), None)],
)
def test_the_maximum_is_blamed_or_the_request_where_only_the_cluster_has_it(
    is_written: bool, at: tuple[str | int, ...], related: str | None
) -> None:
    """A line with the workload's name told nobody what to edit."""
    asking = web(2)
    asking["spec"]["template"]["spec"]["containers"] = [
        {"name": "c", "image": "x:1", "resources": {"requests": {"cpu": "1"}}}
    ]
    ours, theirs = ([scaler(2, 9)], []) if is_written else ([], [scaler(2, 9)])
    cluster = load_cluster(objects=[NODE, *theirs])
    (found,) = lint(objects=[asking, *ours], cluster=cluster, select=["scale-to-hpa-max-pending"]).findings
    assert (found.at, found.object.kind) == (at, "Deployment")
    assert [place.label for place in found.related] == ([related] if related else [])


@pytest.mark.parametrize(("cpu", "help_"), [("3", "run at most 2 replicas and set "), ("9", "ask for less, or raise ")])
def test_no_help_says_to_run_no_replica(cpu: str, help_: str) -> None:
    asking = web(4)
    pod = asking["spec"]["template"]["spec"]
    pod["containers"] = [{"name": "c", "image": "x:1", "resources": {"requests": {"cpu": cpu}}}]
    quota = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "team", "namespace": "default"},
        "spec": {"hard": {"requests.cpu": "7"}},
    }
    (found,) = lint(objects=[asking, quota], select=["quota-refuses-pods"]).findings
    assert found.help.startswith(help_)
