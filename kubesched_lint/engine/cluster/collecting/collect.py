"""Collect objects from any source, one by one, into one Cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from operator import attrgetter
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from kubesched_lint.engine.base.places import Source
from kubesched_lint.engine.base.text import many, plural
from kubesched_lint.engine.cluster.cluster import Cluster, ClusterError
from kubesched_lint.engine.cluster.collecting.node_json import NodeJsonDecoder
from kubesched_lint.engine.cluster.collecting.pods import PodReader
from kubesched_lint.engine.cluster.limits import MOST_NODES, MOST_OBJECTS
from kubesched_lint.engine.cluster.nodepools.minimum import standing
from kubesched_lint.engine.cluster.nodepools.unshown import grouped_by_likeness, has_unshown
from kubesched_lint.engine.cluster.nodes.elastic import maker_of
from kubesched_lint.engine.model.decode.fields import Value, items, labels, mapping, text
from kubesched_lint.engine.model.decode.nodes import decode_node
from kubesched_lint.engine.model.decode.objects import decode_object, gather, is_read
from kubesched_lint.engine.model.decode.policy import decode_replica_set_revision
from kubesched_lint.engine.model.nodes.node import Node
from kubesched_lint.engine.model.pod import BoundPod

if TYPE_CHECKING:
    from kubesched_lint.engine.model.devices.devices import DeviceClass
    from kubesched_lint.engine.model.nodes.node import NodePool
    from kubesched_lint.engine.model.pod import SchedulerProfile

K = TypeVar("K", str, tuple[str, str], tuple[str, str, str])
T = TypeVar("T")


class Header(Struct, frozen=True):
    """What a file says about itself."""

    origin: str = ""
    captured_at: str = ""
    version: str = ""
    kinds: frozenset[str] = frozenset()
    gaps: tuple[str, ...] = ()
    node_groups: str = ""
    other_labels: frozenset[str] = frozenset()
    feature_gates: Mapping[str, bool] = field(default_factory=dict)
    source: Source | None = None


class Collector:
    """Collect objects as plain values or as JSON; later ones of the same name replace earlier ones.

    ``elastic`` overrides what labels and sketches say about every node; ``path`` names the source in messages.
    ``sizes_in`` reads the status of cluster-autoscaler: the size of each node group in it; None for another object.
    """

    def __init__(
        self,
        elastic: bool | None = None,
        path: str = "",
        sizes_in: Callable[[Value], Mapping[str, int] | None] = lambda value: None,
    ) -> None:
        self.path = path
        self._sizes_in = sizes_in
        self._elastic = elastic
        self._nodes: dict[str, Node] = {}
        self._because: dict[str, str] = {}
        self._pods: dict[str, list[BoundPod]] = {}
        """By namespace; of those of one name the last one counts."""
        self._others: dict[tuple[str, str, str], tuple[str, Any]] = {}
        self._kinds: set[str] = set()
        self._unread: dict[str, int] = {}
        self._headers: list[Header] = []
        self._pools: dict[str, NodePool] = {}
        self._more_pools = False
        self._objects = 0
        self._reader = PodReader()
        self._newest = ""
        self._sizes: dict[str, int] = {}
        self.schedulers: tuple[SchedulerProfile, ...] = ()
        """The profiles of kube-scheduler, if its configuration is among the files."""

    # -- input -------------------------------------------------------------------------------------------------------

    def describe(self, header: Header) -> None:
        self._headers.append(header)
        self._kinds |= header.kinds

    def node(self, node: Node, because: str) -> None:
        """Add a node, with the evidence that it is elastic ("" for none)."""
        if self._elastic is not None:
            because = "set by --elastic" if self._elastic else ""
        if len(self._nodes) >= MOST_NODES:
            raise ClusterError(self.path, 0, 0, f"holds more than {MOST_NODES:,} nodes")
        self._nodes[node.name] = replace(node, elastic=bool(because)) if node.elastic != bool(because) else node
        self._because[node.name] = because
        self._kinds.add("Node")

    def pool(self, pool: NodePool, source: Source | None = None, *, all_written: bool = True) -> None:
        """Add a pool that a user listed. The list is complete unless ``all_written`` is false."""
        self._pools[pool.name] = replace(pool, source=source)
        self._more_pools = self._more_pools or not all_written

    def value(self, value: Value, source: Source | None = None) -> None:
        """Add any object as plain values. Raises DecodeError."""
        kind = value.get("kind")
        group = str(value.get("apiVersion")).rpartition("/")[0]
        if kind == "Node" and not group:
            self._node_value(value, source)
        elif kind == "Pod" and not group:
            self._add_pods((self._reader.value(value),))
        elif is_read(value.get("apiVersion"), kind):
            self._other(value, source)
        elif kind == "ConfigMap" and (sizes := self._sizes_in(value)) is not None:
            self._sizes.update(sizes)
        else:
            self.count_unread(str(kind))

    def count_unread(self, kind: str) -> None:
        self._unread[kind] = self._unread.get(kind, 0) + 1

    def pod_json(self, document: bytes) -> None:
        """Add a Pod as JSON, faster than as plain values. Raises DecodeError."""
        self._add_pods((self._reader.json(document),))

    def pods_json(self, part: bytes) -> bool:
        """Add a part of a list as JSON: the fast way for many; False if it may hold anything but pods.

        Raises DecodeError.
        """
        pods = self._reader.listed(part)
        if pods is not None:
            self._add_pods(pods)
        return pods is not None

    def nodes_json(self, part: bytes) -> bool:
        """Add a part of a list as JSON: the fast way for many; False if it may hold anything but nodes.

        Raises DecodeError.
        """
        nodes = self._node_decoder.nodes(part)
        for value, images in nodes or ():
            self._node_value(value, None, images)
        return nodes is not None

    @cached_property
    def _node_decoder(self) -> NodeJsonDecoder:
        return NodeJsonDecoder()

    def _add_pods(self, pods: Iterable[BoundPod | None]) -> None:
        count = 0
        namespace, there = None, list[BoundPod]()
        for bound in pods:
            count += 1
            if bound is not None:  # the scheduler ignores completed pods
                if bound.pod.namespace != namespace:
                    namespace = bound.pod.namespace
                    there = self._pods.setdefault(namespace, [])
                there.append(bound)
        if count:
            self._kinds.add("Pod")
            self._count(count)

    def _node_value(self, value: Value, source: Source | None, images: dict[str, int] | None = None) -> None:
        meta = mapping(value, "metadata", ())
        node = decode_node(value, source, images)
        maker = maker_of(node.labels, labels(meta, "annotations", ("metadata",)))
        self.node(*((node, "") if maker is None else (replace(node, group=maker.group), maker.because)))
        stamps = [text(meta, "creationTimestamp", ("metadata",))]
        stamps += [text(c, "lastHeartbeatTime", at) for c, at in _conditions(value)]
        self._newest = max(self._newest, *stamps)

    def _count(self, more: int = 1) -> None:
        self._objects += more
        if self._objects > MOST_OBJECTS:
            raise ClusterError(self.path, 0, 0, f"holds more than {MOST_OBJECTS:,} objects")

    def _other(self, value: Value, source: Source | None) -> None:
        self._count()
        kind = str(value["kind"])
        self._kinds.add(kind)
        meta = mapping(value, "metadata", ())
        key = (kind, text(meta, "namespace", ("metadata",)), text(meta, "name", ("metadata",)))
        if kind == "ReplicaSet":
            revision = decode_replica_set_revision(value, "default", source)
            self._others[("Revision", *key[1:])] = ("replica_sets", revision)
            if revision.owner:
                return
        if kind == "Job" and _is_over(value):
            return
        self._others[key] = decode_object(value, "default", source, len(self._others))

    @property
    def has_device_offers(self) -> bool:
        """Whether an entry or a pool says which devices its nodes have; then entries that say nothing have none."""
        nodes, pools = self._nodes.values(), self._pools.values()
        return any(n.devices is not None for n in nodes) or any(p.devices is not None for p in pools)

    def device_classes(self, classes: Iterable[DeviceClass]) -> None:
        """Add classes that a sketch implies; an object of that name is worth more."""
        for device_class in classes:
            self._others.setdefault(("DeviceClass", "", device_class.name), ("device_classes", device_class))

    # -- output ------------------------------------------------------------------------------------------------------

    @property
    def unread(self) -> dict[str, int]:
        return self._unread

    @property
    def counts(self) -> dict[str, int]:
        """Kind → number of objects, for kinds that are decoded."""
        counts = {"Node": len(self._nodes), "Pod": sum(1 for _ in self._in_order())}
        for kind, _, _ in self._others:
            counts[kind] = counts.get(kind, 0) + 1
        return {kind: count for kind, count in counts.items() if count}

    def cluster(self, path: str) -> Cluster:
        headers = self._headers
        origins = {header.origin for header in headers} - {""} or {"kubectl"}
        times = [header.captured_at for header in headers if header.captured_at]
        newest = max((self._newest, *self._reader.times))
        inventory = gather(_by_name(self._others))
        if self.has_device_offers:
            self._kinds.add("ResourceSlice")
        pools = (*inventory.node_pools, *self._pools.values()) if self._elastic is not False else ()
        # A sketch keeps its own order.
        nodes = tuple(self._nodes.values() if "sketch" in origins else _by_name(self._nodes))
        if any(pool.minimum for pool in pools):
            nodes += tuple(standing(pools, nodes))
        sizes = {} if self._elastic is False else self._sizes
        unshown = has_unshown(sizes, nodes)
        nodes = tuple(grouped_by_likeness(nodes)) if unshown else nodes
        if self.has_device_offers:
            nodes = tuple(node if node.devices is not None else replace(node, devices=()) for node in nodes)
        slices = (offer.on(node.name) for node in nodes for offer in node.devices or ())
        return Cluster(
            inventory=replace(
                inventory,
                nodes=nodes,
                pods=tuple(self._in_order()),
                node_pools=pools,
                resource_slices=(*inventory.resource_slices, *slices),
                schedulers=self.schedulers,
            ),
            pools_written=bool(self._pools) and not self._more_pools,
            node_groups=self._node_groups(),
            other_labels=frozenset[str]().union(*(header.other_labels for header in headers)),
            feature_gates={name: on for header in headers for name, on in header.feature_gates.items()},
            group_sizes=sizes,
            has_unshown=unshown,
            path=path,
            origin=origins.pop() if len(origins) == 1 else "kubectl",
            kinds=self._whole_kinds(),
            captured_at=min(times) if times else "" if "sketch" in origins else newest,
            version=next((h.version for h in headers if h.version), ""),
            gaps=tuple(dict.fromkeys(gap for header in headers for gap in header.gaps)),
            elastic_because=self._why_elastic(),
            is_elastic_by_option=bool(self._elastic),
            unread_kinds=self._unread,
            source=next((h.source for h in headers if h.source is not None), None),
        )

    def _in_order(self) -> Iterator[BoundPod]:
        """Yield the pods in the API server's order."""
        for there in _by_name(self._pods):
            yield from {bound.name: bound for bound in sorted(there, key=attrgetter("name"))}.values()

    def _whole_kinds(self) -> frozenset[str]:
        """Return the kinds known completely: a snapshot lists them; for other sources, every kind that occurs."""
        if self._headers and all(header.origin == "snapshot" for header in self._headers):
            return frozenset(kind for header in self._headers for kind in header.kinds)
        return frozenset(self._kinds)

    def _node_groups(self) -> str:
        """Return ``open`` if any file says so: one incomplete list makes the whole incomplete."""
        return max((header.node_groups for header in self._headers), default="")  # "" < complete < open

    def _why_elastic(self) -> str:
        """Return the most frequent reason with its number of nodes."""
        counts: dict[str, int] = {}
        for because in filter(None, self._because.values()):
            counts[because] = counts.get(because, 0) + 1
        if not counts:
            groups = len(self._sizes) if self._elastic is None else 0
            return f"cluster-autoscaler's status names {many(groups, 'node group')}" if groups else ""
        because = max(counts, key=lambda reason: counts[reason])
        if self._elastic or "sketch" in because:
            return because
        carry = plural(counts[because], "carries", "carry")
        return f"{counts[because]:,} of {len(self._nodes):,} nodes {carry} the {because}"


def _by_name(objects: Mapping[K, T]) -> Iterator[T]:
    """Yield in the API server's order, so that results do not depend on the order in a file."""
    return (objects[key] for key in sorted(objects))


def _conditions(value: Value) -> Iterator[tuple[Value, tuple[str | int, ...]]]:
    return items(mapping(value, "status", ()), "conditions", ("status",))


def _is_over(job: Value) -> bool:
    """Return whether the Job is finished: it creates no more pods."""
    over = ("Complete", "Failed")
    return any(c.get("type") in over and c.get("status") == "True" for c, _ in _conditions(job))
