"""A cluster as far as we know it: its objects, how old the knowledge is, and what it lacks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from functools import cached_property
from typing import TYPE_CHECKING

from kubesched_lint.cluster.transient import Passing, passing_of, settled_node
from kubesched_lint.findings import one_line
from kubesched_lint.model.inventory import Inventory
from kubesched_lint.record import frozen_record, replace
from kubesched_lint.text import first_few, joined, many, plural

if TYPE_CHECKING:
    from datetime import datetime

    from kubesched_lint.cluster.running import Running
    from kubesched_lint.findings import Source
    from kubesched_lint.model.node import NodePool
    from kubesched_lint.model.pod import BoundPod

ASKED = "--elastic"
NODE_POOL = "karpenter.sh/nodepool"

# What changes a verdict when it is missing, in the order in which the footer names it.
_WANTED = (
    "Node",
    "Pod",
    "Namespace",
    "ReplicaSet",
    "PersistentVolumeClaim",
    "PersistentVolume",
    "StorageClass",
    "CSINode",
    "PriorityClass",
    "RuntimeClass",
    "LimitRange",
    "ResourceQuota",
    "Service",
    "HorizontalPodAutoscaler",
    "PodDisruptionBudget",
)


class ClusterError(Exception):
    """Why a cluster cannot be read: one message with its place (line and column count from 1; 0: no place)."""

    def __init__(self, path: str, line: int, column: int, message: str) -> None:
        message = one_line(message)
        place = f"{path}:{line}:{column}" if line else path
        super().__init__(f"{place}: {message}")
        self.path = path
        self.line = line
        self.column = column
        self.message = message


@frozen_record
class Cluster:
    """What a snapshot, kubectl's output or a sketch tells.

    ``kinds`` are those that it holds: a kind outside is unknown, not absent. ``captured_at`` is RFC 3339, empty when
    nothing tells; for kubectl's output it is the newest time found inside, so the capture is no older than that.
    """

    inventory: Inventory = field(default_factory=Inventory)
    path: str = ""
    origin: str = "kubectl"
    """``snapshot`` (our own file), ``kubectl`` or ``sketch``."""
    kinds: frozenset[str] = frozenset()
    captured_at: str = ""
    version: str = ""
    """Of Kubernetes, ``v1.36.2``, where known."""
    gaps: tuple[str, ...] = ()
    """What could not be captured, as sentences: ``pods: forbidden (403)``."""
    elastic_because: str = ""
    """What shows that nodes are made and removed by an autoscaler: a label, a word of the sketch, or --elastic."""
    unread_kinds: Mapping[str, int] = field(default_factory=dict)
    pools_written: bool = False
    """Somebody wrote down the pools (a sketch, NodeGroups), so that there are no others."""
    source: Source | None = field(default=None, compare=False)
    """Of a sketch: resolves ``Node.path``."""

    def has(self, kind: str) -> bool:
        """Whether all objects of the kind are known, though there may be none."""
        return kind in self.kinds

    @property
    def knows_nodes(self) -> bool:
        """Whether the nodes were captured, though there may be none; False where a snapshot could not list them."""
        return self.has("Node") or (self.origin != "snapshot" and bool(self.inventory.node_pools))

    @cached_property
    def stranded(self) -> tuple[BoundPod, ...]:
        """Running pods on nodes that the cluster does not hold."""
        if not self.knows_nodes:
            return ()
        names = {node.name for node in self.inventory.nodes}
        return tuple(pod for pod in self.inventory.pods if pod.node and pod.node not in names)

    @property
    def is_elastic(self) -> bool:
        """Whether nodes may appear that neither the snapshot nor a known pool tells of."""
        return self.is_elastic_beside(())

    def is_elastic_beside(self, pools: Iterable[NodePool]) -> bool:
        """The same when ``pools`` are known too: a node whose pool is known needs no guess."""
        nodes = self.inventory.nodes
        if self.elastic_because.startswith(ASKED):
            return any(node.elastic for node in nodes)
        if self.pools_written:
            return False
        known = {pool.name for pool in (*self.inventory.node_pools, *pools)}
        return any(node.elastic and node.labels.get(NODE_POOL) not in known for node in nodes)

    @property
    def resources_known(self) -> bool:
        """Whether every node tells its allocatable resources."""
        return all(node.allocatable is not None for node in self.inventory.nodes)

    @cached_property
    def passing(self) -> tuple[Passing, ...]:
        """Nodes that are cordoned or carry a taint that will go by itself."""
        return tuple(filter(None, map(passing_of, self.inventory.nodes)))

    def settled(self) -> Cluster:
        """The cluster when all that is passing has passed; itself when nothing is."""
        if not self.passing:
            return self
        nodes = tuple(map(settled_node, self.inventory.nodes))
        return replace(self, inventory=replace(self.inventory, nodes=nodes))

    @property
    def passing_premise(self) -> str:
        """What a verdict on the unsettled cluster assumes."""
        return f"what is passing today lasts: {_listed(map(str, self.passing))}"

    @property
    def elastic_premise(self) -> str:
        """What a proof about the nodes of an elastic cluster assumes."""
        return f"no autoscaler adds a node (nodes count as elastic: {self.elastic_because}; --fixed if none does)"

    @cached_property
    def running(self) -> Running:
        """Who owns the running pods."""
        from kubesched_lint.cluster.running import Running

        return Running(self.inventory)

    @property
    def notes(self) -> tuple[str, ...]:
        """Lines for the footer: what is passing, and why nodes count as elastic."""
        return self.notes_beside(())

    def notes_beside(self, pools: Iterable[NodePool]) -> tuple[str, ...]:
        """The same when ``pools`` are known too."""
        return tuple(self._notes(pools))

    def _notes(self, pools: Iterable[NodePool]) -> Iterator[str]:
        if not self.knows_nodes:
            yield "the snapshot holds no nodes (they were not captured): nothing is said of where pods run"
        if self.stranded:
            few = (f"{pod.namespace}/{pod.name} on {pod.node}" for pod in self.stranded)
            count = len(self.stranded)
            are = f"{many(count, 'running pod')} {plural(count, 'is', 'are')}"
            yield f"{are} on nodes that the cluster does not hold, and count nowhere: {_listed(few)}"
        if self.passing:
            count = len(self.passing)
            yield (
                f"{count} of {len(self.inventory.nodes)} nodes {plural(count, 'is', 'are')} in a passing state "
                f"({_listed(map(str, self.passing))}): errors do not rest on it"
            )
        if self.is_elastic_beside(pools):
            yield f"nodes count as elastic: {self.elastic_because}; proofs about today's nodes are warnings (--fixed)"

    def describe(self, now: datetime) -> str:
        """One sentence for the footer: what it is, how old at ``now`` (timezone-aware), and what it lacks."""
        return self.description.at(now)

    @property
    def description(self) -> Description:
        """The same without the moment at which it is read."""
        parts = [f"{many(len(self.inventory.nodes), 'node')}"]
        if self.has("Pod"):
            parts.append(many(len(self.inventory.pods), "pod"))
        if self.inventory.node_pools:
            parts.append(many(len(self.inventory.node_pools), "pool"))
        what = f"{joined(parts)} from {self.path or 'a cluster'}"
        if self.origin == "sketch":
            what += " (a sketch)"
        lacks = ""
        held = [kind for kind in _WANTED if self.has(kind)]
        if len(held) <= len(_WANTED) // 2:
            lacks += f"; holds only {', '.join(held) or 'what no rule reads'}"
        elif len(held) < len(_WANTED):
            lacks += f"; holds no {', '.join(kind for kind in _WANTED if kind not in held)}"
        if self.gaps:
            lacks += f"; gaps: {'; '.join(self.gaps)}"
        return Description(what, lacks, self.captured_at, self.origin == "snapshot")


@frozen_record
class Description:
    """What a snapshot is and lacks. ``captured_at`` is exact, or the time of the newest entry; empty when unknown."""

    what: str
    lacks: str
    captured_at: str
    exact: bool

    def at(self, now: datetime) -> str:
        age = f", {_age(self.captured_at, now, exact=self.exact)}" if self.captured_at else ""
        return f"{self.what}{age}{self.lacks}"


def _listed(texts: Iterator[str], most: int = 3) -> str:
    """The first few, and how many more."""
    return first_few(list(texts), most, "; ")


def _age(captured_at: str, now: datetime, *, exact: bool) -> str:
    from datetime import UTC, datetime

    try:
        then = datetime.fromisoformat(captured_at)
    except ValueError:
        return f"captured at {captured_at}"
    seconds = int((now - (then if then.tzinfo else then.replace(tzinfo=UTC))).total_seconds())
    if seconds < -300:
        return f"captured at {captured_at}, which is in the future"
    for name, size in (("day", 86400), ("hour", 3600), ("minute", 60)):
        if seconds >= 2 * size:
            return f"{'captured' if exact else 'newest entry'} {seconds // size} {name}s ago"
    return "captured just now" if exact else "newest entry just now"
