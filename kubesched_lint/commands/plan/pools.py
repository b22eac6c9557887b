"""What a change does to nodes and pools: which come, go or are made anew, and which workloads lose nodes by that.

The change may be one of the cluster's files, of NodePools among the manifests, or of node groups that a plan of
Terraform holds. The last two say nothing of the nodes of today, so their effect on these is assumed, and said.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from kubesched_lint.engine.base.places import Location, ObjectRef
from kubesched_lint.engine.base.text import first_few, joined, many, plural
from kubesched_lint.engine.cluster.cluster import Cluster
from kubesched_lint.engine.cluster.nodepools.label_demand import LabelDemand
from kubesched_lint.engine.cluster.nodepools.minimum import standing
from kubesched_lint.engine.cluster.nodepools.templates import templates
from kubesched_lint.engine.cluster.nodes.elastic import NODE_POOL, pool_of
from kubesched_lint.engine.model.nodes.node import HOSTNAME, KARPENTER, ZONE, Node, NodePool, with_kept_labels
from kubesched_lint.engine.model.quantity import show
from kubesched_lint.engine.scenario.scenario import Scenario
from kubesched_lint.sources.clusters.terraform import Group, TerraformPools
from kubesched_lint.sources.manifests.document import location_of

T = TypeVar("T")
_ROOM = "with the room that the table of machine types gives"
_SHOWN = ("cpu", "memory", "pods", "nvidia.com/gpu")
"""Resources of a node that its row may name."""


class PoolChange(Struct, frozen=True):
    """What becomes of a pool, or of nodes of none, in words: ``removed, its 6 nodes go``."""

    name: str
    action: str
    fields: tuple[str, ...] = ()
    pods: int = 0
    """Running pods on nodes that go."""
    location: Location | None = None
    environments: tuple[str, ...] = ()


class NodeLoss(Struct, frozen=True):
    """A workload that may use fewer nodes than before, whatever runs there."""

    object: ObjectRef
    before: int
    after: int
    environments: tuple[str, ...] = ()


def losses(before: Scenario, after: Scenario, subjects: Collection[ObjectRef]) -> Iterator[NodeLoss]:
    """Yield the unchanged or changed workloads that may use fewer of the nodes."""
    old = {w.ref: w for w in before.manifests.workloads}
    for workload in after.manifests.workloads:
        if workload.ref in subjects and workload.ref in old:
            was = before.member(old[workload.ref])
            ends = ((was.usable & before.today).bit_count(), (after.member(workload).usable & after.today).bit_count())
            if ends[1] < ends[0]:
                yield NodeLoss(workload.ref, *ends)


# --- what the cluster's files show -----------------------------------------------------------------------------------


def node_changes(before: Cluster, after: Cluster) -> Iterator[PoolChange]:
    """Yield the pools and the nodes of none that differ."""
    old, new = _by_pool(before), _by_pool(after)
    pods = _pods_of_nodes(before)
    for name in {**old, **new}:
        ours, theirs = old.get(name, ()), new.get(name, ())
        names = {node.name for node in ours} & {node.name for node in theirs}
        gone, came = ([node.name for node in side if node.name not in names] for side in (ours, theirs))
        fields = tuple(_shared_changes(ours, theirs)) if ours and theirs else ()
        if gone or came or fields:
            action = _counted(len(ours), len(theirs), gone, came)
            yield PoolChange(name, action, fields, sum(pods[node] for node in gone))
    yield from _pools_changed(before.inventory.node_pools, after.inventory.node_pools)


def _pods_of_nodes(cluster: Cluster) -> Counter[str]:
    return Counter(bound.node for bound in cluster.inventory.pods)


def _by_pool(cluster: Cluster) -> Mapping[str, Sequence[Node]]:
    by_pool: dict[str, list[Node]] = {}
    for node in cluster.inventory.nodes:
        name = pool_of(node)
        by_pool.setdefault(f"pool {name}" if name else "nodes of no pool", []).append(node)
    return by_pool


def _counted(before: int, after: int, gone: Sequence[str], came: Sequence[str]) -> str:
    if not before:
        return f"added, {many(after, 'node')}"
    if not after:
        return _removed(before)
    if not gone and not came:
        return f"reshaped, {many(after, 'node')}"
    parts = [f"{first_few(gone)} {plural(len(gone), 'goes', 'go')}"] if gone else []
    parts += [f"{first_few(came)} {plural(len(came), 'comes', 'come')}"] if came else []
    count = f"{before} → {many(after, 'node')}" if before != after else many(after, "node")
    return f"{count}: {joined(parts)}"


def _removed(nodes: int) -> str:
    return f"removed, its {many(nodes, 'node')} {plural(nodes, 'goes', 'go')}"


def _shared_changes(before: Sequence[Node], after: Sequence[Node]) -> Iterator[str]:
    """Yield what all nodes of a pool share on one side only: labels, taints, and the room of a node."""
    yield from _labels_changed(*(dict(_shared(nodes, _labels)) for nodes in (before, after)))
    ours, theirs = (_shared(nodes, lambda node: map(str, node.taints)) for nodes in (before, after))
    yield from (f"taint {taint} gone" for taint in ours if taint not in theirs)
    yield from (f"taint {taint} new" for taint in theirs if taint not in ours)
    for resource in _SHOWN:
        ends = [{_amount(node, resource) for node in nodes} for nodes in (before, after)]
        if ends[0] != ends[1] and all(len(end) == 1 for end in ends):
            was, becomes = (next(iter(end)) for end in ends)
            yield f"{resource} of a node {was} → {becomes}"


def _labels_changed(before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[str]:
    for key in sorted({**before, **after}):
        was, becomes = before.get(key, "unset"), after.get(key, "unset")
        if was != becomes:
            yield f"label {key} {was} → {becomes}"


def _labels(node: Node) -> Iterable[tuple[str, str]]:
    return ((key, value) for key, value in node.labels.items() if key != HOSTNAME)


def _amount(node: Node, resource: str) -> str:
    return "unknown" if node.allocatable is None else show(resource, node.allocatable.get(resource, 0))


def _shared(nodes: Sequence[Node], of: Callable[[Node], Iterable[T]]) -> list[T]:
    """Return what ``of`` gives for every one of the nodes, in the order of the first."""
    others = [set(of(node)) for node in nodes[1:]]
    return [shared for shared in of(nodes[0]) if all(shared in other for other in others)]


# --- what NodePools and Terraform show --------------------------------------------------------------------------------


def _pools_changed(before: Iterable[NodePool], after: Iterable[NodePool]) -> Iterator[PoolChange]:
    old, new = ({pool.name: pool for pool in pools} for pools in (before, after))
    for name in {**old, **new}:
        fields = tuple(_pool_fields(old[name], new[name])) if name in old and name in new else ()
        action = "reshaped" if name in new else "removed"
        if fields or name not in old or name not in new:
            yield PoolChange(
                f"pool {name}", "added" if name not in old else action, fields, location=_place(new.get(name))
            )


def _place(pool: NodePool | None) -> Location | None:
    return None if pool is None or pool.source is None else location_of(pool.source, pool.path)


def _pool_fields(before: NodePool, after: NodePool) -> Iterator[str]:
    """Yield what differs in two versions of a pool."""
    yield from _labels_changed(before.labels, after.labels)
    yield from (f"taint {taint} gone" for taint in before.taints if taint not in after.taints)
    yield from (f"taint {taint} new" for taint in after.taints if taint not in before.taints)
    for name in sorted({**before.limits, **after.limits}):
        ends = [show(name, side[name]) if name in side else "none" for side in (before.limits, after.limits)]
        if ends[0] != ends[1]:
            yield f"limit of {name} {' → '.join(ends)}"
    for word, was, becomes in (
        ("zones", before.zones, after.zones),
        ("machine types", _machines(before), _machines(after)),
        ("requirements", tuple(map(str, before.requirements)), tuple(map(str, after.requirements))),
        ("weight", (str(before.weight),), (str(after.weight),)),
    ):
        if was != becomes:
            yield f"{word} {first_few(was or ('any',))} → {first_few(becomes or ('any',))}"


def _machines(pool: NodePool) -> tuple[str, ...]:
    return tuple(shape.name for shape in pool.shapes if shape.name)


def _is_made_anew(before: NodePool, after: NodePool) -> bool:
    """Whether the nodes of a pool drift, so that its maker replaces them: all but its limits, weight and size."""

    def template(pool: NodePool) -> object:
        return replace(pool, limits={}, weight=0, minimum=0, source=None, path=())

    return template(before) != template(after)


def with_manifest_pools(
    cluster: Cluster, before: Sequence[NodePool], after: Sequence[NodePool]
) -> tuple[Cluster, tuple[PoolChange, ...], tuple[str, ...]]:
    """Return the cluster when Karpenter is done with changed NodePools of the manifests, what changes, and notes."""
    old, new = ({p.name: p for p in pools if p.maker == KARPENTER} for pools in (before, after))
    anew = {name for name, pool in old.items() if name not in new or _is_made_anew(pool, new[name])}
    keys = {f"{NODE_POOL}={name}" for name in anew}
    gone = [node for node in cluster.inventory.nodes if node.group in keys or node.labels.get(NODE_POOL) in anew]
    pods = _pods_of_nodes(cluster)
    changes = tuple(
        replace(change, pods=sum(pods[n.name] for n in gone if f"pool {pool_of(n)}" == change.name))
        for change in _pools_changed(old.values(), new.values())
    )
    notes = [
        f"assumed: Karpenter deletes the {many(len(gone), 'node')} of {first_few(sorted(anew))}, "
        "and makes others where the pool still exists"
    ]
    return (_without_nodes(cluster, gone), changes, tuple(notes)) if gone else (cluster, changes, ())


def _without_nodes(cluster: Cluster, gone: Sequence[Node]) -> Cluster:
    """Return the cluster without nodes and the pods on them."""
    names, inventory = {node.name for node in gone}, cluster.inventory
    nodes = tuple(node for node in inventory.nodes if node.name not in names)
    pods = tuple(bound for bound in inventory.pods if bound.node not in names)
    return replace(cluster, inventory=replace(inventory, nodes=nodes, pods=pods))


class _Change(Struct, frozen=True):
    """One node group of Terraform on both sides; None where it is not there."""

    old: Group | None
    new: Group | None

    @property
    def known(self) -> Group:
        group = self.new or self.old
        assert group is not None
        return group

    @property
    def is_replaced(self) -> bool:
        """Whether its nodes go and others come: other machines."""
        return self.old is not None and self.new is not None and _machines(self.old.pool) != _machines(self.new.pool)

    @property
    def fields(self) -> Iterator[str]:
        if self.old is not None and self.new is not None:
            yield from _pool_fields(self.old.pool, self.new.pool)
            if self.old.size != self.new.size:
                ends = ("unknown" if group.size is None else str(group.size) for group in (self.old, self.new))
                yield f"size {' → '.join(ends)}"


def with_terraform(cluster: Cluster, pools: TerraformPools) -> tuple[Cluster, tuple[PoolChange, ...], tuple[str, ...]]:
    """Return the cluster after a plan of Terraform is applied, what changes, and notes."""
    changes: list[PoolChange] = []
    notes = list(pools.notes)
    for address in {**pools.before, **pools.after}:
        change = _Change(pools.before.get(address), pools.after.get(address))
        old, new = change.old, change.new
        there = [node for node in cluster.inventory.nodes if old is not None and node.group in old.keys]
        if old is not None and old.size is not None and old.size != len(there):
            notes.append(f"drift: {address} has {many(old.size, 'node')} in Terraform, {len(there)} in the cluster")
        fields = tuple(change.fields)
        if old is not None and new is not None and not fields:
            continue
        action = "added" if old is None else "reshaped" if new is not None else "removed"
        if new is None and there:
            action = _removed(len(there))
        on_nodes = _pods_of_nodes(cluster) if new is None or change.is_replaced else Counter()
        pods = sum(on_nodes[node.name] for node in there)
        changes.append(PoolChange(f"pool {change.known.pool.name}", action, fields, pods))
        cluster = _applied(cluster, there, change, notes)
    return cluster, tuple(changes), tuple(notes)


def _applied(cluster: Cluster, there: Sequence[Node], change: _Change, notes: list[str]) -> Cluster:
    """Return the cluster with one group as it becomes; ``there`` are its nodes of today."""
    old, new = change.old, change.new
    if new is None:
        return _without_nodes(cluster, there)
    if old is None:
        return _with_group(cluster, new, notes)
    if old.size != new.size:
        why = "nobody knows which nodes go or come; `simulate --lose` and `--add` try some"
        notes.append(f"{new.address}: another size is not applied, for {why}")
    names = {node.name for node in there}
    if change.is_replaced:
        if names:
            notes.append(
                f"assumed: {many(len(names), 'new node')} of {new.address} in the zones of the old ones, {_ROOM}"
            )
        pods = tuple(bound for bound in cluster.inventory.pods if bound.node not in names)
        cluster = replace(cluster, inventory=replace(cluster.inventory, pods=pods))
    nodes = tuple(_edited(n, change) if n.name in names else n for n in cluster.inventory.nodes)
    return replace(cluster, inventory=replace(cluster.inventory, nodes=nodes))


def _edited(node: Node, change: _Change) -> Node:
    """Return a node whose group has other labels and taints, which the cloud sets on its nodes, or other machines."""
    assert change.old is not None
    assert change.new is not None
    old, new = change.old.pool, change.new.pool
    labels = {key: value for key, value in node.labels.items() if key not in old.labels or key in new.labels}
    taints = (*(taint for taint in node.taints if taint not in old.taints), *new.taints)
    node = replace(node, labels={**labels, **new.labels}, taints=taints)
    if not change.is_replaced:
        return node
    template = next(templates(new, LabelDemand(), (node.labels.get(ZONE, ""),)))
    own = {key: value for key, value in template.labels.items() if key != ZONE}
    return replace(node, labels=with_kept_labels({**node.labels, **own}), allocatable=template.offered, images={})


def _with_group(cluster: Cluster, group: Group, notes: list[str]) -> Cluster:
    """Return the cluster with the nodes of a new group."""
    nodes, size = cluster.inventory.nodes, group.size or 0
    zones = group.pool.zones
    if zones is None:
        zones = tuple(sorted({node.labels[ZONE] for node in nodes if ZONE in node.labels}))
        if zones and size:
            notes.append(f"assumed: {group.address} makes nodes in the zones of the other nodes")
    pool = replace(group.pool, zones=zones or None, minimum=size)
    made = [replace(node, group=group.keys[0]) for node in standing((pool,), nodes)]
    if size and not made:
        notes.append(f"{group.address}: the size of its machines is unknown, so its nodes are left out")
    elif made:
        notes.append(f"assumed: {many(len(made), 'node')} of {group.address}, {_ROOM}")
    return replace(cluster, inventory=replace(cluster.inventory, nodes=(*nodes, *made)))


def drift(cluster: Cluster, pools: Iterable[NodePool]) -> Iterator[str]:
    """Yield a note for each pool of the manifests that the cluster has otherwise."""
    live = {pool.name: pool for pool in cluster.inventory.node_pools}
    for pool in pools:
        fields = list(_pool_fields(live[pool.name], pool)) if pool.name in live else []
        if fields:
            yield f"drift: the cluster's pool {pool.name} is not that of the manifests: {first_few(fields)}"
