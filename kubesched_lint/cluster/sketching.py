"""Write a cluster as a sketch: equal nodes become one entry."""

from __future__ import annotations

import json
import re
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass

from kubesched_lint.cluster.cluster import Cluster
from kubesched_lint.cluster.elastic import elastic_because
from kubesched_lint.cluster.nodepools.minimum import stands_in
from kubesched_lint.cluster.nodepools.sketching import pool_lines
from kubesched_lint.cluster.sketch import API_VERSION, DEFAULT_PODS, KIND, node_name
from kubesched_lint.cluster.sketch_text import amount, listing, mapping, scalar, taint
from kubesched_lint.model.labels import Labels
from kubesched_lint.model.node import HOSTNAME, KEPT_LIKE, OS, ZONE, Node
from kubesched_lint.model.pod import Resources

_NAMED_BY = (
    "karpenter.sh/nodepool",
    "eks.amazonaws.com/nodegroup",
    "cloud.google.com/gke-nodepool",
    "kubernetes.azure.com/agentpool",
    "node.kubernetes.io/instance-type",
)
_FILLED_IN = frozenset((HOSTNAME, ZONE, *KEPT_LIKE))
_OWN = "<its own>"  # no label can have this value
_EXPLAINED = """\
# nodes:        entries of equal nodes
#   name        names the nodes, with zone and number where an entry makes several: worker-eu-west-1a-2
#   count       how many in each zone; 1 if absent
#   zones       a node of each; absent for nodes without the label topology.kubernetes.io/zone
#   labels      kubernetes.io/hostname, topology.kubernetes.io/zone and kubernetes.io/os=linux are filled in unless
#               they are given here; null takes one away
#   taints      key=value:Effect
#   allocatable what pods can ask of one node (not its capacity); pods is 110 if absent. Without allocatable the
#               resources are unknown, and rules about them skip
#   elastic     true: an autoscaler makes and removes such nodes; if absent, labels tell
#   unschedulable  true: cordoned
# pools:        what autoscalers may add; see docs/pools.md
"""


@dataclass(slots=True)
class _Group:
    """Nodes that differ only in name and zone, and within a tolerance in their resources."""

    node: Node
    hostname: str | None
    """The value of the hostname label; None if there is none; ``_OWN`` if each node has a value of its own."""
    allocatable: Resources | None
    zones: dict[str | None, int]


def sketch_of(cluster: Cluster, *, within: float = 0.0) -> str:
    """Return a ClusterSketch as YAML that makes the same nodes, except for names and image lists.

    Nodes whose allocatable resources differ by at most ``within`` per cent become one entry, with the smallest amounts.
    """
    pools = cluster.inventory.node_pools
    nodes = tuple(n for n in cluster.inventory.nodes if not any(stands_in(n, pool) for pool in pools))
    groups = _groups(nodes, within / 100)
    lines = [f"# {len(nodes)} nodes of {cluster.path or 'a cluster'}."]
    if cluster.passing:
        lines.append("# Some are in a passing state, which is written down as if it stayed; take it out where it goes:")
        lines += [f"#   {passing}" for passing in cluster.passing[:10]]
        lines += [f"#   and {len(cluster.passing) - 10} more"] * (len(cluster.passing) > 10)
    if cluster.is_elastic:
        lines.append(f"# Nodes count as elastic: {cluster.elastic_because}.")
    lines += ["#", _EXPLAINED.rstrip(), f"apiVersion: {API_VERSION}", f"kind: {KIND}"]
    if cluster.captured_at:
        lines.append(f"capturedAt: {json.dumps(cluster.captured_at)}")
    lines.append("nodes:" if groups else "nodes: []")
    taken = _shared_hostnames(nodes)  # a new name must not join a shared hostname domain
    for group in groups:
        lines += _entries(group, taken)
    lines += pool_lines(pools, nodes, all_written=cluster.pools_written)
    return "\n".join(lines) + "\n"


def _groups(nodes: tuple[Node, ...], tolerance: float) -> list[_Group]:
    """Return the groups in the order of their first nodes."""
    shared = _shared_hostnames(nodes)
    found: dict[Hashable, list[_Group]] = {}
    ordered: list[_Group] = []
    for node in nodes:
        hostname = node.labels.get(HOSTNAME)
        if hostname is not None and hostname not in shared:
            hostname = _OWN
        offer = _offer(node)
        alike = found.setdefault(_key(node, hostname), [])
        group = next((g for g in alike if _close(g.allocatable, offer, tolerance)), None)
        if group is None:
            group = _Group(node, hostname, offer, {})
            alike.append(group)
            ordered.append(group)
        elif offer is not None and group.allocatable is not None:
            group.allocatable = {name: min(amount, group.allocatable[name]) for name, amount in offer.items()}
        zone = node.labels.get(ZONE)
        group.zones[zone] = group.zones.get(zone, 0) + 1
    return ordered


def _shared_hostnames(nodes: Iterable[Node]) -> set[str]:
    counts: dict[str, int] = {}
    for node in nodes:
        if HOSTNAME in node.labels:
            counts[node.labels[HOSTNAME]] = counts.get(node.labels[HOSTNAME], 0) + 1
    return {hostname for hostname, count in counts.items() if count > 1}


def _key(node: Node, hostname: str | None) -> Hashable:
    labels = frozenset((k, v) for k, v in node.labels.items() if k not in (HOSTNAME, ZONE))
    return (
        labels,
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


def _close(one: Resources | None, other: Resources | None, tolerance: float) -> bool:
    if one is None or other is None:
        return one is other
    return all(abs(amount - one[name]) <= tolerance * one[name] for name, amount in other.items())


def _entries(group: _Group, taken: set[str]) -> Iterator[str]:
    """Yield one entry for all zones with the same number of nodes."""
    by_count: dict[tuple[int, str | None], list[str | None]] = {}
    for zone, count in sorted(group.zones.items(), key=lambda item: item[0] or ""):
        # A zone that adds nothing to a name (none, or the empty one) needs a base name of its own.
        by_count.setdefault((count, "named" if zone else zone), []).append(zone)
    for (count, _), zones in by_count.items():
        base = _free_base(_base(group.node.labels), zones, count, taken)
        yield f"- name: {scalar(base)}"
        if count != 1:
            yield f"  count: {count}"
        if zones != [None]:
            yield f"  zones: [{', '.join('null' if z is None else scalar(z) for z in zones)}]"
        yield from _fields(group)


def _base(labels: Labels) -> str:
    name = next((labels[key] for key in _NAMED_BY if labels.get(key)), "node")
    return re.sub(r"[^a-z0-9.-]+", "-", name.lower()).strip("-.") or "node"


def _free_base(base: str, zones: list[str | None], count: int, taken: set[str]) -> str:
    """Return the base name, with a letter added until neither it nor the names made from it are taken."""
    number, wanted = 1, base
    while True:
        names = {node_name(wanted, zone, i, count, len(zones)) for zone in zones for i in range(1, count + 1)}
        names.add(wanted)
        if not names & taken:
            taken |= names
            return wanted
        number += 1
        wanted = f"{base}-{chr(96 + number)}" if number <= 26 else f"{base}-x{number}"


def _fields(group: _Group) -> Iterator[str]:
    node = group.node
    labels: dict[str, str | None] = {k: v for k, v in sorted(node.labels.items()) if k not in _FILLED_IN}
    if labels.get(OS) == "linux":
        del labels[OS]
    elif OS not in labels:
        labels[OS] = None
    if group.hostname != _OWN:
        labels[HOSTNAME] = group.hostname
    if labels:
        yield from mapping("labels", [(k, "null" if v is None else scalar(v)) for k, v in labels.items()])
    if node.taints:
        yield from listing("taints", [taint(t) for t in node.taints])
    if group.allocatable is not None:
        offer = [(k, amount(k, v)) for k, v in group.allocatable.items() if (k, v) != ("pods", DEFAULT_PODS)]
        if group.allocatable.get("pods", 0) == 0:
            offer.append(("pods", '"0"'))
        yield from mapping("allocatable", offer)
    if node.elastic != bool(elastic_because(node.labels, {})):
        yield f"  elastic: {str(node.elastic).lower()}"
    if node.unschedulable:
        yield "  unschedulable: true"
    if not node.ready:
        yield "  ready: false"
    if node.declared_features:
        yield from listing("declaredFeatures", [scalar(f) for f in node.declared_features])
