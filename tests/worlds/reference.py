"""The exhaustive reference: every order of every step, plain code over nodes and pods, nothing of the product.

``outcomes(world)`` applies the manifests to the cluster, with what is passing about nodes (cordons) passed, and follows
the API server, the controllers, the volume controller and the scheduler through every interleaving and every choice of
a feasible node until nothing moves. Only decoding and the model's records come from the product.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import NamedTuple

from msgspec import Struct

from tests.worlds.admission import NotCoveredError
from tests.worlds.controllers import State
from tests.worlds.courses import Courses
from tests.worlds.generator import World

MOST_STATES = 1_500


class End(NamedTuple):
    """Where one workload ends in one course."""

    bound: int
    fresh: int
    """Bound pods of the newest template."""
    whole: bool
    """All that are wanted are bound and fresh, and there are no others."""


class Ends(Struct, frozen=True):
    """All ends of one workload."""

    wanted: int
    ends: frozenset[End]

    @property
    def least(self) -> int:
        return min(end.bound for end in self.ends)

    @property
    def most(self) -> int:
        return max(end.bound for end in self.ends)

    @property
    def may_be_whole(self) -> bool:
        return any(end.whole for end in self.ends)

    @property
    def may_lack(self) -> bool:
        return any(not end.whole for end in self.ends)


class Outcomes(Struct, frozen=True, dict=True):
    """``names`` are ``Kind namespace/name``; each row of ``rows`` has one end per name, in their order."""

    names: tuple[str, ...]
    wanted: tuple[int, ...]
    rows: frozenset[tuple[End, ...]]
    states: int

    @cached_property
    def of(self) -> dict[str, Ends]:
        return {name: Ends(self.wanted[i], frozenset(row[i] for row in self.rows)) for i, name in enumerate(self.names)}

    def fewest_lacking(self, names: Iterable[str]) -> int:
        """How many pods of these workloads together lack at least, whatever the course."""
        numbers = [self.names.index(name) for name in names]
        return min(
            sum(0 if row[i].whole else max(self.wanted[i] - row[i].fresh, 1) for i in numbers) for row in self.rows
        )


def outcomes(world: World, most_states: int = MOST_STATES) -> Outcomes | None:
    """None where the search grows too large, or the world has what the reference does not know."""
    try:
        return _search(Courses(world), most_states)
    except NotCoveredError:
        return None


def why_not(world: World, most_states: int = MOST_STATES) -> str:
    """Why ``outcomes`` says nothing; empty when it does."""
    try:
        return "" if _search(Courses(world), most_states) is not None else "too many states"
    except NotCoveredError as reason:
        return str(reason)


def _search(courses: Courses, most_states: int) -> Outcomes | None:
    final: set[State] = set()
    seen = {courses.start()}
    stack = list(seen)
    while stack:
        state = stack.pop()
        after = list(courses.after(state))
        if not after:
            final.add(state)
        for other in after:
            if other not in seen:
                seen.add(other)
                stack.append(other)
        if len(seen) > most_states:
            return None
    if not final:
        raise NotCoveredError("it never comes to rest")
    names = courses.names()
    numbers = range(len(names))
    rows = frozenset(tuple(End(*courses.end(state, i)) for i in numbers) for state in final)
    return Outcomes(tuple(names), tuple(courses.wanted(i) for i in numbers), rows, len(seen))


def walked(courses: Courses) -> Iterator[State]:
    """The states that can be reached, each once."""
    seen = {courses.start()}
    stack = list(seen)
    while stack:
        state = stack.pop()
        yield state
        for other in courses.after(state):
            if other not in seen:
                seen.add(other)
                stack.append(other)


def course(world: World, reaches: object, most_states: int = MOST_STATES) -> Iterator[str]:
    """One shortest course, line by line, to an end of which ``reaches(courses, state)`` is true: for reproductions."""
    courses = Courses(world)
    start = courses.start()
    before: dict[State, State | None] = {start: None}
    queue = [start]
    for state in queue:
        after = list(courses.after(state))
        if not after and callable(reaches) and reaches(courses, state):
            path = [state]
            while (earlier := before[path[-1]]) is not None:
                path.append(earlier)
            yield from (courses.described(one) for one in reversed(path))
            return
        for other in after:
            if other not in before and len(before) < most_states:
                before[other] = state
                queue.append(other)
