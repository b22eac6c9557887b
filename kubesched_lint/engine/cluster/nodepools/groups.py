"""Node groups inferred from nodes: what the nodes of a group have in common is the shape of the next one.

cluster-autoscaler predicts a new node of a group from one that exists (``simulator/node_info_utils.go`` of
kubernetes/autoscaler: a copy with another hostname). A label that only some nodes of a group have is no promise of the
group, so a new node lacks it. A label that all have with different values may take any value on a new node.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from kubesched_lint.engine.cluster.nodepools.templates import NAMELESS, is_of_cloud
from kubesched_lint.engine.cluster.nodes.elastic import NODE_POOL, is_of_known, known_groups
from kubesched_lint.engine.cluster.nodes.shapes import ARCH, INSTANCE_TYPE, cloud_of
from kubesched_lint.engine.cluster.nodes.transient import without_transient_state
from kubesched_lint.engine.model.labels import Labels, Requirement
from kubesched_lint.engine.model.nodes.node import (
    AUTOPILOT,
    CLUSTER_AUTOSCALER,
    HOSTNAME,
    KARPENTER,
    KEPT_LIKE,
    OS,
    PLACE_LIKE,
    REGION,
    ZONE,
    Node,
    NodePool,
    Shape,
    Taint,
    names_place,
    zone_of,
)
from kubesched_lint.engine.model.pod import Resources

_BY_MACHINE = (INSTANCE_TYPE, "beta.kubernetes.io/instance-type", ARCH)
"""Labels that tell machine types of one group apart."""
_PLACES = (HOSTNAME, ZONE, *PLACE_LIKE, *KEPT_LIKE)
AUTOPILOT_NAMES = "gk3-"
"""The first letters of the name of a GKE Autopilot node."""
_MEMORY_SLACK = 100
"""Nodes of one machine type differ in memory by less than one part in so many, so a further node may have more."""


def inferred_groups(nodes: Sequence[Node], pools: Iterable[NodePool]) -> tuple[NodePool, ...]:
    """Return the node groups of elastic nodes that none of the known ``pools`` makes, sorted by label and name."""
    known_pools = tuple(pools)
    known = known_groups(known_pools)
    members: dict[str, list[Node]] = {}
    for node in nodes:
        if node.elastic and node.group and not is_of_known(node, known):
            node = without_transient_state(node)
            members.setdefault(AUTOPILOT_NAMES if is_autopilot(node) else node.group, []).append(node)
    served = [zone for pool in known_pools for zone in pool.zones or ()]
    zones = tuple(sorted({*served, *(zone_of(node.labels) for node in nodes)} - {""}))
    names = _names(members, {name for _, name in known})
    return tuple(_group(names[mark], mark, alike, zones) for mark, alike in sorted(members.items()))


def is_autopilot(node: Node) -> bool:
    """Return whether GKE Autopilot made the node; only its name tells."""
    return node.name.startswith(AUTOPILOT_NAMES) and node.group.startswith("cloud.google.com/")


def _names(marks: Iterable[str], taken: set[str]) -> Mapping[str, str]:
    """Return mark → a name that no other pool has."""
    names: dict[str, str] = {}
    for mark in marks:
        key, _, name = mark.partition("=")
        name = "autopilot" if mark == AUTOPILOT_NAMES else name
        names[mark] = name if name not in taken else f"{name} ({key})"
        taken.add(names[mark])
    return names


def _group(name: str, mark: str, nodes: Sequence[Node], zones: tuple[str, ...]) -> NodePool:
    """Return a group as a pool. The group may use every zone of the cluster; "" stands for no zone."""
    has_zone = [bool(zone_of(node.labels)) for node in nodes]
    places = (*(zones if any(has_zone) else ()), *(() if all(has_zone) else ("",)))
    if mark == AUTOPILOT_NAMES:
        return NodePool(name, AUTOPILOT, zones=places, cloud="gcp", inferred=True)
    own = mark.partition("=")[0]
    is_karpenters = own == NODE_POOL
    is_open = _is_of_requirement if is_karpenters else _is_of_place
    shared = {key: value for key, value in _shared(nodes).items() if key == own or not is_open(key)}
    machines = {} if is_karpenters else _machines(nodes)  # those of a NodePool that only its nodes show are not known
    types = [node.labels[INSTANCE_TYPE] for node in nodes if INSTANCE_TYPE in node.labels]
    return NodePool(
        name,
        KARPENTER if is_karpenters else CLUSTER_AUTOSCALER,
        zones=places,
        labels=shared,
        taints=_taints(nodes),
        requirements=tuple(_open(nodes, shared)),
        shapes=tuple(_shape(machine, alike, shared) for machine, alike in machines.items()),
        cloud=cloud_of(types) if is_karpenters else "",
        inferred=True,
        devices=nodes[0].devices if all(node.devices == nodes[0].devices for node in nodes) else None,
    )


def _shared(nodes: Sequence[Node]) -> Labels:
    """Return the labels that all nodes have with the same value, except those of a place and of a machine."""
    first, *others = nodes
    return {
        key: value
        for key, value in first.labels.items()
        if key not in _PLACES and key not in _BY_MACHINE and all(node.labels.get(key) == value for node in others)
    }


def _open(nodes: Sequence[Node], shared: Labels) -> Iterator[Requirement]:
    """Yield ``key Exists`` for labels that every node has, with values that differ: a further node may have any."""
    by_machine = {key for alike in _machines(nodes).values() for key in _of_machine(alike)}
    for key in nodes[0].labels:
        if key in _PLACES or key in _BY_MACHINE or key in shared or key in by_machine:
            continue
        if all(key in node.labels for node in nodes):
            yield Requirement(key, "Exists", ())


def _is_of_requirement(key: str) -> bool:
    """Return whether a requirement of a NodePool may give the label, and so another value to another node."""
    return is_of_cloud(key) or not _is_of_system(key)


def _is_of_place(key: str) -> bool:
    """Return whether a label names the place of a node; all nodes of a cluster are in one region."""
    return key != REGION and names_place(key)


def _of_machine(nodes: Sequence[Node]) -> Labels:
    """Return the labels of a cloud or of Kubernetes that nodes of one machine type share."""
    return {key: value for key, value in _shared(nodes).items() if _is_of_system(key) and not _is_of_place(key)}


def _is_of_system(key: str) -> bool:
    domain = key.rpartition("/")[0]
    return is_of_cloud(key) or domain.endswith(("kubernetes.io", "k8s.io"))


def _machines(nodes: Iterable[Node]) -> Mapping[tuple[str, ...], list[Node]]:
    by_machine: dict[tuple[str, ...], list[Node]] = {}
    for node in nodes:
        by_machine.setdefault(tuple(node.labels.get(key, "") for key in (*_BY_MACHINE, OS)), []).append(node)
    return by_machine


def _shape(machine: tuple[str, ...], nodes: Sequence[Node], shared: Labels) -> Shape:
    own = {key: value for key, value in zip(_BY_MACHINE, machine, strict=False) if value}
    own |= {key: value for key, value in _of_machine(nodes).items() if key not in shared}
    allocatable = _largest(nodes)
    return Shape(machine[0] or NAMELESS, allocatable, labels=own, most=_with_slack(allocatable))


def _largest(nodes: Iterable[Node]) -> Resources | None:
    """Return the most of each resource that any of the nodes offers; None if that is unknown for one."""
    largest: dict[str, int] = {}
    for node in nodes:
        if node.allocatable is None:
            return None
        for name, amount in node.allocatable.items():
            largest[name] = max(amount, largest.get(name, 0))
    return largest


def _with_slack(allocatable: Resources | None) -> Resources | None:
    if allocatable is None:
        return None
    memory = allocatable.get("memory", 0)
    return {**allocatable, "memory": memory + memory // _MEMORY_SLACK}


def _taints(nodes: Sequence[Node]) -> tuple[Taint, ...]:
    first, *others = nodes
    return tuple(taint for taint in first.taints if all(taint in node.taints for node in others))
