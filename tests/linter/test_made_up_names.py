"""A sketch makes up the names of an entry with several nodes, so a real hostname may be one of them."""

from __future__ import annotations

from typing import Any

import pytest

from kubesched_lint import lint, load_cluster


def findings(sketch: dict[str, Any], **spec: object) -> dict[str, str]:
    cluster = load_cluster(objects=[{"apiVersion": "kubesched-lint/v1", "kind": "ClusterSketch", **sketch}])
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}}
    containers = [{"name": "c", "image": "x"}]
    report = lint(objects=[{**pod, "spec": {"containers": containers, **spec}}], cluster=cluster)
    return {f.rule: f.message for f in report.findings}


def entries(*names: str, count: int = 1) -> dict[str, Any]:
    room = {"cpu": "4", "memory": "16Gi"}
    return {"nodeGroups": "complete", "nodes": [{"name": n, "count": count, "allocatable": room} for n in names]}


TERM = {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": ["talos01"]}]}
REQUIRED = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [TERM]}}}


@pytest.mark.parametrize("spec", [{"nodeSelector": {"kubernetes.io/hostname": "talos01"}}, {"affinity": REQUIRED}])
def test_a_hostname_is_held_against_real_names_only(spec: dict[str, Any]) -> None:
    assert "nodeselector-matches-nothing" not in findings(entries("worker", count=3), **spec)
    assert "nodeselector-matches-nothing" in findings(entries("w1", "w2"), **spec)


def test_a_slip_in_a_made_up_name_is_found() -> None:
    assert "nodeselector-matches-nothing" in findings(
        entries("worker", count=3), nodeSelector={"kubernetes.io/hostname": "worker1"}
    )


def test_a_number_behind_the_name_of_a_group_is_no_slip() -> None:
    """``init`` calls a group of one node ``node``; people number theirs."""
    sketch = {"nodes": entries("node")["nodes"] + entries("worker", count=3)["nodes"], "nodeGroups": "complete"}
    assert "nodeselector-matches-nothing" not in findings(sketch, nodeSelector={"kubernetes.io/hostname": "node1"})
    assert "nodeselector-matches-nothing" in findings(sketch, nodeSelector={"kubernetes.io/hostname": "nodes"})


def test_node_name_may_be_one_of_the_nodes() -> None:
    assert "bypasses the scheduler" in findings(entries("worker", count=3), nodeName="talos01")["nodename-bypass"]
    assert "does not have" in findings(entries("w1", "w2"), nodeName="talos01")["nodename-bypass"]


@pytest.mark.parametrize("name", ["HOSTNAME", "NODE_NAME", "your-node-name", "<node>", "$NODE", "changeme", "xxx"])
def test_a_node_that_a_person_fills_in_is_not_checked(name: str) -> None:
    rules = {"nodename-bypass", "nodeselector-matches-nothing"}
    assert not rules & findings(entries("w1", "w2"), nodeName=name).keys()
    assert not rules & findings(entries("w1", "w2"), nodeSelector={"kubernetes.io/hostname": name}).keys()
    assert not rules & findings(entries("w1", "w2"), nodeSelector={"pool": name}).keys()


@pytest.mark.parametrize("value", ["TEAM_A", "ON_DEMAND", "namespaced", "yourself", "mytodos", "hostname"])
def test_a_label_value_that_is_like_a_placeholder_is_checked(value: str) -> None:
    assert "nodeselector-matches-nothing" in findings(entries("w1", "w2"), nodeSelector={"pool": value})
