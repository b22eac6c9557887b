"""Who may evict whom by preemption, judged by priorities alone, whatever the scheduler has to do.

DefaultPreemption evicts pods of lower priority from one node that the preemptor can use, even against disruption
budgets (SelectVictimsOnNode of ``defaultpreemption/default_preemption.go``). The controller of an evicted pod makes
another one, which may evict pods of still lower priority anywhere.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import reduce
from operator import or_

from kubesched_lint.engine.cluster.nodeset import EMPTY, NodeSet
from kubesched_lint.engine.cluster.pods.alike import Alike
from kubesched_lint.engine.model.pod import Pod, knows_scheduler, profile_of

NOBODY = -(1 << 40)
"""A priority below all that the API server accepts: a pod that preempts with it preempts nothing."""
CRITICAL = 2_000_000_000
"""Pods of this priority or more are critical (SystemCriticalPriority)."""


def preempting_priority(pod: Pod) -> int:
    """Return the priority below which the pod may preempt others; else ``NOBODY``.

    The scheduler decides by PodEligibleToPreemptOthers. If the pod names its node, the kubelet does, which makes room
    for critical pods alone, whatever their policy (``pkg/kubelet/preemption``, IsCriticalPodBasedOnPriority).
    """
    priority = pod.priority or 0
    if pod.node_name:
        return priority if priority >= CRITICAL else NOBODY
    if pod.preemption_policy == "Never" or pod.scheduling_gates or not profile_of(pod).preempts:
        return NOBODY
    return priority


def surely_preempts(pod: Pod) -> bool:
    """Return whether the scheduler surely preempts weaker pods if only their removal opens a node to the pod."""
    return knows_scheduler(pod) and not pod.node_name and preempting_priority(pod) > NOBODY


def may_evict(pod: Pod, other: Pod) -> bool:
    """Return whether a pod may evict another one, if it can use that one's node."""
    return preempting_priority(pod) > (other.priority or 0)


def evicted(groups: Sequence[Alike], preemptors: Collection[tuple[int, NodeSet]]) -> tuple[tuple[NodeSet, ...], int]:
    """Return for each group the nodes from which its pods may go, and with which priority these preempt in turn.

    A preemptor is a priority (``preempting_priority``) with the nodes that its pods can use. A terminating pod goes by
    itself unless a finalizer holds it; then eviction makes no room by it.
    """

    def reached(group: Alike, preemptors: Collection[tuple[int, NodeSet]]) -> NodeSet:
        if group.terminating:
            return EMPTY if group.kept_by_finalizers else group.nodes
        rank = group.pod.priority or 0
        return group.nodes & reduce(or_, (nodes for priority, nodes in preemptors if rank < priority), EMPTY)

    first = [reached(group, preemptors) for group in groups]
    come_back = (g.pod for g, nodes in zip(groups, first, strict=True) if nodes and any(b.owner for b in g.bound))
    then = max(map(preempting_priority, come_back), default=NOBODY)
    everywhere = ((then, ~EMPTY),) if then > NOBODY else ()
    return tuple(nodes | reached(group, everywhere) for group, nodes in zip(groups, first, strict=True)), then
