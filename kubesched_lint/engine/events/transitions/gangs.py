"""The outcomes of a pod group over time: the scheduler tries its waiting pods again and again.

Mirrors the queue of ``pkg/scheduler/backend/queue/scheduling_queue.go`` for pods with a ``schedulingGroup`` (v1.36):
PreEnqueue holds them until minCount of them exist, a failed group returns after a back-off without any event, and the
order within the group is by priority, then by entry into the queue.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import ClassVar

from msgspec import Struct

from kubesched_lint.engine.base import work
from kubesched_lint.engine.base.partly_compared import PartlyCompared
from kubesched_lint.engine.cluster.state import ClusterState, Placement
from kubesched_lint.engine.events.limits import MOST_PODS
from kubesched_lint.engine.events.states.symmetry import Symmetry
from kubesched_lint.engine.model.feature_gates import PREEMPTION
from kubesched_lint.engine.model.labels import Selector
from kubesched_lint.engine.model.pod import BoundPod, Pod
from kubesched_lint.engine.model.policy import PodGroup
from kubesched_lint.engine.scheduler.pod_groups.pod_groups import Attempt, GroupCycle

Order = tuple[BoundPod, ...]


class Rest(PartlyCompared, frozen=True):
    """A state in which a whole attempt may change nothing."""

    uncompared: ClassVar[tuple[str, ...]] = ("tried",)

    on: tuple[tuple[str, str], ...]
    """(pod, node) of the pods that were bound meanwhile."""
    messages: tuple[tuple[str, str], ...]
    """(pod, message) of the others; the message is empty while fewer pods exist than the group needs."""
    tried: tuple[tuple[str, str], ...] = ()
    """(pod, node) of the pods that found nodes in the last attempt, in its order; none of them is bound."""


class Outcomes(Struct, frozen=True):
    """What becomes of a group's waiting pods."""

    least: int
    most: int
    """Number of waiting pods that are bound in the end, at least and at most."""
    rests: tuple[Rest, ...] = ()
    is_cut: bool = False
    """The search reached its limit: ``least`` and ``most`` are then what no search can exceed."""


def outcomes(
    group: PodGroup,
    waiting: Sequence[BoundPod],
    state: ClusterState,
    gates: Collection[str],
    *,
    members: Sequence[BoundPod] = (),
    owners: Mapping[Pod, Selector | None] | None = None,
    any_order: bool = False,
    steps: float = 120_000_000,
) -> Outcomes:
    """Return every outcome for pods that are created one after another; ``state`` is restored.

    ``any_order``: several controllers create them, so any pod may come first; else they come in the order given.
    ``members``: pods of the group that are bound already, also those on nodes that are not in ``state``. ``steps``
    limits the work. ``owners``: pod → the selector of its controller.
    """
    if len(waiting) > MOST_PODS:
        return Outcomes(0, len(waiting), is_cut=True)
    if PREEMPTION in gates and group.may_evict(_pods(waiting), (p.pod for p in state.placements())):
        return Outcomes(0, len(waiting), is_cut=True)  # which is not followed
    kinds = equal_nodes(group.topology_key, _pods(waiting), state)
    search = _Search(GroupCycle(group, state, gates, owners or {}, kinds), tuple(members))
    try:
        with state.undone(), work.within(steps):
            for created in _arrangements(waiting, search.number) if any_order else (tuple(waiting),):
                for order in orders(created, search.cycle.quorum - len(members), search.number):
                    search.visit(_Course(order, waiting=(), coming=created))
    except work.OutOfWorkError:
        return Outcomes(0, len(waiting), tuple(search.rests), is_cut=True)
    counts = [len(rest.on) for rest in search.rests]
    return Outcomes(min(counts), max(counts), tuple(search.rests))


def equal_nodes(key: str, pods: Iterable[Pod], state: ClusterState) -> Sequence[int] | None:
    """Return a number for each position: nodes of one number may be swapped while they hold equal pods.

    None if something else than pods tells them apart. ``key``: of a group's topology constraint.
    """
    ours = list(pods)
    if any(pod.volumes or state.may_serve(pod) for pod in ours):
        return None
    residents: list[list[int]] = [[] for _ in state.index.names]
    for placement in state.placements():
        residents[placement.position].append(placement.pod_class.number)
        if _repels_or_attracts(placement.pod):
            ours.append(placement.pod)
    marks = [
        (tuple(sorted(held)), node.labels.get(key)) for held, node in zip(residents, state.index.nodes, strict=True)
    ]
    symmetry = Symmetry(state.index, ours, marks)
    return [domain * len(marks) + look for domain, look in zip(symmetry.domain, symmetry.look, strict=True)]


def _repels_or_attracts(pod: Pod) -> bool:
    return bool(
        pod.required_affinity or pod.required_anti_affinity or pod.preferred_affinity or pod.preferred_anti_affinity
    )


def _pods(waiting: Iterable[BoundPod]) -> Iterator[Pod]:
    return (bound.pod for bound in waiting)


def orders(waiting: Sequence[BoundPod], quorum: int, kind: Callable[[BoundPod], int]) -> Iterator[Order]:
    """Yield every order in which pods may enter the queue; one of those that differ in pods of equal ``kind`` alone.

    The pod that completes the quorum enters at its creation and then lets in those before it, in any order. Later pods
    enter as they are created. Within the group, higher priority goes first.
    """
    before, last = max(0, quorum - 1), max(1, quorum)
    seen = set()
    for first in _arrangements(waiting[:before], kind):
        order = tuple(sorted((*waiting[before:last], *first, *waiting[last:]), key=lambda b: -(b.pod.priority or 0)))
        key = tuple(map(kind, order))
        if key not in seen:
            seen.add(key)
            yield order


def _arrangements(pods: Sequence[BoundPod], kind: Callable[[BoundPod], int]) -> Iterator[Order]:
    """Yield the distinct arrangements of pods, those of equal kind in their order."""
    if not pods:
        yield ()
    for first in {kind(pod): pod for pod in reversed(pods)}.values():
        work.spend()
        yield from ((first, *rest) for rest in _arrangements([pod for pod in pods if pod is not first], kind))


class _Course(Struct, frozen=True):
    order: Order
    waiting: Order
    """Pods that exist and have no node, in the order of the attempt."""
    coming: Order
    """Pods that are created later."""
    on: tuple[tuple[BoundPod, int], ...] = ()
    gone: frozenset[Placement] = frozenset()
    """Evicted pods."""


class _Search:
    def __init__(self, cycle: GroupCycle, members: tuple[BoundPod, ...]) -> None:
        self.cycle = cycle
        self.rests: dict[Rest, None] = {}
        self._members = members
        self._state = cycle.state
        self._seen: set[object] = set()

    def visit(self, course: _Course) -> None:
        """Follow every course from here; the state has the pods that are ``on`` nodes."""
        if self._is_known(course):
            return
        if course.coming:
            self.visit(_arrived(course))
        if not course.waiting:
            if not course.coming:
                self._rest(course, ())
            return
        known = len(self._members) + len(course.on) + len(course.waiting)
        if known < self.cycle.quorum:
            if not course.coming:
                self._rest(course, [""] * len(course.waiting))
            return
        members = (*self._members, *self._bound(course))
        for attempt in self.cycle.attempts([bound.pod for bound in course.waiting], members):
            self._after(course, attempt)

    def _after(self, course: _Course, attempt: Attempt) -> None:
        if not attempt.scheduled and not attempt.victims:
            if not course.coming:
                self._rest(course, attempt.messages, attempt.nodes)
            return
        on, left = list(course.on), []
        for bound, at in zip(course.waiting, attempt.nodes, strict=True):
            if at is None or not attempt.scheduled:
                left.append(bound)
            else:
                on.append((bound, at))
        victims = dict.fromkeys(attempt.victims)
        with self._state.undone():
            for bound, at in on[len(course.on) :]:
                self.cycle.put(bound.pod, at)
            for victim in victims:
                self._state.remove(victim)
            gone = course.gone | {*victims}
            self.visit(_Course(course.order, tuple(left), course.coming, tuple(on), gone))

    def _bound(self, course: _Course) -> Iterator[BoundPod]:
        names = self._state.index.names
        return (BoundPod(bound.name, names[at], bound.pod) for bound, at in course.on)

    def _rest(self, course: _Course, messages: Sequence[str], nodes: Sequence[int | None] = ()) -> None:
        names = self._state.index.names
        on = tuple((bound.name, names[at]) for bound, at in course.on)
        told = tuple((bound.name, text) for bound, text in zip(course.waiting, messages, strict=True))
        tried = zip(course.waiting, nodes, strict=False)
        self.rests.setdefault(Rest(on, told, tuple((bound.name, names[at]) for bound, at in tried if at is not None)))

    def _is_known(self, course: _Course) -> bool:
        """Return whether an equal course was followed: equal pods wait, in the same order, and are on nodes."""
        pairs = [(self.number(bound), at) for bound, at in course.on]
        held = tuple(sorted(pairs)) if course.gone else self.cycle.canonical(pairs)
        placed = {bound for bound, _ in course.on}
        left = tuple(self.number(bound) for bound in course.order if bound not in placed)
        key = left, tuple(map(self.number, course.coming)), held, course.gone
        known = key in self._seen
        self._seen.add(key)
        return known

    def number(self, bound: BoundPod) -> int:
        """Return the number of the pod's class."""
        return self.cycle.number(bound.pod)


def _arrived(course: _Course) -> _Course:
    """Return the course after the creation of one more pod, which takes its place in the order."""
    new = course.coming[0]
    present = {*course.waiting, new}
    waiting = tuple(bound for bound in course.order if bound in present)
    return _Course(course.order, waiting, course.coming[1:], course.on, course.gone)
