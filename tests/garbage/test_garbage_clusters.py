"""Whatever is given as a cluster is one, or one message that says where it is not."""

# ruff: noqa: PT017 - what is read and what is refused are both right

from __future__ import annotations

import gzip
from typing import Any

from kubesched_lint.engine.cluster.cluster import Cluster, ClusterError
from kubesched_lint.sources.clusters.read import cluster_from
from kubesched_lint.sources.manifests.yaml.full_reader import build
from tests import drawn as st
from tests.drawn import given
from tests.garbage.garbage import FIXTURES, STYLES, disturbed, drawn, is_inside, mutated, snapshot, written

SKETCHES = [f.read_bytes() for f in sorted((*FIXTURES.glob("pools/*.yaml"), *FIXTURES.glob("clusters/*.yaml")))]
NODE = {"kind": "Node", "apiVersion": "v1", "metadata": {"name": "a"}}
OURS = "kubesched-lint/v1"
GROUPS = {
    "apiVersion": OURS,
    "kind": "NodeGroups",
    "groups": [{"name": "g", "zones": ["a", "b"], "min": 1, "max": 9, "labels": {"a": "b"}, "shape": "m5.large"}],
}
SKETCH = {
    "apiVersion": OURS,
    "kind": "ClusterSketch",
    "nodes": [
        {
            "name": "worker",
            "count": 2,
            "zones": ["a", "b"],
            "labels": {"a": "b"},
            "taints": ["a=b:NoSchedule"],
            "ready": False,
        },
        {"name": "big", "allocatable": {"cpu": "4", "memory": "8Gi"}, "elastic": True, "images": {"i": "1Gi"}},
    ],
    "pools": [
        {
            "name": "p",
            "autoscaler": "karpenter",
            "cloud": "aws",
            "requirements": [{"key": "karpenter.k8s.aws/instance-category", "operator": "In", "values": ["m"]}],
            "limits": {"cpu": 100},
            "min": 1,
            "weight": 1,
        },
        {"name": "q", "zones": ["a"], "shapes": ["m5.large", {"name": "x", "allocatable": {"cpu": 4}}], "min": 1},
    ],
    "objects": [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}],
    "kinds": ["Pod"],
    "nodeGroups": "complete",
    "capturedAt": "2026-01-01T00:00:00Z",
}
HEAD = {"capturedAt": "2026-01-01T00:00:00Z", "kubernetesVersion": "v1.36.0", "kinds": ["Node", "Pod"], "gaps": []}
NAMES = st.sampled_from(["c.json", "c.yaml"])


def read(data: bytes, name: str = "c.yaml") -> Cluster | None:
    """The cluster, asked for all that reports show of one; None where a message says why it is none."""
    try:
        cluster = cluster_from([(name, data)], name)
    except ClusterError as error:
        assert error.path == name
        assert error.message
        assert "\n" not in error.message
        assert len(error.message) < 900
        assert (error.line, error.column) == (0, 0) or is_inside(error.line, error.column, data), (
            error.line,
            error.column,
        )
        return None
    assert isinstance(cluster.without_transient().notes, tuple)
    return cluster


@drawn(250)
@given(st.data(), STYLES, NAMES, st.sampled_from(["list", "snapshot", "alone"]))
def test_objects_of_a_cluster_with_anything_in_them(data: st.DataObject, style: str, name: str, form: str) -> None:
    item = data.draw(mutated(data.draw(st.sampled_from(snapshot()))))
    value: Any = {"apiVersion": "v1", "kind": "List", "items": [NODE, item]}
    if form == "snapshot":
        value = data.draw(st.one_of(st.just(HEAD), mutated(HEAD, 1)).map(lambda head: _snapshot(head, item)))
    read(written(style, item if form == "alone" else value).encode("utf-8", "surrogatepass"), name)


def _snapshot(head: Any, item: Any) -> dict[str, Any]:
    return {"apiVersion": OURS, "kind": "ClusterSnapshot", "metadata": head, "items": [NODE, item]}


@drawn(250)
@given(st.data(), STYLES, NAMES)
def test_a_sketch_or_node_groups_with_anything_in_them(data: st.DataObject, style: str, name: str) -> None:
    value = data.draw(mutated(data.draw(st.sampled_from([SKETCH, GROUPS]))))
    read(written(style, value).encode("utf-8", "surrogatepass"), name)


@drawn(200)
@given(st.sampled_from(SKETCHES).flatmap(disturbed), NAMES)
def test_a_sketch_whose_text_was_disturbed(data: bytes, name: str) -> None:
    read(data, name)


@drawn(200)
@given(st.data(), NAMES)
def test_what_kubectl_printed_with_its_text_disturbed(data: st.DataObject, name: str) -> None:
    item = data.draw(st.sampled_from(snapshot()))
    text = written("lines", {"apiVersion": "v1", "kind": "List", "items": [NODE, item]})
    read(data.draw(disturbed(text.encode())), name)


@drawn(60)
@given(st.data())
def test_gzip_that_was_disturbed(data: st.DataObject) -> None:
    packed = gzip.compress(data.draw(st.sampled_from(SKETCHES)), mtime=0)
    read(data.draw(disturbed(packed)), "c.yaml.gz")


def test_the_samples_themselves_are_clusters() -> None:
    assert all(read(data) is not None for data in SKETCHES)
    sketched = read(written("block", SKETCH).encode())
    assert sketched is not None
    assert len(sketched.inventory.node_pools) == 2
    groups = written("block", GROUPS).encode()
    assert build(groups.decode()) == GROUPS
    assert read(groups) is not None
