"""Devices in the bounds of an event: counting knows how many pods they allow at most, and nothing of the least."""

from __future__ import annotations

from collections.abc import Iterable
from math import inf
from typing import TYPE_CHECKING

from kubesched_lint.engine.cluster.devices import CHOSEN
from kubesched_lint.engine.events.answers.event_bounds import Bound, EventBounds
from kubesched_lint.engine.events.start.simulated_set import (
    UNREACHABLE_OF,
    SimulatedMember,
    SimulatedSet,
    once_per_member,
    once_per_set,
)

if TYPE_CHECKING:
    from kubesched_lint.engine.scheduler.devices.groups import DeviceGroups


def with_devices(bounds: EventBounds, member: SimulatedMember, members: Iterable[int], event: str) -> None:
    """Change the bounds of a workload if devices may serve pods of its group.

    Such pods may keep others from nodes, and what needs them waits with them, so nothing is sure to run.
    """
    if not member.set.need_devices(members):
        return
    bounds.least, bounds.never_stuck = (
        Bound(0, "devices may keep its pods, or those that it needs, from nodes"),
        False,
    )
    if member.workload.kind != "DaemonSet" or event not in UNREACHABLE_OF.values():  # it may want fewer after a loss
        bounds.most = within_devices(bounds.most, member)


def within_devices(most: Bound, member: SimulatedMember) -> Bound:
    """Return the most pods of a workload that nodes have devices for, if these are fewer than ``most``."""
    room = _room(member) if member.set.need_devices((member.number,)) else inf
    return Bound(int(room), f"the nodes have devices for {int(room):,} of its pods") if room < most.pods else most


def by_allocator(simulated: SimulatedSet, members: Iterable[int]) -> bool:
    """Return whether a search knows only the devices that kube-scheduler's own allocator gives to pods of a group."""
    if not simulated.need_devices(members):
        return False
    return any(each.over_time == CHOSEN for each in simulated.objects.allocator)


@once_per_member
def _room(member: SimulatedMember) -> float:
    """Return how many pods of a workload the nodes have devices for; running pods may have other claims than new ones.

    Pods that take the same devices share them; of others so many may run beside these.
    """
    groups = _groups(member.set)
    if groups is None:
        return inf
    rooms = {frozenset(groups.taken_by(pod).items()): groups.room(pod, member.reach) for pod in member.kinds}
    return sum(rooms.values())


@once_per_set
def _groups(simulated: SimulatedSet) -> DeviceGroups | None:
    from kubesched_lint.engine.scheduler.devices.groups import DeviceGroups

    pods = dict.fromkeys(pod for own in simulated.kinds for pod in own if simulated.cluster.may_serve(pod))
    for devices in simulated.objects.allocator:
        return DeviceGroups(pods, devices, simulated.index)
    return None
