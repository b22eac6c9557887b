"""Waiting pods that found no node, and need no retry until an event may open a node to them.

A new pod opens a node only to pods that need it: by required affinity, or by a hard spread whose least domain it may
raise. A deleted pod opens its own node, and other nodes to pods that it repels or that repel it.
"""

from __future__ import annotations

from kubesched_lint import work
from kubesched_lint.cluster.nodeset import NodeSet
from kubesched_lint.cluster.state import ClusterState
from kubesched_lint.lifecycle.hints import AFFINITY, SPREAD
from kubesched_lint.model.pod import Pod
from kubesched_lint.scheduler.framework import Diagnosis
from kubesched_lint.scheduler.plugins.inter_pod_affinity import selects_incoming

ANYWHERE = -1


class Hopeless:
    """A cache of pods without a node; callers must report each pod that comes or goes.

    A node rejects a pod by its first reason: while that is room or a port, another pod cannot help there.
    """

    def __init__(self, cluster: ClusterState) -> None:
        self._cluster = cluster
        self._alone: dict[int, set[tuple[int, int]]] = {}
        """Position or ANYWHERE → (kind, position) of waiting pods that only the departure of a pod there can help."""
        self._sociable: dict[int, set[int]] = {}
        """Kind → positions of its waiting pods (the pinned node or ANYWHERE), for pods that depend on other pods."""
        self._pods: dict[int, Pod] = {}

    def add(self, kind: int, pod: Pod, position: int, found: Diagnosis) -> None:
        """Record that pods of a kind, pinned to ``position`` if that is a node, found no node."""
        if pod.volumes or found.refusal is not None:
            return
        plugins = {r.plugin for r in found.rejections}
        if plugins.isdisjoint((AFFINITY, SPREAD)):
            self._alone.setdefault(position, set()).add((kind, position))
        elif pod.required_affinity or any(c.is_hard for c in pod.spread):
            self._pods[kind] = pod
            self._sociable.setdefault(kind, set()).add(position)
        else:
            self._alone.setdefault(ANYWHERE, set()).add((kind, position))

    def has(self, kind: int, position: int) -> bool:
        key = kind, position
        return (
            position in self._sociable.get(kind, ())
            or key in self._alone.get(position, ())
            or key in self._alone.get(ANYWHERE, ())
        )

    def comes(self, pod: Pod, position: int) -> None:
        """Record that a pod is bound to a node."""
        work.spend(len(self._sociable))
        for kind, waiting in self._sociable.items():
            near = self._near(self._pods[kind], pod, position)
            if near:
                self._sociable[kind] = {p for p in waiting if p != ANYWHERE and not near >> p & 1}

    def goes(self, position: int) -> None:
        """Record that a pod leaves a node."""
        self._sociable.clear()
        self._alone.pop(position, None)
        self._alone.pop(ANYWHERE, None)

    def _near(self, pod: Pod, come: Pod, position: int) -> NodeSet:
        """Return the nodes that may be open to a pod after another pod was bound to a node."""
        index, found = self._cluster.index, 0
        if any(c.is_hard and c.selector is not None and c.selector.matches(come.labels) for c in pod.spread):
            return index.all
        for term in pod.required_affinity:
            if selects_incoming(term, pod, come, self._cluster):
                found |= index.domain_of(term.topology_key, position)
        return found
