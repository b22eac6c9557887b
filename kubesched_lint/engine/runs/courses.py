"""Seeded courses (random runs) of a whole set, where a search is too expensive: each shows one possible end."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from enum import IntEnum
from functools import cached_property, partial
from typing import NamedTuple

from kubesched_lint.engine.base import work
from kubesched_lint.engine.base.limits import MOST_STEPS
from kubesched_lint.engine.base.places import ObjectRef
from kubesched_lint.engine.bounds.counted import count
from kubesched_lint.engine.bounds.idle import idle
from kubesched_lint.engine.events.answers.cells import BAD, DEPENDS, FINE
from kubesched_lint.engine.events.limits import (
    FEW_LOST,
    FEW_RUN,
    MOST_AIMED,
    MOST_CROWDS,
    MOST_FOLLOWED,
    MOST_IN_COURSE,
    MOST_MOVED,
)
from kubesched_lint.engine.events.search.events import Timeline
from kubesched_lint.engine.events.start.evictable_pods import guests_of
from kubesched_lint.engine.events.start.groups import acquaintances, template_variants
from kubesched_lint.engine.events.start.lost_nodes import nodes_of, nodes_to_lose, telling, waits
from kubesched_lint.engine.events.start.preemption_scope import drivers
from kubesched_lint.engine.events.start.quotas import as_granted, most_pods, shares
from kubesched_lint.engine.events.start.shapes import shape, shape_in_set
from kubesched_lint.engine.events.start.simulated_set import LOSSES, SimulatedSet
from kubesched_lint.engine.events.start.timelines import anew, bare_timeline, timeline_of
from kubesched_lint.engine.events.transitions.adverse import victim_key
from kubesched_lint.engine.runs.aims import DRAWS, Aim
from kubesched_lint.engine.runs.event_outcomes import EventOutcomes, FinalState
from kubesched_lint.engine.runs.judging import verdict_of
from kubesched_lint.engine.runs.orders import Orders


class Wanted(IntEnum):
    """How much is asked about the end of an event."""

    PROVEN_BAD = 0
    """Whether counting proves that it is bad."""
    COUNTED = 1
    """What counting says."""
    BAD_END = 2
    """Whether it may be bad: one bad end is enough, and more courses are followed until there is one."""
    ALL = 3


class Effort(NamedTuple):
    """Limits: states per search, seeded runs where there is no search, nodes whose loss the runs try."""

    states: int = 4_000
    runs: int = 2
    nodes: int = 16
    seed: int = 1
    narrates: bool = True
    """Whether an end that counting proves bad has its least pods, and a trace where no pod finds a node."""
    has_examples: bool = True
    """Whether an end that counting proves bad has a trace: not where it only confirms what another scenario shows, or
    is only compared with another end."""
    wanted: Callable[[ObjectRef, str], Wanted] = lambda _ref, _event: Wanted.ALL
    """How much to tell of the end of an event for a workload."""
    tries_scores: Callable[[ObjectRef, str], bool] = lambda _ref, _event: True
    """Whether to look for a bad end with other scores where the end of an event for a workload is likely good."""


_AIMED = 3 / 2
"""Steps of all cells that are left when the first is followed, per step of courses with an aim: every cell is told
before an aim tells more of some."""


BY_SCORE, ANY_NODE = -1, -2


class _Start(NamedTuple):
    """Everything that the course of a deployment depends on: equal ones are the same course."""

    members: tuple[int, ...]
    precedence: tuple[tuple[int, int], ...]
    """(workload, rank)"""
    runs: int
    seed: int
    against: int
    """The workload against which the scheduler picks nodes, or ``BY_SCORE``, or ``ANY_NODE`` that fits."""
    changed: tuple[frozenset[int], ...]
    """The cases to follow: each has the workloads with unknown changes whose manifests change running pods."""


class _Variant(NamedTuple):
    """What is assumed of the pods that a deployment makes."""

    changed: frozenset[int]
    """The workloads with unknown changes whose manifests are assumed to change running pods."""
    unready: bool = False


class Steps:
    """Steps of the courses with an aim, of which each workload gets its part: what one leaves, later ones may use."""

    def __init__(self, left: float) -> None:
        self._left = left
        self._number = -1
        self._own = 0.0
        """Steps left for the workload that is asked about now."""
        self._asked = set[int]()

    def of(self, number: int, rows: int, least: float) -> float:
        """Return the steps left for a workload, if so many ``rows`` are asked about: most take less than their part.

        A part that is less than ``least`` would suffice for no course: then the first workloads get as much.
        """
        if number != self._number:
            self._asked.add(number)
            part = max(2 * self._left / max(rows - len(self._asked) + 1, 1), least)
            self._number, self._own = number, min(self._left, part)
        return self._own

    def take(self, steps: float) -> None:
        self._own -= steps
        self._left -= steps


class _Kept:
    """Courses that later questions may need."""

    def __init__(self) -> None:
        self.deployed: dict[_Start, EventOutcomes] = {}
        self.outcomes: dict[tuple[tuple[int, ...], Aim | None], EventOutcomes] = {}
        self.attempts: dict[tuple[tuple[int, ...], Aim | None], work.Attempts] = {}
        self.opposing: dict[Aim, tuple[int, ...]] = {}
        """The workloads in a course against one."""
        self.apart: dict[tuple[int, ...], SimulatedSet] = {}
        """Members of a course → their set without the others."""


class Courses:
    """Courses of a set, cached because several questions need the same ones."""

    def __init__(
        self, simulated: SimulatedSet, effort: Effort, is_played: Callable[[tuple[int, ...]], bool], rows: int = 1
    ) -> None:
        """``is_played``: whether pods of these workloads preempt others in a way that a course can follow.

        Courses with an aim at one of the ``rows`` workloads that are asked about leave steps to those after it.
        """
        self.simulated = simulated
        self.effort = effort
        self._is_played = is_played
        self._shared = _Kept()
        self._own = -1, _Kept()
        """The last workload of which that was asked, and what no other workload needs."""
        self._pods_of: dict[tuple[int, ...], int] = {}
        """Members → number of pods of all of them."""
        self._well: dict[tuple[str, int, int], bool] = {}
        """(event, workload, draw of a course against it, else -1) → whether counting proves that it ends well."""
        self._orders = Orders(simulated, effort.seed)
        self._crowds: dict[Hashable, Timeline] = {}
        """The deployments of the others before that of a workload against which the scheduler picks nodes."""
        self._beside: dict[frozenset[int], SimulatedSet] = {}
        """Rivals → the set beside them."""
        self._drawn: dict[_Start, EventOutcomes | None] = {}
        """Courses on any nodes that fit, and further ones by the scores; None if one takes too many steps."""
        self._starts: tuple[tuple[int, ...], dict[_Variant, Timeline]] = (), {}
        """The last members, and what is there before they are deployed."""
        self._given_up: set[Aim] = set()
        """Aims whose courses take too much work."""
        self._rows = rows
        left = min(work.share(0, _AIMED), MOST_STEPS // 2)
        self._longest = 0.0
        """Steps of the longest deployment without an aim."""
        self._aimed = Steps(left)
        self._opposing = Steps(MOST_STEPS // 2)

    def ends(
        self, event: str, number: int, aim: Aim | None = None, *, is_known: bool = False, needs_bad_end: bool = False
    ) -> list[FinalState]:
        """Return the ends of an event's courses for a workload; empty if they would take too many steps.

        Once some end well and some badly, or as an ``aim`` seeks, or badly if a bad end is all that somebody
        ``needs``, no further node or zone is lost.

        Without an aim, the scheduler tries waiting pods in any order. A course with an aim follows nothing where
        counting proves that it ends well. Where counting proves that, or how each ends ``is_known``, one node or zone
        shows what all do.
        """
        if not self._is_followed(event, number):
            return []
        if aim and (aim in self._given_up or self._is_too_large(number) or self._ends_well(event, number, aim)):
            return []
        if aim and aim.later and not self._may_tell(event, number):
            return []
        if is_known or (event in LOSSES and self._ends_well(event, number, aim)):
            return self._followed(aim, lambda: self._telling(event, number, aim).first_ends(event, number))

        def is_enough(ends: Sequence[FinalState]) -> bool:
            sought = BAD if needs_bad_end else aim and (FINE if aim.first else BAD)
            return event in LOSSES and verdict_of(event, ends)[0] in (DEPENDS, sought)

        return self._followed(aim, lambda: self._telling(event, number, aim).ends_until(event, number, is_enough))

    def _may_tell(self, event: str, number: int) -> bool:
        """Whether an aim from the event on may change its end: others wait beside the pods that the event makes."""
        if event in LOSSES or self.simulated.supposes(event) is not None:
            return True
        return any(waits(timeline) for timeline in self.event_outcomes(number).deployed)

    def always_ends_well(self, event: str, number: int) -> bool:
        """Whether ``ends`` has one end without an aim, and counting proves it good: nobody need follow it to know.

        In the courses of a set beyond ``MOST_AIMED``, a workload meets only those that it is tied to.
        """
        is_apart = self._size > MOST_AIMED
        return is_apart and self._is_followed(event, number) and self._ends_well(event, number, None)

    def _is_followed(self, event: str, number: int) -> bool:
        """Whether a course takes few enough steps."""
        simulated, hypothesis = self.simulated, self.simulated.supposes(event)
        if simulated.workloads[number].kind == "DaemonSet" and len(simulated.nodes) > MOST_FOLLOWED:
            return False
        return self._largest <= MOST_IN_COURSE and (hypothesis is None or len(hypothesis.upgraded) <= MOST_MOVED)

    def ends_against(
        self, event: str, number: int, draw: int, is_sought: Callable[[FinalState], bool]
    ) -> list[FinalState]:
        """Return the sought ends of a course against a workload, for the first node or zone that has any."""
        aim = Aim(number, first=False, against=True, draw=draw)
        if aim in self._given_up or self._ends_well(event, number, aim):
            return []
        return self._followed(aim, lambda: self.event_outcomes(number, aim).first_ends(event, number, is_sought))

    def ends_anywhere(
        self, event: str, number: int, draw: int, is_sought: Callable[[FinalState], bool]
    ) -> list[FinalState]:
        """Return the sought ends of a course on any nodes that fit, for the first node or zone lost that has any."""
        return self._ends_of_draw(event, number, draw, is_sought, ANY_NODE)

    def ends_again(
        self, event: str, number: int, draw: int, is_sought: Callable[[FinalState], bool]
    ) -> list[FinalState]:
        """Return the sought ends of one more course without an aim, for the first node or zone lost that has any."""
        return self._ends_of_draw(event, number, self.effort.runs + draw, is_sought, BY_SCORE)

    def _ends_of_draw(
        self, event: str, number: int, draw: int, is_sought: Callable[[FinalState], bool], by: int
    ) -> list[FinalState]:
        """Return the sought ends; empty as well if they take too many steps."""
        members = self.members(number, None)
        if not self._is_followed(event, number) or self._ends_well(event, number, None):
            return []
        start = self._start(members, None)
        start = start._replace(runs=1, against=by, seed=start.seed + draw)

        def follow() -> list[FinalState]:
            if start not in self._drawn:
                self._drawn[start] = work.tried(lambda: self._losing(self._deployed(start), members), None, 2)
            outcomes = self._drawn[start]
            if outcomes is None:
                return []
            return self._at_telling(outcomes, event, number).first_ends(event, number, is_sought)

        return work.tried(follow, [], 2)

    def preempts(self, number: int) -> bool:
        """Whether pods preempt others in a course without an aim."""
        return self._is_played(self.members(number, None))

    def _followed(self, aim: Aim | None, ends: Callable[[], list[FinalState]]) -> list[FinalState]:
        if aim is None:
            return ends()
        steps = self._opposing if aim.against else self._aimed
        own = steps.of(aim.number, self._rows, 3 * self._longest)  # a deployment and two losses
        if own < self._longest / 2:
            return []
        allowed = work.within(min(own, work.share(0, 2)))
        try:
            with allowed:
                return ends()
        except work.OutOfWorkError:
            self._given_up.add(aim)
            return []
        finally:
            steps.take(allowed.spent)

    def _is_too_large(self, number: int) -> bool:
        """Whether a course with an aim would cost too much: each step runs the controllers of all workloads."""
        members = self._aimed_members(number)
        pods = self._pods_of.get(members)
        if pods is None:
            pods = self._pods_of[members] = sum(most_pods(self.simulated.member(i)) for i in members)
        return len(members) * pods > MOST_IN_COURSE

    def _ends_well(self, event: str, number: int, aim: Aim | None) -> bool:
        """Whether counting proves that every such course ends well, because nobody else has pods in it.

        Courses of several workloads may preempt pods, which counting leaves out; those against a workload do not.
        """
        members, draw = self.members(number, aim), aim.draw if aim and aim.against else -1
        if members != (number,) and draw < 0:
            return False
        key = event, number, draw
        if key not in self._well:
            rivals = frozenset[int]() if draw < 0 else self._orders.crowd(draw)
            self._well[key] = self._is_counted_well(event, number, members, rivals)
        return self._well[key]

    def _is_counted_well(self, event: str, number: int, members: tuple[int, ...], rivals: frozenset[int]) -> bool:
        """Whether counting proves a good end beside the other ``members``, which are ``rivals`` or tied to it."""
        simulated, member = self.simulated, self.simulated.member(number)
        if len(members) == len(simulated.workloads):  # counting would say the same again
            return False
        says_too_little = simulated.supposed or simulated.need_devices(members) or guests_of(simulated).hosted
        if says_too_little:
            return False
        has_more = len(acquaintances(member)) > 1 or simulated.objects.quotas or member.running
        if not has_more:  # beside the same rivals as others, so that their set serves it, too
            if rivals not in self._beside:
                self._beside[rivals] = simulated.beside(rivals)
            return count(self._beside[rivals].member(number), event).is_fine
        known = self._own_of(number).apart
        if members not in known:
            known[members] = simulated.among(members)
        return count(known[members].member(members.index(number)), event).is_fine

    def members(self, number: int, aim: Aim | None) -> tuple[int, ...]:
        """Return the workloads in a course for a workload."""
        if aim is None:
            return self._everybody if self._size <= FEW_RUN else acquaintances(self.simulated.member(number))
        if not aim.against:
            return self._aimed_members(number)
        known = self._own_of(number).opposing
        if aim not in known:
            ours = acquaintances(self.simulated.member(number))
            known[aim] = tuple(sorted({*ours, *self._orders.crowd(aim.draw)}))
        return known[aim]

    def _aimed_members(self, number: int) -> tuple[int, ...]:
        """Return the workloads in a course that tries the pods of a workload first or last."""
        return self._everybody if self._size <= MOST_AIMED else acquaintances(self.simulated.member(number))

    @cached_property
    def _everybody(self) -> tuple[int, ...]:
        return tuple(range(len(self.simulated.workloads)))

    @cached_property
    def _largest(self) -> int:
        """Number of pods of the largest workload."""
        return max(map(most_pods, self.simulated.members))

    @cached_property
    def _size(self) -> int:
        """Nodes times pods."""
        return len(self.simulated.nodes) * sum(map(most_pods, self.simulated.members))

    def event_outcomes(self, number: int, aim: Aim | None = None) -> EventOutcomes:
        """Return the courses of the whole set; if it is large, only of the workload and those tied to it."""
        members = self.members(number, aim)
        kept, key = self._kept(number, members, aim), (members, aim)
        if key not in kept.outcomes:
            attempts = kept.attempts.setdefault(key, work.Attempts())
            kept.outcomes[key] = attempts.made(lambda: self._run(kept, members, aim))
        return kept.outcomes[key]

    def _telling(self, event: str, number: int, aim: Aim | None) -> EventOutcomes:
        """Return the courses without those after the loss of a node that leaves the workload alone, except one."""
        return self._at_telling(self.event_outcomes(number, aim), event, number)

    def _at_telling(self, outcomes: EventOutcomes, event: str, number: int) -> EventOutcomes:
        return outcomes.at(lambda: telling(self.simulated.member(number), event, outcomes.deployed, outcomes.nodes))

    def _kept(self, number: int, members: tuple[int, ...], aim: Aim | None) -> _Kept:
        """Return the cache for courses; those of one workload only are forgotten when another one is asked about."""
        return self._shared if len(members) > 1 and aim is None else self._own_of(number)

    def _own_of(self, number: int) -> _Kept:
        if self._own[0] != number:
            self._own = number, _Kept()
        return self._own[1]

    def _precedence(self, members: tuple[int, ...], aim: Aim | None) -> dict[int, int]:
        is_alone = len(members) == 1 and not guests_of(self.simulated).hosted
        if aim is None or is_alone:  # alone there is nobody to come before or after
            return {}
        return {number: rank for rank, number in enumerate(self._orders.aimed(members, aim))}

    def _run(self, kept: _Kept, members: tuple[int, ...], aim: Aim | None) -> EventOutcomes:
        start = self._start(members, aim)
        if aim is not None and aim.later and members == self.members(aim.number, None):
            kept.deployed[start] = self._aimed_later(start, self.event_outcomes(aim.number))
        if start not in kept.deployed:
            alike = self._victim_key(start.against) if start.against >= 0 and len(members) > 1 else None
            kept.deployed[start] = self._deployed(start) if alike is None else self._after_crowd(start, alike)
        deployed = kept.deployed[start]
        if aim is None:
            return self._losing(deployed, members)
        most, workload = 1 if aim.against else self._most_lost(members), self.simulated.workloads[aim.number]
        return deployed.at(partial(nodes_of, workload, deployed.deployed[0], most, fewest=aim.first))

    def _losing(self, deployed: EventOutcomes, members: tuple[int, ...]) -> EventOutcomes:
        most = self._most_lost(members)
        return deployed.at(partial(nodes_to_lose, self.simulated, deployed.deployed[0], most))

    def _most_lost(self, members: tuple[int, ...]) -> int:
        """Return the most nodes of which the loss is followed, one by one."""
        few = sum(most_pods(self.simulated.member(i)) for i in members) <= MOST_FOLLOWED
        return self.effort.nodes if few else min(self.effort.nodes, FEW_LOST)

    def _start(self, members: tuple[int, ...], aim: Aim | None) -> _Start:
        # Runs are draws: that all unknown manifests change what runs, and that none does, are two of them.
        cases = template_variants(self.simulated, members, most=1)
        if aim:
            cases = (cases[aim.draw % len(cases)],)
        return _Start(
            members,
            tuple(self._precedence(members, aim).items()),
            1 if aim or self._size > FEW_RUN else max(self.effort.runs // len(cases), 1),
            self.effort.seed + (aim.draw if aim else 0),
            aim.number if aim and aim.against else BY_SCORE,
            cases,
        )

    def _aimed_later(self, start: _Start, deployed: EventOutcomes) -> EventOutcomes:
        """Return a deployment without an aim, after which the pods of a workload are tried first or last."""
        timeline = deployed.deployed[0].fork()
        timeline.states, timeline.runs = timeline.states[:1], 1
        timeline.precedence = {self.simulated.workloads[i].ref: rank for i, rank in start.precedence}
        return EventOutcomes(self.simulated, start.members, [timeline], ())

    def _after_crowd(self, start: _Start, alike: Hashable) -> EventOutcomes:
        """Return the deployment of a workload against which the scheduler picks nodes, after that of all others.

        The others, the crowd, are deployed once for all such workloads that are ``alike``.
        """
        number = start.against
        crowd = start._replace(
            members=tuple(i for i in start.members if i != number),
            precedence=tuple(each for each in start.precedence if each[0] != number),
        )
        key = crowd.members, crowd.precedence, crowd.seed, alike
        if key not in self._crowds:
            if len(self._crowds) >= MOST_CROWDS:
                self._crowds.pop(next(iter(self._crowds)))
            (self._crowds[key],) = self._deployed(crowd).deployed
        timeline = self._crowds[key].fork(apart=True)
        timeline.precedence = {self.simulated.workloads[i].ref: rank for i, rank in start.precedence}
        timeline.deploy([as_granted(self.simulated.member(number), self._shares(start))], together=True)
        return EventOutcomes(self.simulated, start.members, [timeline], ())

    def _victim_key(self, number: int) -> Hashable:
        """Return what the deployment of others against a workload depends on; None if it may depend on more."""
        simulated, pod = self.simulated, self.simulated.pods[number]
        is_tied = len(acquaintances(simulated.member(number))) > 1 or pod.host_ports or pod.volumes
        if is_tied or simulated.running or guests_of(simulated).hosted or drivers(simulated) or not simulated.together:
            return None
        return victim_key(pod, simulated.usable[number], simulated.index)

    def follows_alone(self, number: int) -> bool:
        """Whether a course without an aim has no pods of other workloads."""
        return self.members(number, None) == (number,)

    def shape_against(self, number: int) -> Hashable | None:
        """Return the shape of a workload if courses against all workloads of its shape are the same but for names."""
        met = tuple(number in self._orders.crowd(draw) for draw in range(DRAWS))
        if not any(met) and self._victim_key(number) is not None:
            return shape(self.simulated.member(number))
        alike = shape_in_set(self.simulated.member(number))
        return None if alike is None else (alike, met)

    def _deployed(self, start: _Start) -> EventOutcomes:
        simulated = self.simulated
        run = self._from_start if start.against == BY_SCORE and simulated.together else self._from_nothing
        with work.within(work.share(0, 1)) as taken:
            timelines = [run(start, _Variant(changed)) for changed in start.changed]
        if not start.precedence and start.against == BY_SCORE:
            self._longest = max(self._longest, taken.spent / len(timelines) / start.runs)
        unready = []
        if simulated.never_ready.intersection(start.members):
            unready = [run(start, _Variant(changed, unready=True)) for changed in start.changed]
        return EventOutcomes(simulated, start.members, timelines, (), unready)

    def _from_start(self, start: _Start, variant: _Variant) -> Timeline:
        """Return the deployment that goes on from the start that all courses of these members share."""
        if self._starts[0] != start.members:
            self._starts = start.members, {}
        known = self._starts[1]
        if variant not in known:
            known[variant] = self._from_nothing(start._replace(precedence=()), variant, deployed=False)
        granted = self._shares(start)
        chosen = [as_granted(self.simulated.member(i), granted) for i in start.members]
        precedence = {self.simulated.workloads[i].ref: rank for i, rank in start.precedence}
        return anew(known[variant], chosen, start.seed, start.runs, precedence)

    def _from_nothing(self, start: _Start, variant: _Variant, *, deployed: bool = True) -> Timeline:
        simulated, is_against = self.simulated, start.against >= 0
        return timeline_of(
            simulated,
            start.members,
            expected=start.against == BY_SCORE,
            against=simulated.pods[start.against] if is_against else None,
            most_states=0,
            runs=start.runs,
            seed=start.seed,
            preempting=not is_against and self._is_played(start.members),
            guests=guests_of(simulated).hosted,
            precedence=dict(start.precedence),
            changed=variant.changed,
            unready=variant.unready,
            deployed=deployed,
            granted=self._shares(start),
        )

    def _shares(self, start: _Start) -> Mapping[int, int]:
        """Return what quotas grant if workloads create their pods in the order in which the scheduler tries them."""
        ranks = dict(start.precedence)
        return shares(self.simulated, sorted(start.members, key=lambda i: ranks.get(i, 0)))


def course_of(courses: Courses, event: str) -> tuple[Timeline | None, Timeline | None]:
    """Return one random trace as two timelines: before and after the event of the first workload it concerns."""
    simulated = courses.simulated
    if event == "deploy" and simulated.workloads:
        deployed = courses.event_outcomes(0).variants(event, 0)[0][1]
        return (bare_timeline(simulated), deployed) if deployed.states else (None, None)
    for member in simulated.members:
        if not idle(member, event):
            outcomes = courses.event_outcomes(member.number)
            for _, timeline in outcomes.variants(event, member.number):
                if timeline.states:
                    return outcomes.deployed[0], timeline
    return None, None
