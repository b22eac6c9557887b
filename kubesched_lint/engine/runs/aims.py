"""Courses aimed at one workload: the scheduler tries its pods first or last, or picks nodes against it.

``AimedCourses`` follows them where those without an aim agree, as far as no other workload has shown what they tell.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import partial
from typing import NamedTuple

from kubesched_lint.engine.bounds.competition.harder import harder
from kubesched_lint.engine.bounds.counting import Counting
from kubesched_lint.engine.events.answers.cells import BAD, DEPENDS, FINE
from kubesched_lint.engine.events.start.groups import group_in
from kubesched_lint.engine.events.start.shapes import shape_in_set
from kubesched_lint.engine.events.start.simulated_set import UNREACHABLE_OF
from kubesched_lint.engine.model.workloads.workload import Workload
from kubesched_lint.engine.runs.displacing import may_be_displaced
from kubesched_lint.engine.runs.event_outcomes import FinalState
from kubesched_lint.engine.runs.judging import verdict_of


class Aim(NamedTuple):
    """A course aimed at one workload: the scheduler tries its pods first, or last after the others."""

    number: int
    first: bool
    against: bool = False
    """Among the nodes that fit, the scheduler picks the one that keeps pods of the workload waiting the most."""
    draw: int = 0
    """Of the courses against a workload, the first tries the largest pods first, the second the smallest."""
    later: bool = False
    """Only from the event on, after a deployment without an aim."""


AGAIN = 4
"""Number of further courses without an aim where only a bad end is sought."""
DRAWS = 2
"""Number of courses on any nodes that fit, and of those against a workload."""


_SHARED = ("deploy", *UNREACHABLE_OF, *UNREACHABLE_OF.values())
"""Events that concern all workloads alike; budgets set those of a drain apart."""


class AimedCourses:
    """Follows a course aimed at the opposite result where those without an aim agree.

    Workloads of one shape may exchange their names in each course. So what one of them tried in vain is known of the
    others.
    """

    def __init__(
        self,
        counting: Counting,
        courses: Callable[[str, int, Aim], list[FinalState]],
        again: Callable[[str, int, int, Callable[[FinalState], bool]], list[FinalState]],
    ) -> None:
        """``courses`` follows those with an aim, ``again`` one more without, for a draw, and returns sought ends."""
        self._counting = counting
        self._simulated = counting.simulated
        self._courses = courses
        self._again = again
        self._numbers = {workload.key: number for number, workload in enumerate(self._simulated.workloads)}
        self._in_vain: dict[Hashable, int] = {}
        """(event, shape, verdict without an aim) → number of ends of an aimed course, which say the same."""
        self._aimed: dict[tuple[str, int], bool] = {}
        """(event, workload) → whether a course aimed at it ends well."""

    def ends(self, event: str, number: int, ends: list[FinalState]) -> tuple[list[FinalState], int]:
        """Return the ends with those of an aimed course, and how many more are as these."""
        verdict = verdict_of(event, ends)[0]
        if not ends or verdict == DEPENDS:
            return ends, 0
        if verdict == FINE and not any(may_be_displaced(end, partial(self._lacking, event)) for end in ends):
            return ends, 0
        shape = shape_in_set(self._simulated.member(number))
        key = None if shape is None else (event, shape, verdict)
        if key in self._in_vain:
            return ends, self._in_vain[key]
        if verdict != BAD and event in _SHARED and self._is_aimed_well(event, number):
            return ends, 0
        aimed = self._followed(event, number, first=verdict == BAD)
        if key is not None and verdict_of(event, [*ends, *aimed])[0] != DEPENDS:
            self._in_vain[key] = len(aimed)
        return [*ends, *aimed], 0

    def until_bad(self, event: str, number: int, ends: list[FinalState]) -> tuple[list[FinalState], int]:
        """Return as ``ends`` does, with the ends of further courses until one is bad.

        Which course meets a bad end is luck, so that several have to meet none.
        """
        if not ends or verdict_of(event, ends)[0] != FINE:
            return ends, 0
        ends, others = self.ends(event, number, ends)
        for draw in range(AGAIN if verdict_of(event, ends)[0] == FINE else 0):
            bad_ends = self._again(event, number, draw, lambda end: verdict_of(event, [end])[0] == BAD)
            if bad_ends:
                return [*ends, *bad_ends], others
        return ends, others

    def _is_aimed_well(self, event: str, number: int) -> bool:
        """Whether a course aimed at a workload that finds room harder ends well for that; False if none is harder."""
        hardest = harder(self._simulated.member(number))
        if hardest == number:
            return False
        key = event, hardest
        if key not in self._aimed:
            ends = self._followed(event, hardest, first=False)
            self._aimed[key] = bool(ends) and verdict_of(event, ends)[0] == FINE
        return self._aimed[key]

    def _lacking(self, event: str, workload: Workload) -> int:
        """Return how many pods of a workload no order gives a node; 0 if it is none of the set."""
        number = self._numbers.get(workload.key)
        if number is None:
            return 0
        bounds = self._counting.bounds(event, group_in(self._simulated.member(number), event), number)
        return bounds.wanted - bounds.most.pods

    def _followed(self, event: str, number: int, *, first: bool) -> list[FinalState]:
        later = event != "deploy" and self._is_surely_deployed(number)
        return self._courses(event, number, Aim(number, first=first, later=later))

    def _is_surely_deployed(self, number: int) -> bool:
        """Whether no order of a deployment keeps pods of a workload waiting: then no course aims at it before."""
        group = group_in(self._simulated.member(number), "deploy")
        return self._counting.bounds("deploy", group, number).is_fine
