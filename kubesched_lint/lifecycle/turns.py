"""The orders in which the scheduler of a course tries waiting pods: any, or those of one workload first or last."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from kubesched_lint.lifecycle.event_outcomes import FinalState
from kubesched_lint.lifecycle.judging import verdict_of
from kubesched_lint.lifecycle.verdicts import BAD

TURNS = 3


class Aim(NamedTuple):
    """A course aimed at one workload: the scheduler tries its pods first, or last after others in a drawn order."""

    number: int
    first: bool
    draw: int
    against: bool = False
    """Among the nodes that fit, the scheduler picks the one that keeps pods of the workload waiting the most."""


AIMS = 6
"""Number of courses aimed at a workload for which all earlier courses agree."""
DRAWS_AGAINST = 2
"""Number of courses against a workload: the first tries the largest pods first, the second the smallest."""
Turn = int | Aim


def turns(event: str, number: int, ends: Sequence[FinalState]) -> Sequence[Turn]:
    """Return the turns to try next where courses agree; the last ones aim at the opposite result."""
    first = verdict_of(event, ends)[0] == BAD
    return (*range(1, TURNS + 1), *(Aim(number, first, draw) for draw in range(AIMS))) if ends else ()
