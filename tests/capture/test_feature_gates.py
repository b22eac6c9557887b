"""A snapshot keeps the feature gates that decide something, and nothing else of the API server's metrics."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kubesched_lint.library import lint, load_cluster
from kubesched_lint.sources.capture import Snapshot, capture, connect
from tests.capture.stand_in import ApiServer, cut, status

NOW = "2026-11-21T04:00:00Z"
PROVEN = ("pods-stay-pending", "gang-does-not-fit")
METRICS = """# HELP apiserver_request_total [STABLE] Counter of requests.
apiserver_request_total{code="200",resource="secrets",namespace="payments"} 17
# TYPE kubernetes_feature_enabled gauge
kubernetes_feature_enabled{name="AllAlpha",stage="ALPHA"} 0
kubernetes_feature_enabled{name="GangScheduling",stage="ALPHA"} 1
kubernetes_feature_enabled{name="GenericWorkload",stage="ALPHA"} 1
kubernetes_feature_enabled{name="TopologyAwareWorkloadScheduling",stage="ALPHA"} 0
kubernetes_feature_enabled{name="KubeletInUserNamespace",stage="BETA"} 1
"""
GROUP = """
apiVersion: scheduling.k8s.io/v1alpha2
kind: PodGroup
metadata: {name: workers, namespace: default}
spec: {schedulingPolicy: {gang: {minCount: 5000}}}
---
apiVersion: batch/v1
kind: Job
metadata: {name: train, namespace: default}
spec:
  parallelism: 5000
  completions: 5000
  template:
    spec:
      restartPolicy: Never
      schedulingGroup: {podGroupName: workers}
      containers: [{name: c, image: "train:1", resources: {requests: {cpu: "1"}}}]
"""
pytestmark = pytest.mark.usefixtures("kubeconfig")


def gates(snapshot: Snapshot) -> Any:
    return snapshot.metadata.get("featureGates")


def test_only_the_gates_that_decide_something_are_kept(api: ApiServer) -> None:
    api.extra["/metrics"] = (200, METRICS)
    found = capture(connect(), NOW)
    expected = {"GangScheduling": True, "GenericWorkload": True, "TopologyAwareWorkloadScheduling": False}
    assert (gates(found), found.unknown_gates) == (expected, "")
    written = b"".join(found.pieces())
    assert not [word for word in (b"payments", b"apiserver_request", b"AllAlpha", b"UserNamespace") if word in written]


@pytest.mark.parametrize(
    ("fault", "why"),
    [
        (status(403), "/metrics: forbidden (403)"),
        (status(404), "/metrics: (404)"),
        (cut, "/metrics: no answer that can be used"),
    ],
)
def test_a_cluster_that_shows_no_metrics_is_captured_all_the_same(api: ApiServer, fault: Any, why: str) -> None:
    api.fails("/metrics", *[fault] * 4)
    connection = connect()
    connection.sleep = lambda seconds: None
    found = capture(connection, NOW)
    assert (gates(found), found.unknown_gates) == (None, why)
    assert not found.failures
    assert not found.gaps


@pytest.mark.parametrize("text", ["", "<html>log in</html>", 'kubernetes_feature_enabled{name="X",stage="BETA"} maybe'])
def test_an_answer_without_gates_is_said_to_name_none(api: ApiServer, text: str) -> None:
    api.extra["/metrics"] = (200, text)
    assert capture(connect(), NOW).unknown_gates == "/metrics names no feature gates"


def test_gates_with_which_no_component_starts_are_not_believed(api: ApiServer) -> None:
    api.extra["/metrics"] = (200, METRICS.replace('GenericWorkload",stage="ALPHA"} 1', 'GenericWorkload",stage=""} 0'))
    found = capture(connect(), NOW)
    assert (gates(found), found.unknown_gates) == (None, "/metrics contradicts itself")


@pytest.mark.parametrize(
    ("version", "expected"),
    [("v1alpha2", {"GenericWorkload": True}), ("v1alpha3", {"GenericWorkload": True}), ("v1", None)],
)
def test_an_api_that_is_served_only_with_a_gate_shows_it(api: ApiServer, version: str, expected: Any) -> None:
    group = {"name": "scheduling.k8s.io", "versions": [{"version": "v1"}, {"version": version}]}
    api.extra["/apis"] = (200, {"kind": "APIGroupList", "groups": [group]})
    assert gates(capture(connect(), NOW)) == expected


def test_conclusions_from_these_gates_assume_that_the_scheduler_has_them(api: ApiServer, tmp_path: Any) -> None:
    api.extra["/metrics"] = (200, METRICS)
    capture(connect(), NOW).write(str(tmp_path / "cluster.json"))
    metadata = json.loads((tmp_path / "cluster.json").read_text())["metadata"]
    assert metadata["featureGates"]["GangScheduling"]
    (tmp_path / "gang.yaml").write_text(GROUP)
    cluster = load_cluster(str(tmp_path / "cluster.json"))
    premise = "kube-scheduler has the feature gates of the API server"

    def assumed(**options: Any) -> list[bool]:
        found = lint(tmp_path / "gang.yaml", cluster=cluster, **options).findings
        return [any(premise in one for one in f.evidence.assumes) for f in found if f.rule in PROVEN]

    assert assumed() == [True]
    every = "GenericWorkload=true,GangScheduling=true,TopologyAwareWorkloadScheduling=false"
    assert assumed(feature_gates=every) == [False]
