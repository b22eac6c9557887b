"""Write a cluster as a sketch: equal nodes become one entry."""

from __future__ import annotations

import json
import re
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence

import yaml
from msgspec import Struct

from kubesched_lint.engine.base.text import SHOWN, first_few, many
from kubesched_lint.engine.cluster.cluster import Cluster
from kubesched_lint.engine.cluster.nodepools.groups import AUTOPILOT_NAMES, is_autopilot
from kubesched_lint.engine.cluster.nodepools.known import KnownGroups
from kubesched_lint.engine.cluster.nodepools.minimum import stands_in
from kubesched_lint.engine.cluster.nodes.elastic import elastic_because
from kubesched_lint.engine.cluster.nodes.shapes import INSTANCE_TYPE
from kubesched_lint.engine.model.labels import Labels
from kubesched_lint.engine.model.nodes.node import HOSTNAME, ZONE, Node
from kubesched_lint.engine.model.pod import Resources
from kubesched_lint.sources.scheduler_config.kept import kept_of
from kubesched_lint.sources.sketches.shortening import Shortening
from kubesched_lint.sources.sketches.sketch import API_VERSION, DEFAULT_PODS, KIND, node_name
from kubesched_lint.sources.sketches.sketching_devices import WrittenDevices
from kubesched_lint.sources.sketches.sketching_pools import pool_lines
from kubesched_lint.sources.sketches.text import amount, flow, listing, mapping, scalar, taint

_ROLE = "node-role.kubernetes.io/"
_OWN = "<its own>"  # no label can have this value
_SHORT_WITHIN = 2.0
"""Per cent by which nodes of one machine type differ in memory, and more."""
_ROUNDED = ("memory", "ephemeral-storage")
_MI = 1 << 20
_FIRST = {"cpu": 0, "memory": 1}
_EXPLAINED = """\
# nodes:        entries of equal nodes
#   name        names the nodes, with zone and number where an entry makes several: worker-eu-west-1a-2
#   count       how many in each zone; 1 if absent
#   zones       a node of each; absent for nodes without the label topology.kubernetes.io/zone; or {zone: number}
#   labels      what follows from name, zone and machine type is filled in (hostname, zone, region, arch, os=linux …)
#               unless it is given here; null takes one away
#   taints      key=value:Effect
#   allocatable what pods can ask of one node (not its capacity); pods is 110 if absent. Without allocatable the
#               resources are unknown, and rules about them skip
#   elastic     true: an autoscaler makes and removes such nodes; if absent, labels tell
#   unschedulable  true: cordoned
# zones:        labels that all nodes of a zone have
# pools:        what autoscalers may add; see docs/pools.md
"""
_UNDECIDED = (
    "# nodeGroups: complete  # if every node group has a node here or is in `pools` (docs/sketch.md); else open"
)


class Style(Struct, frozen=True):
    """How to write a sketch. ``within``: per cent by which the nodes of an entry may differ; None: the usual."""

    exact: bool = False
    within: float | None = None
    node_groups: str = ""
    """``complete`` or ``open``; empty leaves the choice to the reader."""

    @property
    def tolerance(self) -> float:
        return (0.0 if self.exact else _SHORT_WITHIN) if self.within is None else self.within


class _Group:
    """Nodes that differ only in name and zone, and within a tolerance in their resources."""

    def __init__(self, node: Node, hostname: str | None, labels: Mapping[str, str | None]) -> None:
        self.node = node
        self.hostname = hostname
        """The value of the hostname label; None if there is none; ``_OWN`` if each node has a value of its own."""
        self.labels = labels
        self.allocatable = _offer(node)
        self.zones: dict[str | None, list[Node]] = {}
        self.devices: tuple[str, ...] = ()
        """The lines of ``devices``."""
        self.is_joined = False
        """Whether its nodes differ in their resources."""

    def add(self, node: Node) -> None:
        offer = _offer(node)
        if offer != self.allocatable and offer is not None and self.allocatable is not None:
            self.is_joined = True
            self.allocatable = {name: min(amount, self.allocatable[name]) for name, amount in offer.items()}
        self.zones.setdefault(node.labels.get(ZONE), []).append(node)

    @property
    def entries(self) -> Iterator[dict[str | None, list[Node]]]:
        """The nodes of each entry: one for all named zones, and one for nodes without a zone."""
        # A zone that adds nothing to a name (none, or the empty one) needs a base name of its own.
        kinds: dict[str | None, dict[str | None, list[Node]]] = {}
        for zone, nodes in sorted(self.zones.items(), key=lambda item: item[0] or ""):
            kinds.setdefault("named" if zone else zone, {})[zone] = nodes
        yield from kinds.values()


def sketch_of(cluster: Cluster, style: Style = Style()) -> str:  # noqa: B008 - immutable
    """Return a ClusterSketch as YAML that makes the same nodes, except for image lists and the names of several alike.

    An exact sketch has their very labels and resources. A short one leaves out labels that nobody selects on, joins
    nodes of nearly the same size to entries of the smallest, and rounds bytes down to Mi.
    """
    pools = cluster.inventory.node_pools
    nodes = tuple(n for n in cluster.inventory.nodes if not any(stands_in(n, pool) for pool in pools))
    labels = Shortening(nodes, exact=style.exact)
    devices = _devices(cluster, style)
    groups = _groups(nodes, labels, style, devices)
    lines = [*_comments(cluster, nodes, groups, style)]
    if devices is not None and devices.left_out:
        lines.append(f"# The devices are left out, because {devices.left_out}; a snapshot keeps them.")
    lines += [f"apiVersion: {API_VERSION}", f"kind: {KIND}"]
    if cluster.captured_at:
        lines.append(f"capturedAt: {json.dumps(cluster.captured_at)}")
    lines += _decision(cluster, style)
    lines += _shared(labels)
    lines.append("nodes:" if groups else "nodes: []")
    taken = _shared_hostnames(nodes)  # a new name must not join a shared hostname domain
    taken |= {only.name for group in groups for zones in group.entries if (only := _only(zones)) is not None}
    for group in groups:
        lines += _entries(group, taken, style)
    lines += pool_lines(pools, nodes, all_written=cluster.pools_written)
    if devices is not None and devices.classes:
        lines += ["objects:", *devices.object_lines()]
    lines += _scheduler(cluster)
    return "\n".join(lines) + "\n"


def _devices(cluster: Cluster, style: Style) -> WrittenDevices | None:
    objects = cluster.inventory
    if not (objects.resource_slices or objects.device_classes):
        return None
    return WrittenDevices(objects, exact=style.exact)


def _scheduler(cluster: Cluster) -> Iterator[str]:
    """Yield the configuration of kube-scheduler as a document of its own."""
    for profile in cluster.inventory.schedulers[:1]:
        yield "---"
        yield yaml.safe_dump(kept_of(profile.configuration), sort_keys=False).removesuffix("\n")


def _shared(labels: Shortening) -> Iterator[str]:
    """Yield what holds for the labels of all nodes."""
    if labels.of_zones:
        of_zones = {zone: flow((k, scalar(v)) for k, v in own.items()) for zone, own in labels.of_zones.items()}
        yield from mapping("zones", list(of_zones.items()), 0)
    if labels.others:
        yield from listing("otherLabels", list(map(scalar, labels.others)), 0)


def _comments(cluster: Cluster, nodes: tuple[Node, ...], groups: Iterable[_Group], style: Style) -> Iterator[str]:
    yield f"# {many(len(nodes), 'node')} of {cluster.path or 'a cluster'}; docs/sketch.md explains it."
    if any(group.is_joined for group in groups):
        yield f"# Nodes of one entry differ by at most {style.tolerance:g} %; allocatable is that of the smallest."
    if cluster.states_of_nodes:
        few = len(cluster.states_of_nodes) if style.exact else SHOWN
        yield "# Some are in a transient state; remove it here if it should not count:"
        yield f"#   {first_few(list(map(str, cluster.states_of_nodes)), '; ', few)}"
    if style.exact:
        if KnownGroups(cluster).is_elastic:
            yield f"# Nodes count as elastic: {cluster.elastic_because}."
        yield from ("#", *_EXPLAINED.splitlines())


def _decision(cluster: Cluster, style: Style) -> Iterator[str]:
    """Yield whether the node groups are complete, or the choice as a comment; nothing where nodes are fixed."""
    decided = style.node_groups or cluster.node_groups
    if decided:
        yield f"nodeGroups: {decided}"
    elif KnownGroups(cluster).is_elastic:
        yield _UNDECIDED


def _groups(nodes: tuple[Node, ...], labels: Shortening, style: Style, devices: WrittenDevices | None) -> list[_Group]:
    """Return the groups in the order of their first nodes."""
    shared = _shared_hostnames(nodes)
    by_look: dict[Hashable, list[_Group]] = {}
    ordered: list[_Group] = []
    for node in nodes:
        hostname = node.labels.get(HOSTNAME)
        if hostname is not None and hostname not in shared:
            hostname = _OWN
        written = labels.written(node)
        lines = () if devices is None else devices.of(node.name)
        alike = by_look.setdefault((_key(node, hostname, written), lines), [])
        offer = _offer(node)
        group = next((g for g in alike if _close(g.allocatable, offer, style.tolerance / 100)), None)
        if group is None:
            group = _Group(node, hostname, written)
            group.devices = lines
            alike.append(group)
            ordered.append(group)
        group.add(node)
    return ordered


def _shared_hostnames(nodes: Iterable[Node]) -> set[str]:
    counts: dict[str, int] = {}
    for node in nodes:
        if HOSTNAME in node.labels:
            counts[node.labels[HOSTNAME]] = counts.get(node.labels[HOSTNAME], 0) + 1
    return {hostname for hostname, count in counts.items() if count > 1}


def _key(node: Node, hostname: str | None, written: Mapping[str, str | None]) -> Hashable:
    return (
        frozenset(written.items()),
        hostname,
        node.taints,
        node.unschedulable,
        node.ready,
        node.elastic,
        node.declared_features,
        None if node.allocatable is None else frozenset(_offer(node) or ()),
    )


def _offer(node: Node) -> Resources | None:
    """Return the resources of a node; a zero amount is the same as an absent one."""
    return None if node.allocatable is None else {name: amount for name, amount in node.allocatable.items() if amount}


def _close(offer: Resources | None, other: Resources | None, tolerance: float) -> bool:
    if offer is None or other is None:
        return offer is other
    return all(abs(amount - offer[name]) <= tolerance * offer[name] for name, amount in other.items())


def _entries(group: _Group, taken: set[str], style: Style) -> Iterator[str]:
    """Yield the entries of a group. A single node keeps its name, because manifests may select it."""
    for held in group.entries:
        zones = {zone: len(nodes) for zone, nodes in held.items()}
        only = _only(held)
        name = _free_base(_base(group.node), zones, taken) if only is None else only.name
        hostname = only.labels.get(HOSTNAME) if only is not None and group.hostname == _OWN else group.hostname
        yield f"- name: {scalar(name)}"
        yield from _places(zones)
        yield from _fields(group, _OWN if hostname == name else hostname, style)


def _only(zones: Mapping[str | None, Sequence[Node]]) -> Node | None:
    """Return the node of an entry that has only one, with a name; else None."""
    nodes = [node for several in zones.values() for node in several]
    return nodes[0] if len(nodes) == 1 and nodes[0].name else None


def _places(zones: Mapping[str | None, int]) -> Iterator[str]:
    counts = set(zones.values())
    if len(counts) > 1:
        yield from mapping("zones", [(str(zone), str(count)) for zone, count in zones.items()])
        return
    if counts != {1}:
        yield f"  count: {counts.pop()}"
    if zones.keys() != {None}:
        yield from listing("zones", [scalar(str(zone)) for zone in zones])


def _base(node: Node) -> str:
    """Return what names a group best: the label of its node group, its role, its machine type."""
    key, _, group = node.group.partition("=")
    roles = sorted(key.removeprefix(_ROLE) for key in node.labels if key.startswith(_ROLE))
    name = (group if key in node.labels else "") or next(iter(roles), node.labels.get(INSTANCE_TYPE)) or "node"
    base = re.sub(r"[^a-z0-9.-]+", "-", name.lower()).strip("-.") or "node"
    return f"{AUTOPILOT_NAMES}{base}" if is_autopilot(node) else base


def _free_base(base: str, zones: Mapping[str | None, int], taken: set[str]) -> str:
    """Return the base name, with a letter added until neither it nor the names made from it are taken."""
    number, wanted = 1, base
    while True:
        names = {node_name(wanted, z, i, count, len(zones)) for z, count in zones.items() for i in range(1, count + 1)}
        names.add(wanted)
        if not names & taken:
            taken |= names
            return wanted
        number += 1
        wanted = f"{base}-{chr(96 + number)}" if number <= 26 else f"{base}-x{number}"


def _fields(group: _Group, hostname: str | None, style: Style) -> Iterator[str]:
    """Yield what all nodes of an entry share; ``hostname`` is their label, or ``_OWN`` for their names."""
    node = group.node
    labels = dict(group.labels)
    if hostname != _OWN:
        labels[HOSTNAME] = hostname
    if labels:
        yield from mapping("labels", [(k, "null" if v is None else scalar(v)) for k, v in labels.items()])
    if node.taints:
        yield from listing("taints", [taint(t) for t in node.taints])
    if group.allocatable is not None:
        yield from mapping("allocatable", list(_amounts(group.allocatable, style)))
    if node.elastic != bool(elastic_because(_known(labels), {})):
        yield f"  elastic: {str(node.elastic).lower()}"
    if node.unschedulable:
        yield "  unschedulable: true"
    if not node.ready:
        yield "  ready: false"
    if node.declared_features:
        yield from listing("declaredFeatures", [scalar(f) for f in node.declared_features])
    if group.devices:
        yield "  devices:"
        yield from (f"  - {line}" for line in group.devices)


def _known(labels: Mapping[str, str | None]) -> Labels:
    return {key: value for key, value in labels.items() if value is not None}


def _amounts(amounts: Resources, style: Style) -> Iterator[tuple[str, str]]:
    ordered = sorted(amounts.items(), key=lambda item: (_FIRST.get(item[0], len(_FIRST)), item[0]))
    for name, value in ordered:
        if (name, value) != ("pods", DEFAULT_PODS):
            is_rounded = name in _ROUNDED and value >= _MI and not style.exact
            yield name, amount(name, value // _MI * _MI if is_rounded else value)
    if not amounts.get("pods"):
        yield "pods", '"0"'
