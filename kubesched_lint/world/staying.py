"""The running pods that no workload of the set owns, and which of them stay in the way of a new pod in every order."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from kubesched_lint.cluster.nodeset import EMPTY, NodeSet
from kubesched_lint.world.neighbours import nodes_near_pods_of_nobody
from kubesched_lint.world.running import Alike, RunningPods, pods_of_others
from kubesched_lint.world.world import Member, World, once_per_world

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kubesched_lint.model.pod import Pod
    from kubesched_lint.model.workload import Workload

_NOBODY = -(1 << 40)
"""A priority below all that the API server takes: whoever has it preempts no pod."""
_TERMINATES = _NOBODY - 1
_UNKNOWN = 1 << 40
"""Of a class that nobody told us: it may be above all."""
_HELD = _UNKNOWN + 1
"""Nobody makes room by evicting what is being deleted already."""


class Staying:
    """Which running pods stay against whom; ask ``staying`` and ``staying_beside_set``.

    DefaultPreemption evicts pods of lower priority from one node that the preemptor can use, disruption budgets or not
    (SelectVictimsOnNode of ``defaultpreemption/default_preemption.go``). The controller of an evicted pod makes another
    one, which may evict pods of still lower priority anywhere. A terminating pod goes by itself unless it is held by a
    finalizer. A preemptor can use the nodes of ``Member.usable`` to which its required affinity may lead it.
    """

    def __init__(self, world: World) -> None:
        self._world = world
        self._found: dict[tuple[NodeSet, ...], RunningPods] = {}
        self._lowest = min((_rank(group) for group in pods_of_others(world).alike), default=_UNKNOWN)

    def against(self, workloads: Iterable[Workload]) -> RunningPods:
        """The running pods that stay whatever these workloads preempt."""
        everyone = pods_of_others(self._world)
        preemptors = {
            (priority, self._world.member(w).usable & nodes_near_pods_of_nobody(self._world.member(w)))
            for w in workloads
            if (priority := preempting_priority(self._world.member(w).pod)) > self._lowest
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
            self._found[gone] = RunningPods(self._world, tuple(kept)) if any(gone) else everyone
        return self._found[gone]

    def _gone(self, preemptors: Iterable[tuple[int, NodeSet]]) -> tuple[NodeSet, ...]:
        """Nodes where the pods of each group of ``alike`` may go."""
        groups, found = pods_of_others(self._world).alike, []
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
    def beside_set(self) -> RunningPods:
        """Those that stay whatever the set preempts."""
        return self.against(self._world.manifests.workloads)

    @cached_property
    def highest(self) -> int:
        """The highest priority with which a workload of the set may preempt."""
        ours = self._world.manifests.workloads
        return max((preempting_priority(self._world.member(w).pod) for w in ours), default=_NOBODY)


@once_per_world
def _staying(world: World) -> Staying:
    return Staying(world)


@once_per_world
def _found(world: World) -> dict[int, RunningPods]:
    """``id`` of a workload → what stays against it."""
    return {}


def staying(it: Member) -> RunningPods:
    """Running pods of others that stay against its pods in every order: neither does it preempt them, nor do they
    terminate already.
    """
    found = _found(it.world)
    if id(it.workload) not in found:
        found[id(it.workload)] = _staying(it.world).against((it.workload,))
    return found[id(it.workload)]


def staying_beside_set(world: World) -> RunningPods:
    """Running pods of others that no workload of the set preempts: an error holds against these alone."""
    return _staying(world).beside_set


def may_be_preempted(it: Member) -> bool:
    """Whether another workload of the set may evict its pods once they run: then what they met may hold no more."""
    return may_preempt(_staying(it.world).highest, it.pod)


def preempts(it: Member, other: Workload) -> bool:
    """Whether its pods may evict pods of another workload of the set."""
    return may_preempt(preempting_priority(it.pod), it.world.member(other).pod)


def preempting_priority(pod: Pod) -> int:
    """Pods below this priority are those that the pod may preempt (podEligibleToPreemptRunningPods)."""
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
