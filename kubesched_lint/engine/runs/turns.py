"""The orders in which the scheduler of a course tries waiting pods: any, or those of one workload first or last.

``LaterTurns`` follows those after the first, as far as another workload has not shown what they tell.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import NamedTuple, Protocol

from kubesched_lint.engine.answers.cells import BAD, DEPENDS, FINE
from kubesched_lint.engine.bounds.competition.harder import harder
from kubesched_lint.engine.events.start.shapes import shape_in_set
from kubesched_lint.engine.events.start.simulated_set import UNREACHABLE_OF, SimulatedSet
from kubesched_lint.engine.runs.event_outcomes import FinalState
from kubesched_lint.engine.runs.judging import verdict_of

TURNS = 3


class Aim(NamedTuple):
    """A course aimed at one workload: the scheduler tries its pods first, or last after others in a drawn order."""

    number: int
    first: bool
    draw: int
    against: bool = False
    """Among the nodes that fit, the scheduler picks the one that keeps pods of the workload waiting the most."""


AIMS = 1
"""Number of courses aimed at a workload for which all earlier courses agree."""
DRAWS_AGAINST = 2
"""Number of courses against a workload: the first tries the largest pods first, the second the smallest."""
Turn = int | Aim


class Courses(Protocol):
    def __call__(
        self, event: str, number: int, turn: Turn, *, before: Sequence[FinalState] = ()
    ) -> list[FinalState]: ...


_SHARED = ("deploy", *UNREACHABLE_OF, *UNREACHABLE_OF.values())
"""Events that concern all workloads alike; budgets set those of a drain apart."""


class LaterTurns:
    """Follows more courses where those of turn 0 agree: the last ones aim at the opposite result.

    Workloads of one shape may exchange their names in each course. So what one of them tried in vain is known of the
    others, and what made courses of one disagree is tried first for the next.
    """

    def __init__(self, simulated: SimulatedSet, courses: Courses) -> None:
        self._simulated = simulated
        self._courses = courses
        self._known: dict[Hashable, tuple[int, int]] = {}
        """(event, shape, verdict of turn 0) → (place of the turn that ends otherwise, -1: none; number of ends)."""
        self._aimed: dict[tuple[str, int], bool] = {}
        """(event, workload) → whether a course aimed at it ends well."""

    def ends(self, event: str, number: int, ends: list[FinalState]) -> tuple[list[FinalState], int]:
        """Return the ends of turn 0 with those of later turns, until they disagree, and how many more are as these."""
        first = verdict_of(event, ends)[0]
        if not ends or first == DEPENDS:
            return ends, 0
        later = (*range(1, TURNS + 1), *(Aim(number, first == BAD, draw) for draw in range(AIMS)))
        shape = shape_in_set(self._simulated.member(number))
        key = None if shape is None else (event, shape, first)
        telling, others = self._known.get(key, (0, 0))
        if telling < 0:
            return ends, others
        if (
            first != BAD
            and event in _SHARED
            and self._is_aimed_well(event, harder(self._simulated.member(number)), number)
        ):
            later = later[:TURNS]
        found = list(ends)
        for place in sorted(range(len(later)), key=lambda place: place != telling):
            found += self._courses(event, number, later[place], before=found)
            if verdict_of(event, found)[0] == DEPENDS:
                break
        else:
            place = -1
        if key is not None:
            self._known.setdefault(key, (place, len(found) - len(ends)))
        return found, 0

    def _is_aimed_well(self, event: str, hardest: int, number: int) -> bool:
        """Whether a course aimed at a harder workload ends well for that; False if none is harder."""
        if hardest == number:
            return False
        key = event, hardest
        if key not in self._aimed:
            ends = self._courses(event, hardest, Aim(hardest, first=False, draw=0))
            self._aimed[key] = bool(ends) and verdict_of(event, ends)[0] == FINE
        return self._aimed[key]
