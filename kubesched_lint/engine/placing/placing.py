"""Pods of a queue placed on the nodes of a state, again and again, until nothing changes any more.

One order that the scheduler may take: a pod that finds no node preempts in the same cycle, or waits until another pod
comes or goes that may help it. Evicted pods of the queue wait again; those of others are gone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from heapq import heapify, heappop, heappush
from typing import Generic, TypeVar

from kubesched_lint.engine.cluster.nodeset import EMPTY, NodeSet, only
from kubesched_lint.engine.cluster.state import ClusterState, Placement
from kubesched_lint.engine.events.transitions.hints import ANYWHERE, UnschedulableCache
from kubesched_lint.engine.model.labels import Selector
from kubesched_lint.engine.model.pod import BoundPod, Pod
from kubesched_lint.engine.placing.limits import MOST_EVICTIONS
from kubesched_lint.engine.scheduler.binding import bind
from kubesched_lint.engine.scheduler.framework import Diagnosis, diagnose, message
from kubesched_lint.engine.scheduler.placement import Placer
from kubesched_lint.engine.scheduler.preemption.preemption import Preemption, preempt

Choose = Callable[[NodeSet], int]
"""Return the feasible node to bind a pod to; every choice is one that some scheduler could make."""
Step = Callable[[int], Sequence[int] | None]
"""Bind one copy of the pod at a place in a queue; return the places to which that may open a node, None if it waits."""


class Copies:
    """``left`` equal pods that need a place. ``owner`` is the selector of their controller.

    ``behind`` are those whose places an ordered StatefulSet awaits before it makes these. ``ends``: the pods end by
    themselves, and leave their places to others. ``name``: by what a message calls them. ``alternate``: one of them
    comes at a time, then one of each other.
    """

    __slots__ = ("alternate", "behind", "ends", "left", "name", "owner", "pod")

    def __init__(
        self,
        pod: Pod,
        owner: Selector | None,
        left: int,
        behind: Copies | None = None,
        *,
        ends: bool = False,
        name: str = "",
    ) -> None:
        self.pod = pod
        self.owner = owner
        self.left = left
        self.behind = behind
        self.ends = ends
        self.name = name
        self.alternate = False

    @property
    def is_made(self) -> bool:
        return self.behind is None or not self.behind.left


Q = TypeVar("Q", bound=Copies)


def until_idle(queue: Sequence[Copies], step: Step, *, waits: Callable[[int], bool] = lambda number: False) -> None:
    """Take the pods in the order of the queue, again and again, until none finds a node.

    ``waits``: whether to leave out the pod at a place until a ``step`` returns that place.
    """
    turn = [number for number, copies in enumerate(queue) if copies.left and not waits(number)]
    progress = True
    while progress:
        progress, later, there = False, set[int](), set(turn)
        heapify(turn)
        while turn:
            number = heappop(turn)
            there.discard(number)
            copies = queue[number]
            while copies.left:
                woken = step(number)
                if woken is None:
                    if not waits(number):
                        later.add(number)
                    break
                progress = True
                for other in woken:
                    if other < number:
                        later.add(other)
                    elif other > number and other not in there:
                        there.add(other)
                        heappush(turn, other)
                if copies.alternate and copies.left:
                    later.add(number)
                    break
        turn = [number for number in later if queue[number].left]


class Placing(Generic[Q]):
    """One run: which copies are placed, and whom they evict. ``left`` of each entry of the queue says how many wait."""

    def __init__(
        self,
        queue: Sequence[Q],
        state: ClusterState,
        *,
        seed: int = 0,
        choose: Choose | None = None,
        preempts: bool = False,
        among: NodeSet | None = None,
        standing: Mapping[BoundPod, Q] | None = None,
    ) -> None:
        """``choose``: None for a node that the default scheduler could choose, with ``seed``.

        ``among``: the nodes to place on, None for all. ``standing``: running pods, and the entry of the queue in which
        each waits again if it is evicted.
        """
        self.queue = queue
        self.placed: dict[Placement, Q] = {}
        self.evicted: list[tuple[Q, Placement]] = []
        """Whose pod evicted which other."""
        self.cut = False
        """Whether more pods could preempt than may."""
        self.tried: set[int] = set()
        """Places in the queue of pods that were tried."""
        self._standing = standing or {}
        self._state = state
        self._seed, self._choose = seed, choose
        self._preempts, self._among = preempts, among
        self._placers: dict[Pod, Placer] = {}
        self._changed: list[int] = []
        """Positions of nodes to which pods came or from which they went, in order; its length is the time."""
        self._found: dict[int, tuple[int, Diagnosis]] = {}
        """Place in the queue → time and result of the last diagnosis."""
        self._waits = UnschedulableCache(state)
        """Places in the queue of pods that found no node."""
        self._hopeless: dict[int, tuple[int, NodeSet]] = {}
        """Place in the queue → time of the last dry run of a preemption, and the nodes on which it was hopeless."""
        self._preemptions = 0

    @property
    def is_idle(self) -> bool:
        """Whether no pod has found a place."""
        return not self._changed

    def run(self, most: int | None = None) -> Placing[Q]:
        """Place what is left of the first ``most`` entries of the queue, or of all."""
        until_idle(self.queue[:most], self.step, waits=self.waits)
        return self

    def step(self, number: int) -> Sequence[int] | None:
        """One scheduling cycle of the next copy at a place in the queue."""
        queued = self.queue[number]
        if not queued.is_made:
            return None
        self.tried.add(number)
        diagnosis = self.diagnosis(number)
        if not diagnosis.feasible:
            woken = self._preempted(number, diagnosis) if self._preempts else None
            if woken is None:
                self._waits.add(number, queued.pod, ANYWHERE, diagnosis)
            return woken
        position = self._placer(queued).choose(diagnosis) if self._choose is None else self._choose(diagnosis.feasible)
        assert position is not None
        return self._bound(queued, position)

    def waits(self, number: int) -> bool:
        """Whether the pod at a place in the queue needs no other try until something helps it."""
        return self._waits.has(number, ANYWHERE)

    def woken_all(self) -> Sequence[int]:
        """Note that somebody else has changed the state. Return the places in the queue of pods that may be helped."""
        self._waits = UnschedulableCache(self._state)
        self._found.clear()
        self._hopeless.clear()
        return range(len(self.queue))

    def message(self, number: int) -> str:
        """What the scheduler says now of the pod at a place in the queue."""
        return message(self.diagnosis(number))

    def _placer(self, queued: Q) -> Placer:
        placer = self._placers.get(queued.pod)
        if placer is None:
            placer = self._placers[queued.pod] = Placer(queued.pod, self._state, queued.owner, seed=self._seed)
        return placer

    def diagnosis(self, number: int) -> Diagnosis:
        """What every filter says now of the pod at a place in the queue."""
        now = len(self._changed)
        if self._found.get(number, (-1,))[0] != now:
            self._found[number] = now, diagnose(self.queue[number].pod, self._state, self._among)
        return self._found[number][1]

    def _bound(self, queued: Q, position: int) -> Sequence[int]:
        pod = BoundPod(queued.name, "", queued.pod) if queued.name else queued.pod
        placement = bind(pod, position, self._state)
        queued.left -= 1
        self._changed.append(position)
        if queued.ends:
            self._state.remove(placement)
            return ()
        self.placed[placement] = queued
        return self._waits.comes(queued.pod, position)

    def _preempted(self, number: int, diagnosis: Diagnosis) -> Sequence[int] | None:
        """Let the pod evict others. Return the places in the queue of those that may find a node then."""
        chosen = self._preemption(number, diagnosis).chosen
        if chosen is None or not chosen.is_freed:
            return None
        if self._preemptions >= MOST_EVICTIONS:
            self.cut = True
            return None
        self._preemptions += 1
        preemptor = self.queue[number]
        for victim in chosen.victims:
            self._evict(victim, preemptor)
        if self.diagnosis(number).feasible >> chosen.position & 1:
            self._bound(preemptor, chosen.position)
        return [n for n, other in enumerate(self.queue) if other.left and not self.waits(n)]

    def _preemption(self, number: int, diagnosis: Diagnosis) -> Preemption:
        """The result of a dry run that leaves out the nodes where the last one was hopeless and nothing has changed."""
        then, hopeless = self._hopeless.get(number, (0, EMPTY))
        for position in set(self._changed[then:]) if hopeless else ():
            hopeless &= ~only(position)
        result = preempt(self.queue[number].pod, diagnosis, self._state, hopeless=hopeless)
        self._hopeless[number] = len(self._changed), result.hopeless
        return result

    def _evict(self, victim: Placement, by: Q) -> None:
        self._state.remove(victim)
        self._waits.goes(victim.position)
        self._changed.append(victim.position)
        self.evicted.append((by, victim))
        owner = self.placed.pop(victim, None)
        if owner is None and victim.bound is not None:
            owner = self._standing.get(victim.bound)
        if owner is not None:
            owner.left += 1
