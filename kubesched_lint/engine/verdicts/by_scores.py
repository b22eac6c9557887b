"""Cells between a proof and a witness: all tried courses end well by the scores of the default scheduler.

A course that takes any feasible node and ends badly shows that no proof for every scheduler exists. It is not a course
of the default scheduler, so it gives no warning. Such courses run last, with the work that is left.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

from msgspec.structs import replace

from kubesched_lint.engine.base import work
from kubesched_lint.engine.base.places import ObjectRef
from kubesched_lint.engine.events.answers.cells import BAD, BY_SCORES, LIKELY, Cell
from kubesched_lint.engine.events.start.preemption_scope import drivers
from kubesched_lint.engine.model.workloads.workload import Workload
from kubesched_lint.engine.runs.aims import DRAWS
from kubesched_lint.engine.runs.courses import Courses
from kubesched_lint.engine.runs.displacing import is_nearly_displaced
from kubesched_lint.engine.runs.event_outcomes import FinalState
from kubesched_lint.engine.runs.judging import verdict_of, with_details
from kubesched_lint.engine.runs.narrate import witness
from kubesched_lint.engine.verdicts.matrix import Matrix, Row

LACKING = "a proof that no other trace of the default scheduler ends badly"


def with_scores(rows: Sequence[Row], matrix: Matrix) -> tuple[Row, ...]:
    """Return the rows with open cells decided by scores, as far as the remaining work allows.

    First the scheduler picks any node that fits, as with other weights of its scores: one course serves all cells. Then
    it picks those against a workload.
    """
    decided = list(rows)
    try:
        with work.within(work.share(0, 4 / 3)):
            for find in (_anywhere, _against):
                known = _Known(find, {}, {})
                for i, row in enumerate(decided):
                    decided[i] = replace(
                        row, cells=tuple(_by_scores(cell, row.number, matrix, known) for cell in row.cells)
                    )
    except work.OutOfWorkError:
        pass  # the other cells stay as they are
    return tuple(decided)


class _Known(NamedTuple):
    """The ends that were found, which all workloads of one shape share: (event, shape) → ends."""

    find: Callable[[Courses, str, int], Sequence[FinalState]]
    """Returns bad ends of an event for a workload; empty if it finds none."""
    bad: dict[tuple[str, Hashable], tuple[int, Sequence[FinalState]]]
    """The workload that was asked about, and its bad ends."""
    good: dict[tuple[str, Hashable], FinalState]

    def bad_of(self, courses: Courses, event: str, number: int) -> tuple[int, Sequence[FinalState]]:
        key = event, courses.shape_against(number)
        if key[1] is None:
            return number, self.find(courses, event, number)
        if key not in self.bad:
            self.bad[key] = number, self.find(courses, event, number)
        return self.bad[key]

    def good_of(self, matrix: Matrix, event: str, number: int) -> FinalState:
        courses = matrix.seeded
        key = event, courses.shape_against(number) if courses.follows_alone(number) else None
        if key[1] is None:
            return matrix.courses(event, number)[0]
        if key not in self.good:
            self.good[key] = matrix.courses(event, number)[0]
        return self.good[key]


def _by_scores(cell: Cell, number: int, matrix: Matrix, known: _Known) -> Cell:
    place, simulated = matrix.place(number), matrix.simulated
    if place is None or cell.verdict != LIKELY or simulated.workloads[place].kind == "Job" or simulated.never_ready:
        return cell
    if not matrix.effort.tries_scores(simulated.workloads[place].ref, cell.event):
        return cell
    shown, bad = known.bad_of(matrix.seeded, cell.event, place)
    if not bad:
        return cell
    decided = replace(
        cell,
        verdict=BY_SCORES,
        stuck=verdict_of(cell.event, bad)[1],
        text=f"{cell.wanted}/{cell.wanted} by scores{' *' * cell.text.endswith(' *')}",
        why=f"with other nodes chosen among those that fit, one trace ends badly; {cell.why}",
        missing=(LACKING,),
    )
    workload, example = simulated.workloads[place], simulated.workloads[shown]
    decided = with_details(decided, bad, simulated.member(shown), workload)
    if isinstance(decided.blamed, Workload) and decided.blamed.key == example.key:
        decided = replace(decided, blamed=workload)
    return replace(decided, best=witness(known.good_of(matrix, cell.event, place), workload))


def _anywhere(courses: Courses, event: str, number: int) -> Sequence[FinalState]:
    """Return bad ends of courses on any nodes that fit."""
    is_sought = _is_bad(event) if courses.preempts(number) else _is_surely_bad(courses, event)
    return _in_draws(partial(courses.ends_anywhere, event, number), is_sought)


def _against(courses: Courses, event: str, number: int) -> Sequence[FinalState]:
    """Return bad ends of courses against a workload."""
    if courses.simulated.workloads[number].ref in _strong(courses):
        return ()
    return _in_draws(partial(courses.ends_against, event, number), _is_surely_bad(courses, event))


def _in_draws(
    follow: Callable[[int, Callable[[FinalState], bool]], Sequence[FinalState]], is_sought: Callable[[FinalState], bool]
) -> Sequence[FinalState]:
    """Return the sought ends that ``follow`` finds, in the second draw only if the first nearly keeps a pod waiting."""
    ends: list[FinalState] = []

    def noted(end: FinalState) -> bool:
        ends.append(end)
        return is_sought(end)

    for draw in range(DRAWS):
        bad_ends = follow(draw, noted)
        if bad_ends or not any(map(is_nearly_displaced, ends)):
            return bad_ends
        ends.clear()
    return ()


def _is_bad(event: str) -> Callable[[FinalState], bool]:
    return lambda end: verdict_of(event, [end])[0] == BAD


def _is_surely_bad(courses: Courses, event: str) -> Callable[[FinalState], bool]:
    """Whether an end is bad where a course follows no preemption: it says nothing if a pod waits that may preempt."""
    is_bad, strong = _is_bad(event), _strong(courses)
    return lambda end: is_bad(end) and strong.isdisjoint(_waiting(end))


def _strong(courses: Courses) -> frozenset[ObjectRef]:
    """Return the workloads whose pods may preempt others."""
    return frozenset(courses.simulated.workloads[i].ref for i in drivers(courses.simulated))


def _waiting(end: FinalState) -> Iterator[ObjectRef]:
    """Yield the workloads whose pods wait."""
    pod_types = end.timeline.pod_types
    for queue in (end.state.waiting, *end.state.pinned):
        yield from (pod_types.revisions[pod_types.slots[slot].workload][0].ref for slot, _, _ in queue)
