"""The pods that may take the room of a workload's pod: of all others, and of its own.

Workloads with equal requests that may use the same nodes have almost the same rivals. So one question may serve all of
them: what holds beside the most rivals that one of them has holds for each.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

from kubesched_lint.engine.bounds.competition.contention import Competitor, contention_of
from kubesched_lint.engine.controllers.bounds import daemon_bounds
from kubesched_lint.engine.events.limits import FEW_ALIKE
from kubesched_lint.engine.events.start.simulated_set import SimulatedMember, SimulatedSet, once_per_set


class CompetingPods(NamedTuple):
    """The contenders of a set without some of them, and with others."""

    groups: Callable[[], Sequence[tuple[Competitor, int]]]
    """Counts the (contender, number of equal ones), with a look at each group of them in the set."""
    without: Sequence[Competitor]
    """The contenders of the set that are left out."""
    own: Sequence[Competitor]
    """Those that count besides."""
    own_pods: int
    """Number of pods of the workload that count besides."""


def rivals_of(member: SimulatedMember, own: int) -> CompetingPods:
    """Return the rivals of one pod of a workload, given ``own`` other pods of it."""
    contention = contention_of(member.set)
    pod, workload = member.pod, member.workload
    besides: list[Competitor] = []
    if workload.kind != "DaemonSet":
        besides = [Competitor(pod, own, member.usable, own)]
    elif daemon_bounds(workload.strategy, 1)[0]:  # the old pod stays beside a surging one
        besides = [Competitor(pod, len(member.set.nodes), member.usable, 1, everywhere=True)]
    without = tuple(r for r in contention.of.get(member.number, ()) if r.pod is pod)

    def groups() -> Iterator[tuple[Competitor, int]]:
        among_own = contention.alike_of(member.number)
        for place, alike in enumerate(contention.groups()):
            others = len(alike) - sum(r.pod is pod for r in among_own.get(place, ()))
            if others:
                yield next(r for i, r in alike if i != member.number or r.pod is not pod), others
        yield from ((r, 1) for r in besides)

    return CompetingPods(lambda: tuple(groups()), without, besides, own)


class SameRoom:
    """Workloads with equal requests that may use the same nodes."""

    def __init__(self, simulated: SimulatedSet, numbers: Sequence[int]) -> None:
        self._simulated = simulated
        self._numbers = numbers
        self.most = max(simulated.most_wished[number] for number in numbers)
        """The most pods that one of them may want."""

    @cached_property
    def most_rivals(self) -> CompetingPods:
        """The rivals of a pod of any of them, and more: the pods of its own workload count twice."""
        simulated, number = self._simulated, self._numbers[0]
        own = Competitor(simulated.pods[number], self.most, simulated.usable[number], self.most)

        def groups() -> Sequence[tuple[Competitor, int]]:
            return [*((alike[0][1], len(alike)) for alike in contention_of(simulated).groups()), (own, 1)]

        return CompetingPods(groups, (), [own], self.most)

    @cached_property
    def least_rivals(self) -> CompetingPods:
        """Rivals that a pod of each of them has."""
        contention = contention_of(self._simulated)
        own: dict[int, int] = {}
        for number in self._numbers:
            for place, contenders in contention.alike_of(number).items():
                own[place] = max(own.get(place, 0), len(contenders))
        without = [contention.alike[place][0][1] for place, times in own.items() for _ in range(times)]

        def groups() -> Sequence[tuple[Competitor, int]]:
            each = ((alike[0][1], len(alike) - own.get(place, 0)) for place, alike in enumerate(contention.groups()))
            return [(r, times) for r, times in each if times]

        return CompetingPods(groups, without, (), 0)


def same_room_of(member: SimulatedMember) -> SameRoom | None:
    """Return the workloads like this one; None if they are few."""
    return _same_room(member.set).get(member.number)


@once_per_set
def _same_room(simulated: SimulatedSet) -> Mapping[int, SameRoom]:
    groups: dict[Hashable, list[int]] = {}
    for number, (workload, pod) in enumerate(zip(simulated.workloads, simulated.pods, strict=True)):
        if workload.kind != "DaemonSet":
            groups.setdefault((frozenset(pod.requests.items()), simulated.usable[number]), []).append(number)
    # Few are counted one by one. The bound that many share is that of the one with the most rivals: no sharper.
    return {
        number: found
        for numbers in groups.values()
        if len(numbers) > FEW_ALIKE
        for found in [SameRoom(simulated, numbers)]
        for number in numbers
    }
