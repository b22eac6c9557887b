"""A DaemonSet keeps one pod on each node that its template selects and tolerates, pinned there by node affinity.

Mirrors ``pkg/controller/daemon/{daemon_controller,update}.go`` and ``util/daemonset_util.go`` (v1.36).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from kubesched_lint.cluster.index import NodeIndex
from kubesched_lint.cluster.nodeset import NodeSet, of
from kubesched_lint.controllers.bounds import daemon_bounds
from kubesched_lint.model.labels import Requirement
from kubesched_lint.model.pod import NodeSelectorTerm, Pod, Toleration
from kubesched_lint.model.workload import Strategy
from kubesched_lint.record import replace
from kubesched_lint.scheduler.framework import untolerated_taint

_TOLERATED = (
    ("node.kubernetes.io/not-ready", "NoExecute"),
    ("node.kubernetes.io/unreachable", "NoExecute"),
    ("node.kubernetes.io/disk-pressure", "NoSchedule"),
    ("node.kubernetes.io/memory-pressure", "NoSchedule"),
    ("node.kubernetes.io/pid-pressure", "NoSchedule"),
    ("node.kubernetes.io/unschedulable", "NoSchedule"),
)
_NETWORK_UNAVAILABLE = ("node.kubernetes.io/network-unavailable", "NoSchedule")


def with_daemon_tolerations(pod: Pod) -> Pod:
    """The pod with the tolerations that the controller adds (AddOrUpdateDaemonPodTolerations)."""
    keys = (*_TOLERATED, _NETWORK_UNAVAILABLE) if pod.host_network else _TOLERATED
    added = tuple(Toleration(key, "Exists", "", effect) for key, effect in keys)
    kept = tuple(t for t in pod.tolerations if (t.key, t.effect) not in keys)
    return replace(pod, tolerations=kept + added)


def pinned(pod: Pod, node: str) -> Pod:
    """The pod for one node: its required node affinity is replaced (ReplaceDaemonSetPodNodeNameNodeAffinity)."""
    here = NodeSelectorTerm(fields=(Requirement("metadata.name", "In", (node,)),))
    return replace(pod, required_node_terms=(here,))


def pinned_to(pod: Pod) -> str:
    """The node that a pod was made for, as its affinity has it; empty where it names none."""
    for term in pod.required_node_terms or ():
        for field in term.fields:
            if field.key == "metadata.name" and field.operator == "In" and len(field.values) == 1:
                return field.values[0]
    return ""


def targets(pod: Pod, index: NodeIndex) -> tuple[NodeSet, NodeSet]:
    """Nodes that should get a pod, and nodes where one that is there may stay (nodeShouldRunDaemonPod).

    ``pod`` is the template's, with the daemon tolerations.
    """
    matching = index.matching(pod.node_selector, pod.required_node_terms)
    if pod.node_name:
        matching &= index.named([pod.node_name])
    run, stay = [], []
    for position, node in enumerate(index.nodes):
        if not matching >> position & 1:
            continue
        if untolerated_taint(pod, node) is None:
            run.append(position)
            stay.append(position)
        else:
            lasting = replace(node, taints=tuple(t for t in node.taints if t.effect == "NoExecute"))
            if untolerated_taint(pod, lasting) is None:
                stay.append(position)
    return of(run), of(stay)


class OnNode(NamedTuple):
    """The pods of a DaemonSet that belong to one node: counts of bound and of waiting ones, old and newest revision."""

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
    def is_done(self) -> bool:
        """A pod of the newest revision runs, and none is old: where no pod surges, no sync looks at such a node."""
        return bool(self.new) and not self.old and not self.old_waiting


class DaemonSetSync(NamedTuple):
    """Per node: pods of the newest revision to create, and which to delete (``old``, ``new`` or ``all``)."""

    create: tuple[int, ...] = ()
    delete: tuple[tuple[int, str], ...] = ()


def manage(nodes: Mapping[int, OnNode], run: NodeSet, stay: NodeSet, strategy: Strategy) -> DaemonSetSync:
    """The manage loop: a pod on every node that should have one, none where none may stay (podsShouldBeOnNode).

    Creating in place of a deleted pod is left to the next call, as upstream does.
    """
    surging = strategy.type == "RollingUpdate" and bool(daemon_bounds(strategy, 1)[0])
    create, delete = [], []
    for node, pods in nodes.items():
        here = 1 << node
        if run & here and not (pods.some_old or pods.some_new):
            create.append(node)
        elif not stay & here:
            if pods.some_old or pods.some_new:
                delete.append((node, "all"))
        elif surging and pods.some_old and pods.some_new and (not pods.old or pods.new):
            delete.append((node, "old"))
    return DaemonSetSync(tuple(create), tuple(delete))


def update(nodes: Mapping[int, OnNode], run: NodeSet, strategy: Strategy) -> tuple[DaemonSetSync, tuple[int, ...], int]:
    """The rolling update: what it surely does, the nodes it may choose from, and how many of them it takes.

    Without surge the choice is of old pods to delete; with surge, of nodes to create a second pod on.
    """
    if strategy.type != "RollingUpdate":
        return DaemonSetSync(), (), 0
    desired = run.bit_count()
    surge, unavailable = daemon_bounds(strategy, desired)
    if not surge:
        return _without_surge(nodes, unavailable)
    return _with_surge(nodes, run, surge, desired)


def _without_surge(nodes: Mapping[int, OnNode], most: int) -> tuple[DaemonSetSync, tuple[int, ...], int]:
    missing = 0
    replaced, candidates = [], []
    for node, pods in nodes.items():
        if pods.some_old == pods.some_new:
            missing += 1
        elif pods.some_new:
            missing += not pods.new
        elif not pods.old:
            replaced.append((node, "old"))
            missing += 1
        else:
            candidates.append(node)
    return DaemonSetSync(delete=tuple(replaced)), tuple(candidates), min(max(most - missing, 0), len(candidates))


def _with_surge(
    nodes: Mapping[int, OnNode], run: NodeSet, surge: int, desired: int
) -> tuple[DaemonSetSync, tuple[int, ...], int]:
    surging = available = 0
    create, candidates = [], []
    delete: list[tuple[int, str]] = []
    sunset: list[tuple[int, str]] = []
    for node, pods in nodes.items():
        available += bool(pods.old) if pods.some_old else bool(pods.new)
        if not pods.some_old:
            continue
        if pods.some_new:
            if pods.new:
                delete.append((node, "old"))
            else:
                surging += 1
        elif not run >> node & 1:
            (sunset if pods.old else delete).append((node, "old"))
        elif not pods.old:
            create.append(node)
        else:
            candidates.append(node)
    delete += sunset[: max(available - desired, 0)]
    return DaemonSetSync(tuple(create), tuple(delete)), tuple(candidates), min(max(surge - surging, 0), len(candidates))
