"""What a loss is sure to leave waiting: the lost pods are deployed on the nodes that are left, as in ``simulate``.

What holds for every order in which they come, and for any scheduler that respects the filters, holds for the loss.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

from msgspec.structs import replace

from kubesched_lint.commands.audit.running_cluster import ReplicaGroup, RunningCluster
from kubesched_lint.commands.limits import MOST_STATES
from kubesched_lint.engine.bounds.counted import count
from kubesched_lint.engine.events.limits import MOST_PODS
from kubesched_lint.engine.events.search.events import Timeline
from kubesched_lint.engine.events.start.evictable_pods import guests_of
from kubesched_lint.engine.events.start.groups import group_of
from kubesched_lint.engine.events.start.preemption_scope import preemption_scope
from kubesched_lint.engine.events.start.quotas import quota_short
from kubesched_lint.engine.events.start.simulated_set import SimulatedMember, SimulatedSet, once_per_set
from kubesched_lint.engine.events.start.timelines import timeline_of
from kubesched_lint.engine.model.pod import Pod
from kubesched_lint.engine.model.workloads.workload import Workload
from kubesched_lint.engine.placing.from_scenario import simulated_set_of
from kubesched_lint.engine.scenario.limits import MOST_NODES

_MAKER = "ReplicaSet"
"""Stands for every controller: it makes all pods at once, so that no order of other controllers is left out."""


RUNS = 2
"""Runs before a search that try the pods first, and runs that try all in any order, each on other nodes."""

NOWHERE = "no node that it may use"


class Waits(NamedTuple):
    """The fewest pods of a group that wait in the end, and why."""

    pods: int
    why: str = ""


def surely_waiting(
    now: RunningCluster, lost: frozenset[str], gone: Sequence[tuple[ReplicaGroup, int]], asked: Sequence[int]
) -> dict[int, Waits]:
    """Return for some places in ``gone`` how many lost pods of the group wait after the loss, for every order."""
    simulated = _after(now, lost, gone)
    return {number: _waits(simulated.member(number)) for number in asked}


def _after(now: RunningCluster, lost: frozenset[str], gone: Sequence[tuple[ReplicaGroup, int]]) -> SimulatedSet:
    """Return the nodes that are left with their pods; the workloads are lost pods, then pods that wait today."""
    makers = [_maker(number, group, pods) for number, (group, pods) in enumerate(gone)]
    waiting: dict[Pod, list[Workload]] = {}
    for bound in now.waiting:
        name = f"waiting-{bound.name}"
        waiting.setdefault(bound.pod, []).append(Workload(_MAKER, bound.namespace, name, bound.pod))
    makers += [replace(alike[0], replicas=len(alike)) for alike in waiting.values()]
    return replace(simulated_set_of(now.without(lost)), workloads=tuple(makers))


def _maker(number: int, group: ReplicaGroup, pods: int) -> Workload:
    return Workload(_MAKER, group.pod.namespace, f"{group.ref.name}-{number}", group.pod, replicas=pods)


def _waits(member: SimulatedMember) -> Waits:
    simulated = member.set
    members = group_of(member)
    scope = preemption_scope(simulated, members)
    wanted, most = member.workload.replicas, count(member, "deploy").most
    if member.pod.group or scope.uncounted:
        return Waits(0)
    counted = Waits(max(wanted - most.pods, 0), most.why)
    can_follow = not (scope.strong or scope.open_ or quota_short(simulated) or simulated.need_devices(members))
    if not can_follow or counted.pods >= wanted:
        return counted
    return max(counted, _searched(member, members, wanted - counted.pods), key=lambda waits: waits.pods)


def _searched(member: SimulatedMember, members: tuple[int, ...], most: int) -> Waits:
    """Return what a search over every order and any scheduler finds; nothing where the cluster is too large for one.

    No search can prove more where a run binds ``most`` pods, as many as counting allows. Mostly a run does that tries
    them first; pods that must be near others need another order.
    """
    simulated = member.set
    pods = sum(simulated.member(i).wanted for i in members)
    if len(simulated.nodes) > MOST_NODES or pods > MOST_PODS:
        return Waits(0)
    explore = partial(timeline_of, simulated, members, expected=False, guests=guests_of(simulated).hosted)
    for first in ({member.number: -1}, None):
        if _most_bound(explore(most_states=0, runs=RUNS, precedence=first), member) >= most:
            return Waits(0)
    known = _searches(simulated)
    if members not in known:
        known[members] = explore(most_states=MOST_STATES)
    timeline = known[members]
    if not timeline.sound or not timeline.states:
        return Waits(0)
    return Waits(member.wanted - _most_bound(timeline, member), "no scheduler binds more of them, in any order")


@once_per_set
def _searches(simulated: SimulatedSet) -> dict[tuple[int, ...], Timeline]:
    """Return the cache of searches, by the workloads in them."""
    return {}


def _most_bound(timeline: Timeline, member: SimulatedMember) -> int:
    """Return the most pods of a workload that are bound in an end of a timeline."""
    at = timeline.numbers[member.workload.key]
    return max((timeline.pod_types.bound_by_workload(state).get(at, 0) for state in timeline.states), default=0)
