"""Waiting pods that found no node, and need not be tried again before something happens that may open one to them.

A pod that comes opens a node only to those that ask for its company: by required affinity, or by a hard spread whose
least domain it may raise. A pod that goes opens its own node, and others to pods that kept apart from it or it from.
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
    """What is remembered holds for as long as it is told of each pod that comes and goes.

    A node turns a pod away by its first reason: while that is room or a port, nobody's company helps there.
    """

    def __init__(self, cluster: ClusterState) -> None:
        self._cluster = cluster
        self._alone: dict[int, set[tuple[int, int]]] = {}
        """By the node whose pods alone are in their way."""
        self._sociable: dict[int, set[int]] = {}
        """By kind the nodes that pods who look for others are pinned to."""
        self._pods: dict[int, Pod] = {}

    def add(self, kind: int, pod: Pod, position: int, found: Diagnosis) -> None:
        """Pods of a kind found no node just now; at a ``position``, those pinned to it."""
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
        """A pod comes to a node."""
        work.spend(len(self._sociable))
        for kind, waiting in self._sociable.items():
            near = self._near(self._pods[kind], pod, position)
            if near:
                self._sociable[kind] = {p for p in waiting if p != ANYWHERE and not near >> p & 1}

    def goes(self, position: int) -> None:
        """A pod goes from a node."""
        self._sociable.clear()
        self._alone.pop(position, None)
        self._alone.pop(ANYWHERE, None)

    def _near(self, pod: Pod, come: Pod, position: int) -> NodeSet:
        """The nodes that may be open to a pod now that another one has come to a node."""
        index, found = self._cluster.index, 0
        if any(c.is_hard and c.selector is not None and c.selector.matches(come.labels) for c in pod.spread):
            return index.all
        for term in pod.required_affinity:
            if selects_incoming(term, pod, come, self._cluster):
                found |= index.domain_of(term.topology_key, position)
        return found
