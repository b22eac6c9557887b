"""A pod that is too large: every short resource is named, and the taint that closes larger nodes."""

from __future__ import annotations

from typing import Any

import pytest

from kubesched_lint import lint, load_cluster
from kubesched_lint.engine.cluster.cluster import Cluster
from kubesched_lint.findings import Severity

RULES = ("resource-exceeds-any-node", "extended-resource-missing")

NODES = [
    {"name": "small", "count": 3, "allocatable": {"cpu": "4", "memory": "16Gi"}},
    {"name": "wide", "count": 1, "allocatable": {"cpu": "2", "memory": "100Gi"}},
    {"name": "large", "count": 2, "taints": ["team=db:NoSchedule"], "allocatable": {"cpu": "16", "memory": "128Gi"}},
    {"name": "cp", "taints": ["node-role.kubernetes.io/control-plane:NoSchedule"], "allocatable": {"memory": "1Ti"}},
]
SKETCH = {"apiVersion": "kubesched-lint/v1", "kind": "ClusterSketch", "nodes": NODES}
CLUSTER = load_cluster(objects=[SKETCH])


def findings(kind: str = "Pod", cluster: Cluster = CLUSTER, /, **requests: str) -> list[Any]:
    spec = {"containers": [{"name": "c", "image": "x:1", "resources": {"limits": requests}}]}
    meta = {"name": "p", "labels": {"a": "b"}}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}
    if kind == "DaemonSet":
        template = {"metadata": meta, "spec": spec}
        inner = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
        pod = {"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": "p"}, "spec": inner}
    return list(lint(objects=[pod], cluster=cluster, select=RULES).findings)


def test_the_taint_of_nodes_that_are_large_enough_is_named() -> None:
    (found,) = findings(memory="110Gi")
    assert found.help.startswith(
        "add a toleration for team=db:NoSchedule, which keeps the pod off 2 nodes that would do; or "
        "request at most 100Gi of memory; or let it use larger nodes"
    )
    (found,) = findings(memory="200Gi")
    assert "taint" not in found.message + found.help  # only the control plane is large enough


def test_every_resource_that_no_node_has_enough_of_is_named() -> None:
    (found,) = findings(cpu="500", memory="900Gi")
    assert "requests cpu 500" in found.message
    assert "memory 900Gi > 100Gi" in found.evidence.text
    assert "at most 4" not in found.help  # the pod would still not fit
    (of_daemons,) = findings("DaemonSet", **{"example.com/gpu": "1", "cpu": "500", "memory": "900Gi"})
    assert "requests cpu 500" in of_daemons.message
    assert "memory 900Gi > 100Gi" in of_daemons.evidence.text


def test_a_missing_device_hides_no_other_request() -> None:
    found = findings(**{"example.com/gpu": "1", "cpu": "500"})
    assert {f.rule for f in found} == {"resource-exceeds-any-node", "extended-resource-missing"}
    (alone,) = findings(**{"example.com/gpu": "1"})
    assert alone.rule == "extended-resource-missing"


@pytest.mark.parametrize(("asked", "offered", "told", "is_meant"), [
    ("nvidia.com/gpus", "nvidia.com/gpu", "(they offer nvidia.com/gpu)", True),
    ("nvida.com/gpu", "nvidia.com/gpu", "(they offer nvidia.com/gpu)", True),
    ("nvidia.com/gpu", "amd.com/gpu", "(they offer amd.com/gpu)", False),
    ("nvidia.com/gpu", "nvidia.com/mig-1g.5gb", "(they offer nvidia.com/mig-1g.5gb)", False),
    ("nvidia.com/mig-2g.10gb", "nvidia.com/mig-1g.5gb", "(they offer nvidia.com/mig-1g.5gb)", False),
    ("nvidia.com/gpu", "vpc.amazonaws.com/efa", "offers any", False),
])  # fmt: skip
def test_only_a_misspelt_name_of_a_device_is_corrected(asked: str, offered: str, told: str, is_meant: bool) -> None:
    """Another vendor's device, or one of another size, is told and not proposed."""
    node = {"name": "n", "allocatable": {"cpu": "4", "memory": "16Gi", offered: "1"}}
    (found,) = findings("Pod", load_cluster(objects=[{**SKETCH, "nodes": [node]}]), **{asked: "1"})
    assert found.message.endswith(told)
    assert found.help.startswith(f"write {offered}, or ") is is_meant


def test_what_each_node_lacks_is_named_if_no_node_has_all() -> None:
    (found,) = findings(cpu="3", memory="50Gi")
    assert "3 nodes with at most memory 16Gi; 1 node with at most cpu 2" in found.evidence.text
    assert "2 nodes that would do" in found.help


def test_the_number_of_the_help_fits_beside_the_other_requests() -> None:
    (found,) = findings(cpu="8", memory="50Gi")
    assert "at most 2 of cpu" in found.help
    assert findings(cpu="2", memory="50Gi") == []


def test_a_daemonset_that_is_too_large_for_some_nodes_is_an_error() -> None:
    """No order of scheduling helps: each pod may run on its own node only."""
    (found,) = findings("DaemonSet", cpu="3")
    assert (found.severity, found.evidence.kind) == (Severity.ERROR, "proof")
    assert "1 of 4 pods of DaemonSet default/p stays Pending" in found.message


def test_a_device_that_other_nodes_offer_may_come_to_a_daemonset() -> None:
    nodes = [*NODES, {"name": "gpu", "allocatable": {"cpu": "4", "example.com/gpu": "1"}}]
    cluster = load_cluster(objects=[{**SKETCH, "nodes": nodes}])
    (found,) = findings("DaemonSet", cluster, **{"example.com/gpu": "1"})
    assert found.severity is Severity.WARNING
