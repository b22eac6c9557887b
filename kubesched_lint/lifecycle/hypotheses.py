"""What a user supposes to happen to the deployed set: nodes go, come or change, and workloads change at that moment.

The nodes change first, then the workloads, and nothing moves in between. An upgrade of nodes begins when all pods have
settled.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from msgspec import Struct, field
from msgspec.structs import replace

from kubesched_lint.cluster.index import NodeIndex
from kubesched_lint.lifecycle.limits import MOST_COMBINED
from kubesched_lint.model.inventory import Inventory
from kubesched_lint.model.node import Node, Taint
from kubesched_lint.model.pod import BoundPod, Pod
from kubesched_lint.model.storage import CSINode
from kubesched_lint.scheduler.tolerance import tolerates

Names = frozenset[str]


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
    tainted: tuple[tuple[Names, Taint], ...] = ()
    unlabelled: tuple[tuple[Names, str], ...] = ()
    added: tuple[Newcomer, ...] = ()

    def index(self, before: NodeIndex) -> NodeIndex:
        """Return the index of the nodes afterwards: those that stay, in their order, then those that come."""
        return NodeIndex(tuple(self.nodes(before.nodes)), before.device_resources)

    def nodes(self, before: Iterable[Node]) -> Iterator[Node]:
        """Yield the nodes afterwards."""
        is_changed = bool(self.tainted or self.unlabelled)
        for node in before:
            if node.name not in self.lost:
                yield self._changed(node) if is_changed else node
        for newcomer in self.added:
            yield self._changed(newcomer.node)

    def _changed(self, node: Node) -> Node:
        taints = tuple(t for names, t in self.tainted if node.name in names and t not in node.taints)
        dropped = {key for names, key in self.unlabelled if node.name in names and key in node.labels}
        if not taints and not dropped:
            return node
        # A taint with the key and the effect of another one replaces it (AddOrUpdateTaint).
        new = {(t.key, t.effect) for t in taints}
        kept = tuple(t for t in node.taints if (t.key, t.effect) not in new)
        labels = {key: value for key, value in node.labels.items() if key not in dropped}
        return replace(node, taints=(*kept, *taints), labels=labels)

    def objects(self, before: Inventory) -> Inventory:
        """Return the objects of the cluster afterwards; pods of others leave their nodes as all pods do."""
        pods = tuple(bound for bound in before.pods if not self.evicts(bound.pod, bound.node))
        if len(pods) == len(before.pods) and not self.added:
            return before
        return replace(
            before,
            pods=(*pods, *(bound for newcomer in self.added for bound in newcomer.pods)),
            csi_nodes=(*before.csi_nodes, *(one for newcomer in self.added for one in newcomer.drivers)),
        )

    @property
    def touched(self) -> Names:
        """The names of the nodes that do not stay as they are."""
        parts = (self.lost, *(names for names, _ in self.tainted), *(names for names, _ in self.unlabelled))
        return frozenset().union(*parts)

    @property
    def deletes(self) -> bool:
        """Whether pods may be deleted: those of lost nodes, and those that a NoExecute taint evicts."""
        return bool(self.lost) or any(taint.effect == "NoExecute" for _, taint in self.tainted)

    def evicts(self, pod: Pod, node: str) -> bool:
        """Return whether a pod must leave this node, at once or when its tolerations end.

        A pod stays only if it tolerates each NoExecute taint without a limit. Mirrors processPodOnNode and
        getMinTolerationTime of ``pkg/controller/tainteviction/taint_eviction.go`` (v1.36).
        """
        if node in self.lost:
            return True
        return any(node in names and leaves(pod, taint) for names, taint in self.tainted)


def leaves(pod: Pod, taint: Taint) -> bool:
    """Return whether a taint on its node makes a pod leave, at once or when a toleration ends."""
    if taint.effect != "NoExecute":
        return False
    used = [t for t in pod.tolerations if tolerates(t, taint)]
    return not used or any(t.seconds is not None for t in used)


def stays_for_a_while(pod: Pod, taint: Taint) -> int:
    """Return for how many seconds a pod tolerates a taint that makes it leave; 0 if it leaves at once."""
    used = [t for t in pod.tolerations if tolerates(t, taint)] if taint.effect == "NoExecute" else []
    return max(0, min((t.seconds for t in used if t.seconds is not None), default=0))


class Hypothesis(Struct, frozen=True):
    """One column of the matrix: everything that it supposes happens to one deployed set."""

    event: str
    """Its name, as ``lose zone=a``."""
    change: NodeChange = field(default_factory=NodeChange)
    sizes: Mapping[int, int] = field(default_factory=dict)
    """Place in the setting → number of replicas to which a workload is scaled."""
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


def together(event: str, parts: Iterable[Hypothesis]) -> Hypothesis:
    """Return the hypothesis that all parts happen at once; new nodes are tainted as the nodes that they resemble."""
    parts = tuple(parts)
    changes = [part.change for part in parts]
    added = tuple(newcomer for c in changes for newcomer in c.added)

    def with_added(names: Names) -> Names:
        return names | {newcomer.node.name for newcomer in added if newcomer.like in names}

    change = NodeChange(
        frozenset().union(*(c.lost for c in changes)),
        tuple(dict.fromkeys((with_added(names), taint) for c in changes for names, taint in c.tainted)),
        tuple(dict.fromkeys((with_added(names), key) for c in changes for names, key in c.unlabelled)),
        added,
    )
    return Hypothesis(
        event,
        change,
        {number: size for part in parts for number, size in part.sizes.items()},
        any(part.rolls for part in parts),
        tuple(dict.fromkeys(name for part in parts for name in part.upgraded)),
    )
