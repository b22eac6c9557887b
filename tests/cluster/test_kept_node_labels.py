"""The node lifecycle controller keeps beta.kubernetes.io/os and /arch wherever the stable labels are."""

from __future__ import annotations

import json

import pytest

from kubesched_lint import lint
from kubesched_lint.engine.cluster.cluster import Cluster
from kubesched_lint.sources.clusters.read import cluster_from
from kubesched_lint.sources.sketches.sketching import sketch_of

POD = """\
apiVersion: v1
kind: Pod
metadata: {{name: p}}
spec: {{nodeSelector: {{{key}: {value}}}, containers: [{{name: c, image: x:1}}]}}
"""
SKETCH = "apiVersion: kubesched-lint/v1\nkind: ClusterSketch\nnodes: [{name: a, labels: {kubernetes.io/arch: arm64}}]\n"
BARE_SKETCH = "apiVersion: kubesched-lint/v1\nkind: ClusterSketch\nnodes: [{name: a}]\n"
POOLS = """\
apiVersion: kubesched-lint/v1
kind: ClusterSketch
nodes: []
pools: [{name: p, zones: [a], labels: {kubernetes.io/arch: arm64},
  shapes: [{name: m, allocatable: {cpu: "4", memory: 16Gi, pods: "110"}}]}]
"""


LABELS = {"kubernetes.io/os": "linux", "kubernetes.io/arch": "arm64", "beta.kubernetes.io/arch": "stale"}
NODE = json.dumps(
    {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "a", "labels": {"kubernetes.io/hostname": "a", **LABELS}},
        "status": {"allocatable": {"cpu": "4", "memory": "16Gi", "pods": "110"}},
    }
)


def cluster(text: str) -> Cluster:
    return cluster_from([("cluster.yaml", text.encode())], "cluster.yaml")


def rules(key: str, value: str, text: str) -> set[str]:
    return {f.rule for f in lint(text=POD.format(key=key, value=value), cluster=cluster(text)).findings}


@pytest.mark.parametrize("text", [SKETCH, NODE, POOLS], ids=["sketch", "kubectl", "pools"])
@pytest.mark.parametrize(("key", "right"), [("os", "linux"), ("arch", "arm64")])
def test_beta_labels_have_the_stable_values(text: str, key: str, right: str) -> None:
    wrong = rules(f"beta.kubernetes.io/{key}", "plan9", text)
    assert not rules(f"beta.kubernetes.io/{key}", right, text)
    assert wrong & {"nodeselector-matches-nothing", "pool-cannot-provide-label"}


@pytest.mark.parametrize(
    "key", ["kubernetes.io/arch", "beta.kubernetes.io/arch", "failure-domain.beta.kubernetes.io/zone"]
)
def test_what_a_sketch_need_not_write_is_not_held_against_it(key: str) -> None:
    assert not rules(key, "any", BARE_SKETCH)


def test_a_sketch_leaves_out_what_is_kept() -> None:
    written = sketch_of(cluster(NODE))
    assert "beta.kubernetes.io" not in written
    (node,) = cluster(written).inventory.nodes
    assert node.labels.items() >= {"beta.kubernetes.io/os": "linux", "beta.kubernetes.io/arch": "arm64"}.items()


def test_what_follows_is_asked_once_for_each_zone_of_an_entry(monkeypatch: pytest.MonkeyPatch) -> None:
    from kubesched_lint.sources.clusters.read import cluster_from
    from kubesched_lint.sources.sketches import sketch

    asked: list[object] = []
    monkeypatch.setattr(sketch, "following", lambda labels: asked.append(labels) or {})
    text = b"{apiVersion: kubesched-lint/v1, kind: ClusterSketch, nodes: [{name: w, count: 100, zones: [a, b]}]}"
    assert len(cluster_from([("c.yaml", text)], "c.yaml").inventory.nodes) == 200
    assert len(asked) == 2
    cluster_from([("n.json", b'{"kind": "Node", "apiVersion": "v1", "metadata": {"name": "a"}}')], "n.json")
    assert len(asked) == 2, "real nodes have their labels"
