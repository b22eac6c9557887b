"""What a VerticalPodAutoscaler makes of the requests of a pod, against fixed nodes."""

from __future__ import annotations

from typing import Any

import pytest

from kubesched_lint import lint, load_cluster, simulate
from kubesched_lint.engine.cluster.cluster import Cluster
from kubesched_lint.findings import Severity

RULE = "vpa-exceeds-any-node"
NODES = [{"name": "worker", "count": 3, "allocatable": {"cpu": "4", "memory": "16Gi"}}]
SKETCH = {"apiVersion": "kubesched-lint/v1", "kind": "ClusterSketch", "nodes": NODES}
CLUSTER = load_cluster(objects=[SKETCH])
AGENT = {"cpu": "1", "memory": "1Gi"}


def workload(kind: str, name: str, *containers: str) -> dict[str, Any]:
    template = {
        "metadata": {"labels": {"app": name}},
        "spec": {"containers": [{"name": c, "image": "x:1", "resources": {"requests": AGENT}} for c in containers]},
    }
    spec = {"selector": {"matchLabels": {"app": name}}, "template": template}
    if kind == "Deployment":
        spec["replicas"] = 4
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": name}, "spec": spec}


def scaler(*policies: dict[str, Any], name: str = "web", kind: str = "Deployment", mode: str = "") -> dict[str, Any]:
    spec = {
        "targetRef": {"apiVersion": "apps/v1", "kind": kind, "name": "web"},
        "updatePolicy": {"updateMode": mode} if mode else {},
        "resourcePolicy": {"containerPolicies": list(policies)},
    }
    version = "autoscaling.k8s.io/v1"
    return {"apiVersion": version, "kind": "VerticalPodAutoscaler", "metadata": {"name": name}, "spec": spec}


WEB = workload("Deployment", "web", "web", "proxy")


def findings(*objects: dict[str, Any], cluster: Cluster = CLUSTER) -> list[Any]:
    return list(lint(objects=objects, cluster=cluster, select=[RULE]).findings)


def least(container: str, **amounts: str) -> dict[str, Any]:
    return {"containerName": container, "minAllowed": amounts}


def test_bounds_of_all_containers_add_up_and_share_what_is_left() -> None:
    (found,) = findings(WEB, scaler(least("*", memory="9Gi")))
    assert "memory 18Gi or more" in found.message
    assert "2 of 4 pods may be evicted" in found.message
    assert found.help.startswith("lower minAllowed to memory 8192Mi or less")
    assert not findings(WEB, scaler(least("*", memory="8192Mi")))


def test_the_room_is_what_daemon_sets_leave() -> None:
    (found,) = findings(WEB, workload("DaemonSet", "agent", "agent"), scaler(least("*", memory="9Gi")))
    assert "memory 7680Mi or less" in found.help


def test_a_container_that_it_leaves_alone_counts_as_written() -> None:
    off = {"containerName": "proxy", "mode": "Off", "minAllowed": {"memory": "99Gi"}}
    (found,) = findings(WEB, scaler(off, least("web", memory="16Gi")))
    assert "memory 17Gi or more" in found.message
    assert "memory 15360Mi or less" in found.help
    assert not findings(WEB, scaler(off, least("web", memory="15Gi")))


def test_each_resource_is_told_once_by_its_first_cause() -> None:
    policy = {**least("*", memory="9Gi"), "maxAllowed": {"cpu": "5", "memory": "20Gi"}}
    found = {f.severity: f.message for f in findings(WEB, scaler(policy))}
    assert "memory 18Gi or more" in found[Severity.WARNING]
    assert "may recommend cpu 10 for a pod" in found[Severity.NOTE]


def test_no_maximum_is_lowered_below_its_minimum() -> None:
    (found,) = findings(WEB, scaler({**least("web", cpu="3"), "maxAllowed": {"cpu": "8"}}, least("proxy", cpu="1")))
    assert found.help.startswith("lower maxAllowed to cpu 3 or less")
    (found,) = findings(
        WEB,
        scaler({**least("web", cpu="3"), "maxAllowed": {"cpu": "8"}}, least("proxy", cpu="1")),
        workload("DaemonSet", "agent", "agent"),
    )
    assert found.help.startswith("lower maxAllowed, or")


def test_a_daemon_set_beside_itself_has_the_whole_node() -> None:
    (found,) = findings(workload("DaemonSet", "web", "web"), scaler(least("*", memory="19Gi"), kind="DaemonSet"))
    assert "1 of 3 pods may be evicted" in found.message
    assert "memory 16384Mi or less" in found.help


@pytest.mark.parametrize("mode", ["Initial", "Auto", "InPlaceOrRecreate"])
def test_every_mode_but_off_changes_new_pods(mode: str) -> None:
    (found,) = findings(WEB, scaler(least("*", memory="9Gi"), mode=mode))
    assert ("created anew" in found.message) is (mode == "Initial")
    assert not findings(WEB, scaler(least("*", memory="9Gi"), mode="Off"))


def test_it_is_silent_where_nodes_may_come_or_two_compete() -> None:
    high = least("*", memory="9Gi")
    assert not findings(WEB, scaler(high), cluster=load_cluster(objects=[SKETCH], elastic=True))
    assert not findings(WEB, scaler(high), scaler(high, name="other"))


@pytest.mark.parametrize(("mode", "is_said"), [("", True), ("Initial", True), ("Off", False)])
def test_simulate_says_that_it_takes_requests_as_written(mode: str, is_said: bool) -> None:
    report = simulate(objects=[workload("Deployment", "web", "web"), scaler(mode=mode)], cluster=CLUSTER)
    said = {text for outcome in report.outcomes for text in outcome.assumes}
    assert any("VerticalPodAutoscalers" in text for text in said) is is_said


def recommends(memory: str) -> dict[str, Any]:
    listed = [{"containerName": "web", "target": {"cpu": "1", "memory": memory}}]
    return {"status": {"recommendation": {"containerRecommendations": listed}}}


def test_the_clusters_recommendation_counts_where_the_manifest_has_none() -> None:
    running = load_cluster(objects=[SKETCH, scaler() | recommends("32Gi")])
    (found,) = findings(WEB, scaler(), cluster=running)
    assert "recommends memory 33Gi" in found.message
    assert found.at == ("spec", "targetRef")
    assert not findings(WEB, scaler() | recommends("2Gi"), cluster=running), "the manifest's own counts"
    assert not findings(WEB, scaler(mode="Off"), cluster=running), "the manifest's mode counts"
    (capped,) = findings(WEB, scaler({"containerName": "*", "maxAllowed": {"memory": "20Gi"}}), cluster=running)
    assert "recommends memory 21Gi" in capped.message


def test_one_that_only_the_cluster_has_is_told_at_the_workload() -> None:
    running = load_cluster(objects=[SKETCH, scaler(least("proxy", memory="3Gi")) | recommends("32Gi")])
    (found,) = findings(WEB, cluster=running)
    assert found.object.name == "web"
    assert "recommends memory 33Gi" in found.message
    assert found.at == ("spec", "template", "spec", "containers", 0)
    assert not found.fixes
    assert not findings(WEB, scaler(least("web", cpu="1"), name="other"), cluster=running), "two may set the requests"
