"""What a user supposes to happen to the deployed set: nodes go, come or change, and workloads change at that moment.

The nodes change first, then the workloads, and nothing moves in between. An upgrade of nodes begins when all pods have
settled.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from kubesched_lint.engine.admission.mutating import EVICTION_TAINTS
from kubesched_lint.engine.base import work
from kubesched_lint.engine.base.identity import Itself
from kubesched_lint.engine.cluster.nodes.index import NodeIndex
from kubesched_lint.engine.events.limits import MOST_COMBINED
from kubesched_lint.engine.model.inventory import Inventory
from kubesched_lint.engine.model.nodes.node import REGION, ZONE, Node, Taint
from kubesched_lint.engine.model.pod import BoundPod, Pod
from kubesched_lint.engine.model.storage import CSINode
from kubesched_lint.engine.scheduler.tolerance import UNREACHABLE, leaves

Names = frozenset[str]
_LARGE_ZONE, _PARTLY_OUT = 50, 0.55
"""The defaults of --large-cluster-size-threshold, asked of each zone, and of --unhealthy-zone-threshold."""
_EACH = 3
"""Steps of ``work`` that the loss of nodes costs for each node: its zone is looked at, and its index is made anew."""


class Newcomer(Struct, frozen=True):
    """A node that joins, with the pods that the DaemonSets of others run on it."""

    node: Node
    like: str
    """The name of the node that it resembles: a change of that node concerns this one too."""
    pods: tuple[BoundPod, ...] = ()
    drivers: tuple[CSINode, ...] = ()


class NodeChange(Struct, frozen=True):
    """How the nodes of a cluster change at one moment. Nodes are given by name."""

    lost: Names = frozenset()
    """Their Node objects and their pods are deleted."""
    tainted: tuple[tuple[Names, Taint], ...] = ()
    unlabelled: tuple[tuple[Names, str], ...] = ()
    added: tuple[Newcomer, ...] = ()
    unreachable: Names = frozenset()
    """Nobody hears of them any more: their Node objects stay, with taints, and nobody there ends their pods."""
    halted: Names = frozenset()
    """Those of ``unreachable`` from which nothing is evicted (see ``with_halted``)."""

    @property
    def key(self) -> Hashable:
        """Return what changes of equal nodes have in common if they make the same of them."""
        is_loss = not (self.tainted or self.unlabelled or self.added)
        return (self.lost, self.unreachable) if is_loss else Itself(self)

    def index(self, before: NodeIndex) -> NodeIndex:
        """Return the index of the nodes afterwards: those that stay, in their order, then those that come."""
        return NodeIndex(tuple(self.nodes(before.nodes)), before.device_resources)

    def nodes(self, before: Iterable[Node]) -> Iterator[Node]:
        """Yield the nodes afterwards."""
        is_changed = bool(self.tainted or self.unlabelled or self.unreachable)
        for node in before:
            if node.name not in self.lost:
                yield self._changed(node) if is_changed else node
        for newcomer in self.added:
            yield self._changed(newcomer.node)

    def _changed(self, node: Node) -> Node:
        taints = tuple(t for t in self._new_taints(node.name) if t not in node.taints)
        dropped = {key for names, key in self.unlabelled if node.name in names and key in node.labels}
        if not taints and not dropped:
            return node
        # A taint with the key and the effect of another one replaces it (AddOrUpdateTaint).
        new = {(t.key, t.effect) for t in taints}
        kept = tuple(t for t in node.taints if (t.key, t.effect) not in new)
        labels = {key: value for key, value in node.labels.items() if key not in dropped}
        return replace(node, taints=(*kept, *taints), labels=labels)

    def _new_taints(self, node: str) -> Iterator[Taint]:
        yield from (taint for names, taint in self.tainted if node in names)
        yield from UNREACHABLE if node in self.unreachable else ()

    def objects(self, before: Inventory) -> Inventory:
        """Return the objects of the cluster afterwards; pods of others leave their nodes as all pods do."""
        evicted = frozenset(bound for bound in before.pods if self.evicts(bound.pod, bound.node))
        if not evicted and not self.added:
            return before
        pods = (
            bound if bound not in evicted else replace(bound, terminating=True)
            for bound in before.pods
            if bound not in evicted or bound.node in self.unreachable
        )
        return before.with_pods(
            (*pods, *(bound for newcomer in self.added for bound in newcomer.pods)),
            csi_nodes=(*before.csi_nodes, *(driver for newcomer in self.added for driver in newcomer.drivers)),
        )

    @property
    def touched(self) -> Names:
        """The names of the nodes that do not stay as they are."""
        parts = (
            self.lost,
            self.unreachable,
            *(names for names, _ in self.tainted),
            *(names for names, _ in self.unlabelled),
        )
        return frozenset().union(*parts)

    @property
    def deletes(self) -> bool:
        """Whether pods may be deleted: those of lost nodes, and those that a NoExecute taint evicts."""
        return bool(self.lost or self.unreachable) or any(taint.effect == "NoExecute" for _, taint in self.tainted)

    def evicts(self, pod: Pod, node: str) -> bool:
        """Return whether a pod must leave this node, at once or when its tolerations end.

        A pod stays only if it tolerates each NoExecute taint without a limit. Mirrors processPodOnNode and
        getMinTolerationTime of ``pkg/controller/tainteviction/taint_eviction.go`` (v1.36).
        """
        if node in self.lost:
            return True
        if (
            node in self.unreachable
            and node not in self.halted
            and any(leaves(pod.tolerations, taint) for taint in UNREACHABLE)
        ):
            return True
        return any(node in names and leaves(pod.tolerations, taint) for names, taint in self.tainted)


def made_unreachable(names: Iterable[str], nodes: Sequence[Node]) -> NodeChange:
    """Return the change in which nodes report no more."""
    return with_halted(NodeChange(unreachable=frozenset(names)), nodes)


def with_halted(change: NodeChange, nodes: Sequence[Node]) -> NodeChange:
    """Return the change of these nodes with those from which nothing is evicted.

    The controller stops while every zone is out. It also stops in a zone in which more than two nodes are out, 55 % or
    more but not all, unless it is large (``pkg/controller/nodelifecycle``, ComputeZoneState, ReducedQPSFunc).
    """
    work.spend(_EACH * len(nodes))
    out, zones = change.unreachable, dict[tuple[str, str], list[Node]]()
    only_out = not (change.lost or change.tainted or change.unlabelled or change.added)
    for node in nodes if only_out else change.nodes(nodes):
        zones.setdefault((node.labels.get(REGION, ""), node.labels.get(ZONE, "")), []).append(node)
    down = {zone: [n for n in own if n.name in out or not _is_ready(n)] for zone, own in zones.items()}
    if all(len(down[zone]) == len(own) for zone, own in zones.items()):
        return replace(change, halted=out)
    halted = (node for zone, own in zones.items() if _is_partly_out(len(down[zone]), len(own)) for node in own)
    return replace(change, halted=out.intersection(node.name for node in halted))


def _is_ready(node: Node) -> bool:
    return not any(taint.key in EVICTION_TAINTS for taint in node.taints)


def _is_partly_out(down: int, nodes: int) -> bool:
    return 2 < down < nodes <= _LARGE_ZONE and down >= _PARTLY_OUT * nodes


class Hypothesis(Struct, frozen=True):
    """One column of the matrix: everything that it supposes happens to one deployed set."""

    event: str
    """Its name, as ``lose zone=a``."""
    change: NodeChange = field(default_factory=NodeChange)
    sizes: Mapping[int, int] = field(default_factory=dict)
    """Place in the set → number of replicas to which a workload is scaled."""
    rolls: bool = False
    """Every workload gets a changed template."""
    upgraded: tuple[str, ...] = ()
    """The names of nodes that are drained and replaced, one after another, in any order."""

    @property
    def has_few_orders(self) -> bool:
        """Whether a search can upgrade the nodes in every order."""
        return len(self.upgraded) <= MOST_COMBINED

    @property
    def parts(self) -> frozenset[str]:
        """The ordinary events that it contains."""
        parts = {"rollout": self.rolls, "drain": bool(self.upgraded), "node-loss": self.change.deletes}
        return frozenset(event for event, is_part in parts.items() if is_part)


def together(event: str, parts: Iterable[Hypothesis], nodes: Sequence[Node]) -> Hypothesis:
    """Return the hypothesis that all parts happen at once; new nodes are tainted as the nodes that they resemble.

    ``nodes``: as they are before.
    """
    parts = tuple(parts)
    changes = [part.change for part in parts]
    added = tuple(newcomer for c in changes for newcomer in c.added)

    def with_added(names: Names) -> Names:
        return names | {newcomer.node.name for newcomer in added if newcomer.like in names}

    lost = frozenset[str]().union(*(c.lost for c in changes))
    change = NodeChange(
        lost,
        tuple(dict.fromkeys((with_added(names), taint) for c in changes for names, taint in c.tainted)),
        tuple(dict.fromkeys((with_added(names), key) for c in changes for names, key in c.unlabelled)),
        added,
        frozenset().union(*(c.unreachable for c in changes)) - lost,
    )
    return Hypothesis(
        event,
        with_halted(change, nodes),
        {number: size for part in parts for number, size in part.sizes.items()},
        any(part.rolls for part in parts),
        tuple(dict.fromkeys(name for part in parts for name in part.upgraded)),
    )
