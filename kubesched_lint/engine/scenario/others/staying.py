"""The running pods of others, and those of them that stay in the way of a new pod in every order."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from kubesched_lint.engine.cluster.nodeset import NodeSet
from kubesched_lint.engine.scenario.others.neighbours import nodes_near_pods_of_nobody
from kubesched_lint.engine.scenario.others.running import RunningPods, pods_of_others
from kubesched_lint.engine.scenario.scenario import Member, Scenario, once_per_scenario
from kubesched_lint.engine.scheduler.preemption import eviction
from kubesched_lint.engine.scheduler.preemption.eviction import NOBODY, evicted

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kubesched_lint.engine.model.pod import Pod
    from kubesched_lint.engine.model.workloads.workload import Workload

_UNKNOWN = 1 << 40
"""The priority of an unknown class: it may be above all."""


class NonPreemptiblePods:
    """The running pods that stay against given workloads; used by ``staying`` and ``staying_beside_set``.

    A terminating pod goes by itself unless a finalizer holds it; others go by preemption (``scheduler/eviction``). A
    preemptor can use the nodes of ``Member.usable`` that its required affinity allows.
    """

    def __init__(self, scenario: Scenario) -> None:
        self._scenario = scenario
        self._found: dict[tuple[NodeSet, ...], RunningPods] = {}
        groups = pods_of_others(scenario).alike
        self._lowest = min((group.pod.priority or 0 for group in groups), default=_UNKNOWN)
        self._some_leave = any(group.terminating and not group.kept_by_finalizers for group in groups)

    def against(self, workloads: Iterable[Workload]) -> RunningPods:
        """Return the running pods that stay, whatever these workloads preempt."""
        everyone = pods_of_others(self._scenario)
        if not everyone.alike:
            return everyone
        preemptors = {
            (priority, self._scenario.member(w).usable & nodes_near_pods_of_nobody(self._scenario.member(w)))
            for w in workloads
            if (priority := preempting_priority(self._scenario.member(w).pod)) > self._lowest
        }
        if not preemptors and not self._some_leave:
            return everyone
        gone = evicted(everyone.alike, preemptors)[0]
        if gone not in self._found:
            kept = (
                bound
                for group, nodes in zip(everyone.alike, gone, strict=True)
                for bound, position in zip(group.bound, group.positions, strict=True)
                if not nodes >> position & 1
            )
            self._found[gone] = RunningPods(self._scenario, tuple(kept)) if any(gone) else everyone
        return self._found[gone]

    @cached_property
    def beside_set(self) -> RunningPods:
        """The running pods that stay, whatever the manifests' workloads preempt."""
        return self.against(self._scenario.manifests.workloads)

    @cached_property
    def highest(self) -> int:
        """The highest priority with which a workload of the manifests may preempt."""
        ours = self._scenario.manifests.workloads
        return max((preempting_priority(self._scenario.member(w).pod) for w in ours), default=NOBODY)


@once_per_scenario
def _staying(scenario: Scenario) -> NonPreemptiblePods:
    return NonPreemptiblePods(scenario)


@once_per_scenario
def _found(scenario: Scenario) -> dict[Workload, RunningPods]:
    """Return a workload → the pods that stay against it."""
    return {}


def staying(it: Member) -> RunningPods:
    """Return the running pods of others that stay against its pods in every order.

    Its pods do not preempt them, and they do not terminate already.
    """
    everyone = pods_of_others(it.scenario)
    if not everyone.alike:
        return everyone
    staying_of = _found(it.scenario)
    if it.workload not in staying_of:
        staying_of[it.workload] = _staying(it.scenario).against((it.workload,))
    return staying_of[it.workload]


def staying_beside_set(scenario: Scenario) -> RunningPods:
    """Return the running pods of others that no workload of the manifests preempts; an error may rest only on these."""
    return _staying(scenario).beside_set


def may_be_preempted(it: Member) -> bool:
    """Return whether another workload of the manifests may evict its pods later; then a met condition may not last."""
    return may_preempt(_staying(it.scenario).highest, it.pod)


def preempts(it: Member, other: Workload) -> bool:
    """Return whether its pods may evict pods of another workload of the manifests."""
    return may_preempt(preempting_priority(it.pod), it.scenario.member(other).pod)


def preempting_priority(pod: Pod) -> int:
    """Return the priority below which the pod may preempt others; an unknown class may be above all."""
    known = eviction.preempting_priority(pod)
    return _UNKNOWN if known > NOBODY and _is_unknown(pod) else known


def may_preempt(priority: int, pod: Pod) -> bool:
    """Return whether a preemptor of this priority (``preempting_priority``) may evict such a pod of the manifests."""
    return priority > NOBODY and (_is_unknown(pod) or priority > (pod.priority or 0))


def _is_unknown(pod: Pod) -> bool:
    return pod.priority is None and bool(pod.priority_class)
