"""A DaemonSet keeps one pod on each node that its template selects and tolerates; node affinity pins the pod there.

Mirrors ``pkg/controller/daemon/{daemon_controller,update}.go`` and ``util/daemonset_util.go`` (v1.36).
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import NamedTuple

from msgspec.structs import replace

from kubesched_lint.engine.cluster.nodes.index import NodeIndex
from kubesched_lint.engine.cluster.nodeset import EMPTY, NodeSet, positions
from kubesched_lint.engine.controllers.bounds import daemon_bounds
from kubesched_lint.engine.model.labels import Requirement
from kubesched_lint.engine.model.pod import NodeSelectorTerm, Pod, Toleration
from kubesched_lint.engine.model.workloads.workload import Strategy
from kubesched_lint.engine.scheduler.tolerance import repelled

_TAINTS = (
    ("node.kubernetes.io/not-ready", "NoExecute"),
    ("node.kubernetes.io/unreachable", "NoExecute"),
    ("node.kubernetes.io/disk-pressure", "NoSchedule"),
    ("node.kubernetes.io/memory-pressure", "NoSchedule"),
    ("node.kubernetes.io/pid-pressure", "NoSchedule"),
    ("node.kubernetes.io/unschedulable", "NoSchedule"),
    ("node.kubernetes.io/network-unavailable", "NoSchedule"),
)
_TOLERATED_ON_HOST_NETWORK = tuple(Toleration(key, "Exists", "", effect) for key, effect in _TAINTS)
_TOLERATED = _TOLERATED_ON_HOST_NETWORK[:-1]


def with_daemon_tolerations(pod: Pod) -> Pod:
    """Return the pod with the tolerations that the controller adds (AddOrUpdateDaemonPodTolerations)."""
    added = _TOLERATED_ON_HOST_NETWORK if pod.host_network else _TOLERATED
    replaced = {(t.key, t.effect) for t in added}
    kept = tuple(t for t in pod.tolerations if (t.key, t.effect) not in replaced)
    written = None if pod.as_written is None else with_daemon_tolerations(pod.as_written)
    return replace(pod, tolerations=kept + added, as_written=written)


def pinned(pod: Pod, node: str) -> Pod:
    """Return the pod for one node: its required node affinity is replaced (ReplaceDaemonSetPodNodeNameNodeAffinity)."""
    node_term = NodeSelectorTerm(fields=(Requirement("metadata.name", "In", (node,)),))
    return replace(pod, required_node_terms=(node_term,))


def pinned_to(pod: Pod) -> str:
    """Return the node for which the controller created the pod, from its affinity; empty if it names none."""
    for term in pod.required_node_terms or ():
        for field in term.fields:
            if field.key == "metadata.name" and field.operator == "In" and len(field.values) == 1:
                return field.values[0]
    return ""


def targets(pod: Pod, index: NodeIndex) -> tuple[NodeSet, NodeSet]:
    """Return the nodes that should get a pod, and the nodes on which an existing pod may stay (nodeShouldRunDaemonPod).

    ``pod`` has the daemon tolerations. The controller reads the template: it knows nothing of its RuntimeClass.
    """
    pod = pod.as_written or pod
    matching = index.matching(pod.node_selector, pod.required_node_terms)
    if pod.node_name:
        matching &= index.named([pod.node_name])
    leaving = repelled(index, pod.tolerations, effects=("NoExecute",))
    return matching & ~repelled(index, pod.tolerations), matching & ~leaving


def made_for(pod: Pod, index: NodeIndex) -> NodeSet:
    """Return the nodes for which the controller makes a pod; ``pod`` is stored as any other."""
    return targets(with_daemon_tolerations(pod), index)[0]


def hosts(pod: Pod, index: NodeIndex) -> NodeSet:
    """Return the nodes that get a pod and whose labels are those that its RuntimeClass selects, too."""
    return targets(pod, index)[0] & index.matching(pod.node_selector, pod.required_node_terms)


class OnNode(NamedTuple):
    """Numbers of a DaemonSet's pods that belong to one node: bound and waiting, of old revisions and of the newest."""

    old: int = 0
    old_waiting: int = 0
    new: int = 0
    new_waiting: int = 0

    @property
    def some_old(self) -> bool:
        return bool(self.old or self.old_waiting)

    @property
    def some_new(self) -> bool:
        return bool(self.new or self.new_waiting)

    @property
    def is_crowded(self) -> bool:
        """Whether there are two of one side: an update leaves the node to the manage loop (findUpdatedPodsOnNode)."""
        return self.old + self.old_waiting > 1 or self.new + self.new_waiting > 1


class DaemonSetSync(NamedTuple):
    """The actions of one sync: nodes that get a pod of the newest revision, and (node, ``old``, ``new`` or ``all``) to
    delete.
    """

    create: tuple[int, ...] = ()
    delete: tuple[tuple[int, str], ...] = ()


Nodes = Mapping[OnNode, NodeSet]
"""Pods that belong to a node → nodes with these pods; includes the nodes that should get a pod."""


def manage(nodes: Nodes, run: NodeSet, stay: NodeSet, strategy: Strategy) -> DaemonSetSync:
    """Return the result of the manage loop: a pod on each node that should have one, no pod where none may stay.

    Mirrors podsShouldBeOnNode. As upstream, a deleted pod is replaced in the next sync.
    """
    surging = strategy.type == "RollingUpdate" and bool(daemon_bounds(strategy, 1)[0])
    create = emptied = outdated = EMPTY
    for pods, alike in nodes.items():
        if pods.some_old or pods.some_new:
            emptied |= alike & ~stay
        else:
            create |= alike & run
        if surging and pods.some_old and pods.some_new and (not pods.old or pods.new):
            outdated |= alike & stay
    delete = *((p, "all") for p in positions(emptied)), *((p, "old") for p in positions(outdated))
    return DaemonSetSync(tuple(positions(create)), tuple(sorted(delete)))


def excess(nodes: Nodes, stay: NodeSet, strategy: Strategy) -> NodeSet:
    """Return the nodes with more pods than one, or with surge more than one old and one new: all but the oldest go.

    Mirrors podsShouldBeOnNode. A node has so many if the DaemonSet adopts pods, or if it surged before.
    """
    surging = strategy.type == "RollingUpdate" and bool(daemon_bounds(strategy, 1)[0])
    crowded = EMPTY
    for pods, alike in nodes.items():
        if pods.is_crowded or (not surging and pods.some_old and pods.some_new):
            crowded |= alike & stay
    return crowded


def update(nodes: Nodes, run: NodeSet, strategy: Strategy) -> tuple[DaemonSetSync, NodeSet, int]:
    """Return the certain actions of a rolling update, the nodes that it may choose from, and how many it chooses.

    Without surge it chooses old pods to delete; with surge, nodes on which to create a second pod.
    """
    if strategy.type != "RollingUpdate":
        return DaemonSetSync(), EMPTY, 0
    desired = run.bit_count()
    surge, unavailable = daemon_bounds(strategy, desired)
    if not surge:
        return _without_surge(nodes, unavailable)
    return _with_surge(nodes, run, surge, desired)


def _without_surge(nodes: Nodes, most: int) -> tuple[DaemonSetSync, NodeSet, int]:
    missing = 0
    replaced = candidates = EMPTY
    for pods, alike in nodes.items():
        if pods.is_crowded or pods.some_old == pods.some_new:
            missing += alike.bit_count()
        elif pods.some_new:
            missing += 0 if pods.new else alike.bit_count()
        elif not pods.old:
            replaced |= alike
            missing += alike.bit_count()
        else:
            candidates |= alike
    sure = DaemonSetSync(delete=tuple((p, "old") for p in positions(replaced)))
    return sure, candidates, min(max(most - missing, 0), candidates.bit_count())


def _with_surge(nodes: Nodes, run: NodeSet, surge: int, desired: int) -> tuple[DaemonSetSync, NodeSet, int]:
    surging = available = 0
    create = candidates = delete = sunset = EMPTY
    for pods, alike in nodes.items():
        if pods.is_crowded:
            surging += alike.bit_count()
            continue
        if pods.old if pods.some_old else pods.new:
            available += alike.bit_count()
        if not pods.some_old:
            continue
        if pods.some_new:
            if pods.new:
                delete |= alike
            else:
                surging += alike.bit_count()
        elif pods.old:
            sunset |= alike & ~run
            candidates |= alike & run
        else:
            delete |= alike & ~run
            create |= alike & run
    gone = (*positions(delete), *islice(positions(sunset), max(available - desired, 0)))
    sure = DaemonSetSync(tuple(positions(create)), tuple((p, "old") for p in gone))
    return sure, candidates, min(max(surge - surging, 0), candidates.bit_count())
