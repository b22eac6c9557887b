"""What a loss is sure to leave waiting: the lost pods are deployed on the nodes that are left, as in ``simulate``.

What holds for every order in which they come, and for any scheduler that respects the filters, holds for the loss.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from msgspec.structs import replace

from kubesched_lint.commands.audit.running_cluster import ReplicaGroup, RunningCluster
from kubesched_lint.commands.limits import MOST_STATES
from kubesched_lint.engine.bounds.counted import count
from kubesched_lint.engine.events.limits import MOST_PODS
from kubesched_lint.engine.events.start.evictable_pods import guests_of
from kubesched_lint.engine.events.start.groups import group_of
from kubesched_lint.engine.events.start.preemption_scope import preemption_scope
from kubesched_lint.engine.events.start.quotas import quota_short
from kubesched_lint.engine.events.start.setting import Setting
from kubesched_lint.engine.events.start.stories import story_of
from kubesched_lint.engine.model.pod import Pod
from kubesched_lint.engine.model.workload import Workload
from kubesched_lint.engine.placing.setting import setting_of
from kubesched_lint.engine.scenario.limits import MOST_NODES

_MAKER = "ReplicaSet"
"""Stands for every controller: it makes all pods at once, so that no order of other controllers is left out."""


NOWHERE = "no node that it may use"


class Waits(NamedTuple):
    """The fewest pods of a group that wait in the end, and why."""

    pods: int
    why: str = ""


def surely_waiting(
    now: RunningCluster, lost: frozenset[str], gone: Sequence[tuple[ReplicaGroup, int]], asked: Sequence[int]
) -> dict[int, Waits]:
    """Return for some places in ``gone`` how many lost pods of the group wait after the loss, for every order."""
    setting = _after(now, lost, gone)
    return {number: _waits(setting, number) for number in asked}


def _after(now: RunningCluster, lost: frozenset[str], gone: Sequence[tuple[ReplicaGroup, int]]) -> Setting:
    """Return the nodes that are left with their pods; the workloads are lost pods, then pods that wait today."""
    makers = [_maker(number, group, pods) for number, (group, pods) in enumerate(gone)]
    waiting: dict[Pod, list[Workload]] = {}
    for bound in now.waiting:
        name = f"waiting-{bound.name}"
        waiting.setdefault(bound.pod, []).append(Workload(_MAKER, bound.namespace, name, bound.pod))
    makers += [replace(alike[0], replicas=len(alike)) for alike in waiting.values()]
    return replace(setting_of(now.without(lost)), workloads=tuple(makers))


def _maker(number: int, group: ReplicaGroup, pods: int) -> Workload:
    return Workload(_MAKER, group.pod.namespace, f"{group.ref.name}-{number}", group.pod, replicas=pods)


def _waits(setting: Setting, number: int) -> Waits:
    members = group_of(setting, number)
    scope = preemption_scope(setting, members)
    wanted, most = setting.workloads[number].replicas, count(setting, "deploy", number).most
    if setting.pods[number].group or scope.uncounted:
        return Waits(0)
    counted = Waits(max(wanted - most.pods, 0), most.why)
    can_follow = not (scope.strong or scope.open_ or quota_short(setting) or setting.need_devices(members))
    return max(counted, _searched(setting, members, number), key=lambda one: one.pods) if can_follow else counted


def _searched(setting: Setting, members: tuple[int, ...], number: int) -> Waits:
    """Return what a search over every order and any scheduler finds; nothing where the cluster is too large for one."""
    pods = sum(setting.wanted(i) for i in members)
    if len(setting.nodes) > MOST_NODES or pods > MOST_PODS:
        return Waits(0)
    guests = guests_of(setting).hosted
    story = story_of(setting, members, expected=False, most_states=MOST_STATES, guests=guests)
    if not story.sound or not story.states:
        return Waits(0)
    at = story.numbers[setting.workloads[number].key]
    most = max(story.pod_types.bound_by_workload(state).get(at, 0) for state in story.states)
    return Waits(setting.wanted(number) - most, "no scheduler binds more of them, in any order")
