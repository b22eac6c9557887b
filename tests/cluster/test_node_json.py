"""Nodes of a long list are read in parts, and each is what it would have been by itself."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from kubesched_lint.engine.cluster.collecting.collect import Collector
from kubesched_lint.engine.cluster.collecting.node_json import NodeJsonDecoder
from kubesched_lint.engine.model.nodes.node import Node

CLUSTERS = Path(__file__).parents[2] / "fixtures" / "clusters"
NODES = [
    item
    for item in json.loads(gzip.decompress((CLUSTERS / "kubectl-get.json.gz").read_bytes()))["items"]
    if item["kind"] == "Node"
]


def node(name: str, **more: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, **more}


def listed(*nodes: dict[str, Any]) -> tuple[Node, ...]:
    collector = Collector()
    assert collector.nodes_json(json.dumps({"items": nodes}).encode())
    return collector.cluster("nodes").inventory.nodes


def by_itself(*nodes: dict[str, Any]) -> tuple[Node, ...]:
    collector = Collector()
    for one in nodes:
        collector.value(one)
    return collector.cluster("nodes").inventory.nodes


def test_recorded_nodes_are_what_they_are_by_themselves() -> None:
    assert NODES
    assert listed(*NODES) == by_itself(*NODES)


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"spec": {"unschedulable": True, "taints": [{"key": "k", "effect": "NoSchedule"}], "podCIDR": "10.0.0.0/24"}},
        {"status": {"allocatable": {"cpu": "1500m"}, "declaredFeatures": ["a"], "capacity": {"cpu": "2"}}},
        {"status": {"allocatable": None}},
        {"status": {"conditions": [{"type": "Ready", "status": "False", "lastHeartbeatTime": "2026-01-01T00:00:00Z"}]}},
        {"status": {"nodeInfo": {"kubeletVersion": "v1.36.0"}, "images": [{"names": ["a", "b"], "sizeBytes": 7}]}},
        {"status": {"images": [{"names": None}, {"sizeBytes": 7}, {"names": ["a"]}]}},
        {"status": {"images": None}},
    ],
)
def test_all_that_is_read_of_a_node_is_read(more: dict[str, Any]) -> None:
    assert listed(node("a", **more)) == by_itself(node("a", **more))


def test_labels_and_annotations_say_who_made_it() -> None:
    made = node("a")
    made["metadata"] |= {"labels": {"x": "y"}, "annotations": {"cluster.x-k8s.io/machine": "web-abc"}}
    (found,) = listed(made)
    assert (found.elastic, found.group) == (True, "cluster.x-k8s.io/machine=web")


def test_nodes_with_the_same_images_share_them() -> None:
    images = {"status": {"images": [{"names": ["a"], "sizeBytes": 7}]}}
    a, b = listed(node("a", **images), node("b", **images))
    assert a.images is b.images


@pytest.mark.parametrize(
    "other",
    [
        {"items": [{**node("a"), "kind": "Pod"}]},
        {"items": [{**node("a"), "apiVersion": "x/v1"}]},
        {"items": [{"metadata": {"name": "a"}}]},
        {"items": [node("a", status=7)]},
        {"items": [], "kind": "NodeList"},
    ],
)
def test_a_list_that_may_hold_anything_else_is_left_to_the_slower_reader(other: dict[str, Any]) -> None:
    assert NodeJsonDecoder().nodes(json.dumps(other).encode()) is None
