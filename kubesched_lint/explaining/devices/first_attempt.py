"""What the scheduler's allocator gives the first pod of a workload on each node, while all devices are free."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from kubesched_lint.engine.cluster.nodeset import positions
from kubesched_lint.engine.scenario.scenario import Member
from kubesched_lint.engine.scheduler.devices.attempt import Attempt, OnNode
from kubesched_lint.engine.scheduler.devices.failures import UndecidedError
from kubesched_lint.explaining.devices.requests import devices_in
from kubesched_lint.explaining.devices.room import DeviceRoom


def first_attempt(room: DeviceRoom, member: Member) -> Mapping[int, OnNode]:
    """Return the position of a node → what it gives; a node of which that is unknown is left out."""
    known = devices_in(member.scenario)
    free = replace(known, claims={key: replace(claim, allocation=None) for key, claim in known.claims.items()})
    attempt = Attempt(member.pod, free, member.scenario.index)
    given_by_node: dict[int, OnNode] = {}
    for position in positions(room.among):
        try:
            given_by_node[position] = attempt.on(position)
        except UndecidedError:
            continue
    return given_by_node
