"""The running pods that no workload of the set owns, and which of them stay in the way of a new pod in every order."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from kubesched_lint.cluster.nodeset import EMPTY, NodeSet
from kubesched_lint.record import replace

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kubesched_lint.analysis.facts import Facts
    from kubesched_lint.analysis.neighbours import Alike
    from kubesched_lint.cluster.state import ClusterState
    from kubesched_lint.model.pod import BoundPod, Pod
    from kubesched_lint.model.workload import Workload

_NOBODY = -(1 << 40)
"""A priority below all that the API server takes: whoever has it preempts no pod."""
_TERMINATES = _NOBODY - 1
_UNKNOWN = 1 << 40
"""Of a class that nobody told us: it may be above all."""
_HELD = _UNKNOWN + 1
"""Nobody makes room by evicting what is being deleted already."""


class Others:
    """Some running pods of others, and what stands where they do."""

    def __init__(self, facts: Facts, pods: tuple[BoundPod, ...]) -> None:
        self._facts = facts
        self.pods = pods

    @cached_property
    def alike(self) -> tuple[Alike, ...]:
        """The pods on nodes that we know, those that are alike together."""
        from kubesched_lint.analysis.neighbours import alike

        return alike(self.pods, self._facts.index) if self.pods else ()

    @cached_property
    def waiting(self) -> tuple[Pod, ...]:
        """The pods that wait for a node, one of those that share a template."""
        return tuple({id(bound.pod): bound.pod for bound in self.pods if not bound.node}.values())

    @cached_property
    def repelling(self) -> tuple[Alike, ...]:
        """Those of ``alike`` with required anti-affinity."""
        return tuple(group for group in self.alike if group.pod.required_anti_affinity)

    @cached_property
    def state(self) -> ClusterState:
        """The nodes with these pods alone. Undo what you place."""
        from kubesched_lint.cluster.state import ClusterState

        cluster, ours = self._facts.cluster, self._facts.manifests
        assert cluster is not None, "a rule that reads nodes runs only with a cluster"
        live = cluster.inventory
        objects = replace(
            live,
            pods=self.pods,
            claims=tuple(self._facts.storage_to_be.claims.values()),
            volumes=tuple(self._facts.storage.volumes.values()),
            storage_classes=tuple(self._facts.storage.classes.values()),
            services=(*live.services, *ours.services),
            namespaces=(*live.namespaces, *ours.namespaces),
        )
        return ClusterState(self._facts.index, objects, kubernetes_version=self._facts.premises.kubernetes_version)


class Staying:
    """Which running pods stay against whom; ask ``Facts.staying`` and ``Facts.staying_beside_set``.

    DefaultPreemption evicts pods of lower priority from one node that the preemptor can use, disruption budgets or not
    (SelectVictimsOnNode of ``defaultpreemption/default_preemption.go``). The controller of an evicted pod makes another
    one, which may evict pods of still lower priority anywhere. A terminating pod goes by itself unless it is held by a
    finalizer. A preemptor can use the nodes of ``Facts.usable`` to which its required affinity may lead it.
    """

    def __init__(self, facts: Facts) -> None:
        self._facts = facts
        self._found: dict[tuple[NodeSet, ...], Others] = {}
        self._lowest = min((_rank(group) for group in facts.others.alike), default=_UNKNOWN)

    def against(self, workloads: Iterable[Workload]) -> Others:
        """The running pods that stay whatever these workloads preempt."""
        from kubesched_lint.analysis.neighbours import nodes_near_pods_of_nobody

        everyone = self._facts.others
        preemptors = {
            (priority, self._facts.usable(w) & nodes_near_pods_of_nobody(self._facts, w))
            for w in workloads
            if (priority := preempting_priority(self._facts.pod(w))) > self._lowest
        }
        if not preemptors and self._lowest > _TERMINATES:
            return everyone
        gone = self._gone(preemptors)
        if gone not in self._found:
            kept = (
                bound
                for group, nodes in zip(everyone.alike, gone, strict=True)
                for bound, position in zip(group.bound, group.positions, strict=True)
                if not nodes >> position & 1
            )
            self._found[gone] = Others(self._facts, tuple(kept)) if any(gone) else everyone
        return self._found[gone]

    def _gone(self, preemptors: Iterable[tuple[int, NodeSet]]) -> tuple[NodeSet, ...]:
        """Nodes where the pods of each group of ``alike`` may go."""
        groups, found = self._facts.others.alike, []
        for group in groups:
            reached = EMPTY
            for priority, nodes in preemptors:
                if _rank(group) < priority:
                    reached |= nodes
            found.append(group.nodes if _rank(group) == _TERMINATES else group.nodes & reached)
        come_back = [g.pod for g, nodes in zip(groups, found, strict=True) if nodes and any(b.owner for b in g.bound)]
        then = max(map(preempting_priority, come_back), default=_NOBODY)
        return tuple(g.nodes if _rank(g) < then else nodes for g, nodes in zip(groups, found, strict=True))

    @cached_property
    def beside_set(self) -> Others:
        """Those that stay whatever the set preempts."""
        return self.against(self._facts.manifests.workloads)

    @cached_property
    def highest(self) -> int:
        """The highest priority with which a workload of the set may preempt."""
        ours = self._facts.manifests.workloads
        return max((preempting_priority(self._facts.pod(w)) for w in ours), default=_NOBODY)


def preempting_priority(pod: Pod) -> int:
    """Pods below this priority are those that the pod may preempt (podEligibleToPreemptOthers)."""
    if pod.preemption_policy == "Never" or pod.scheduling_gates:
        return _NOBODY
    return _UNKNOWN if pod.priority_class and pod.priority is None else pod.priority or 0


def may_preempt(priority: int, pod: Pod) -> bool:
    """Whether what preempts with this priority (``preempting_priority``) may evict such a pod of the set."""
    unknown = pod.priority is None and bool(pod.priority_class)
    return priority > _NOBODY and (unknown or priority > (pod.priority or 0))


def _rank(group: Alike) -> int:
    if group.terminating:
        return _HELD if group.held else _TERMINATES
    return group.pod.priority or 0
