"""Which workload of a set is the hardest to place among those that only ask for room, on the same nodes.

A course aimed at it tells enough of the others: where its pods find room after all others, theirs would, too.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence

from kubesched_lint.engine.bounds.competition.contenders import repelling
from kubesched_lint.engine.events.start.simulated_set import (
    SimulatedMember,
    SimulatedSet,
    once_per_member,
    once_per_set,
)
from kubesched_lint.engine.model.workloads.workload import SCALED


@once_per_member
def harder(member: SimulatedMember) -> int:
    """Return a workload with at least as many pods that ask for at least as much; the workload itself if none has.

    Of several, it is the one that asks for the most of the resource whose name comes first, then of the next.
    """
    simulated = member.set
    key = _plain(member)
    if key is None:
        return member.number
    asked, wanted = member.pod.requests, member.wanted

    def is_harder(other: int) -> bool:
        more = simulated.pods[other].requests
        return simulated.member(other).wanted >= wanted and all(
            more.get(name, 0) >= each for name, each in asked.items()
        )

    return next(filter(is_harder, _by_size(simulated)[key]))


@once_per_member
def _plain(member: SimulatedMember) -> Hashable | None:
    """Return what equal workloads have in common beside what they request; None if the pods ask for more than room."""
    workload, pod = member.workload, member.pod
    if (
        workload.kind not in SCALED
        or workload.kind == "StatefulSet"
        or member.set.running
        or member.set.supposed is not None
    ):
        return None
    if pod.required_affinity or pod.volumes or pod.host_ports or pod.resource_claims or pod.group or pod.node_name:
        return None
    if any(c.is_hard for c in pod.spread) or pod.required_anti_affinity or any(repelling(member)):
        return None
    return member.usable, pod.priority, pod.preemption_policy, pod.profile


@once_per_set
def _by_size(simulated: SimulatedSet) -> Mapping[Hashable, Sequence[int]]:
    """Return by what they have in common: the workloads, the hardest first."""
    groups: dict[Hashable, list[int]] = {}
    for member in simulated.members:
        if (key := _plain(member)) is not None:
            groups.setdefault(key, []).append(member.number)

    def size(number: int) -> tuple[int, ...]:
        requests = simulated.pods[number].requests
        return (*(requests[name] for name in sorted(requests)), simulated.wanted[number], -number)

    return {key: sorted(numbers, key=size, reverse=True) for key, numbers in groups.items()}
