"""Nodes, pods and states in one line each, for tests that read as tables."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kubesched_lint.engine.cluster.nodes.index import NodeIndex
from kubesched_lint.engine.cluster.state import ClusterState
from kubesched_lint.engine.model.inventory import Inventory
from kubesched_lint.engine.model.labels import Requirement, Selector
from kubesched_lint.engine.model.nodes.node import HOSTNAME, ZONE, Node
from kubesched_lint.engine.model.pod import BoundPod, Container, Pod
from kubesched_lint.engine.model.resources import device_class_resources
from kubesched_lint.engine.scheduler.framework import diagnose

PLENTY = {"cpu": 8000, "memory": 1 << 33, "pods": 110}


def node(name: str, zone: str = "", /, **fields: Any) -> Node:
    labels = {HOSTNAME: name, **({ZONE: zone} if zone else {}), **fields.pop("labels", {})}
    return Node(name, labels, allocatable=fields.pop("allocatable", PLENTY), **fields)


def pod(namespace: str = "shop", /, *, app: str = "web", requests: dict[str, int] | None = None, **fields: Any) -> Pod:
    wanted = requests or {}
    labels = fields.pop("labels", {"app": app})
    return Pod(namespace, labels, containers=(Container("c", wanted),), requests=wanted, **fields)


def bound(name: str, where: str, what: Pod, **fields: Any) -> BoundPod:
    return BoundPod(name, where, what, **fields)


def selecting(**labels: str) -> Selector:
    return Selector(tuple(Requirement(key, "In", (value,)) for key, value in labels.items()))


def state(nodes: Iterable[Node], *pods: BoundPod, version: str = "1.36", **objects: Any) -> ClusterState:
    made = Inventory(pods=pods, **{field: tuple(items) for field, items in objects.items()})
    index = NodeIndex(tuple(nodes), device_class_resources(made.device_classes, version))
    return ClusterState(index, made, kubernetes_version=version)


def feasible(what: Pod, where: ClusterState) -> list[str]:
    return where.index.names_of(diagnose(what, where).feasible)


def reasons(what: Pod, where: ClusterState, name: str) -> list[tuple[str, str, bool]]:
    """Plugin, reason and whether preemption may help, of one node."""
    found = diagnose(what, where).reasons(where.index.position(name))
    return [(r.plugin, r.reason, r.resolvable) for r in found]
