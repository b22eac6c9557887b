"""The order in which a course aimed at a workload tries the others, and which others are in a course against it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from random import Random

from kubesched_lint.engine.events.limits import FEW_RUN
from kubesched_lint.engine.events.start.preemption_scope import drivers
from kubesched_lint.engine.events.start.quotas import most_pods
from kubesched_lint.engine.events.start.simulated_set import SimulatedSet
from kubesched_lint.engine.runs.aims import Aim


class Orders:
    """Orders of the workloads of a set, cached because courses against several workloads have the same."""

    def __init__(self, simulated: SimulatedSet, seed: int) -> None:
        self._simulated = simulated
        self._seed = seed
        self._drawn: dict[int, Sequence[int]] = {}
        """Draw → the place of each workload in a drawn order."""
        self._crowds: dict[int, frozenset[int]] = {}

    def crowd(self, draw: int) -> frozenset[int]:
        """Return the workloads in a course against any other: as many as fit within the limit, in a drawn order.

        Pods that are created after the course only take room, so pods that wait at its end keep waiting. Only
        workloads that may preempt others could change that: they are always in the course.
        """
        if draw not in self._crowds:
            simulated, crowd = self._simulated, set(drivers(self._simulated))
            left = FEW_RUN // max(len(simulated.nodes), 1) - sum(most_pods(simulated.member(i)) for i in crowd)
            for i in self._by_size(range(len(simulated.workloads)), draw):
                if (
                    i not in crowd
                    and simulated.workloads[i].kind != "DaemonSet"
                    and most_pods(simulated.member(i)) <= left
                ):
                    left -= most_pods(simulated.member(i))
                    crowd.add(i)
            self._crowds[draw] = frozenset(crowd)
        return self._crowds[draw]

    def aimed(self, members: Sequence[int], aim: Aim) -> Sequence[int]:
        """Return the members in the order to try them. Workloads that its pods must be near come early."""
        simulated, others = self._simulated, [i for i in members if i != aim.number]
        if aim.against:  # in the same order against every workload
            others = self._by_size(others, aim.draw)
        else:
            Random(f"{self._seed} {aim.number}").shuffle(others)
            others.sort(key=lambda i: self._sizes[i], reverse=True)
        if not (aim.first or aim.against):
            return [*others, aim.number]
        pod = simulated.pods[aim.number]
        near = {i for term in pod.required_affinity for i in simulated.selection.of(term, pod.namespace)}
        others.sort(key=lambda i: i not in near)
        return [aim.number, *others] if aim.first else [*others, aim.number]

    def _by_size(self, members: Iterable[int], draw: int) -> list[int]:
        """Return the members, the largest first in draw 0, else the smallest; equal ones are in a drawn order."""
        if draw not in self._drawn:
            places = list(range(len(self._simulated.workloads)))
            Random(f"{self._seed} {draw}").shuffle(places)
            self._drawn[draw] = places
        drawn = sorted(members, key=self._drawn[draw].__getitem__)
        return sorted(drawn, key=lambda i: self._sizes[i], reverse=not draw)

    @cached_property
    def _sizes(self) -> Sequence[float]:
        """Per workload: one pod's requests as a share of all allocatable, for the resource with the largest share."""
        pods, index = self._simulated.pods, self._simulated.index
        whole = {r: sum(index.allocatable(r)) for pod in pods for r in pod.requests}
        return [max((each / whole[r] for r, each in pod.requests.items() if whole[r]), default=0.0) for pod in pods]
