"""All states that a phase can end in: an exact search over canonical states, until it is done or a cap is reached."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from random import Random

from kubesched_lint import work
from kubesched_lint.lifecycle.motion import Motion, Move
from kubesched_lint.lifecycle.stage import Stage
from kubesched_lint.lifecycle.world import State, Step, settled
from kubesched_lint.record import record

Extra = Callable[[State], Iterator[Move]]
"""Moves that an event adds to those of scheduler and controllers."""

DEFAULT_STATES = 20_000
MOVES_EACH = 100
"""Moves that are looked at for each state that may be: twins lead to the same ones."""

MOST_WORK = 250_000
"""Of all courses of a phase: about a second. A step costs ``_STEP``, and 1 for each node and entry of its state."""
_STEP = 50


@record
class Scene:
    """One phase of a trace: its steps, each with the state it led to; node positions are those of ``stage``."""

    name: str
    stage: Stage
    start: State
    steps: tuple[tuple[Step, State], ...]

    @property
    def end(self) -> State:
        return self.steps[-1][1] if self.steps else self.start

    @cached_property
    def lines(self) -> dict[str, str]:
        """The scene in words, by what sets it going: whoever tells it keeps them here."""
        return {}


def _work(state: State) -> int:
    held = sum(map(len, state.bound)) + sum(map(len, state.pinned)) + len(state.waiting)
    return _STEP + len(state.bound) + held


@dataclass(slots=True)
class Exploration:
    """``finals`` are canonical states in which nothing moves, all of them when ``complete``."""

    finals: dict[State, State] = field(default_factory=dict)
    """Each final, settled, with the state that it settled from."""
    parents: dict[State, tuple[State, Step] | None] = field(default_factory=dict)
    """Each canonical state seen, with one it was first reached from."""
    complete: bool = True
    told: dict[int, tuple[State, Scene]] = field(default_factory=dict)
    """Of seeded courses, by ``id`` of a final: it, and the course that leads there."""

    @property
    def states(self) -> int:
        return len(self.parents)


def explore(
    motion: Motion, starts: Iterable[State], extra: Extra | None = None, *, most_states: int = DEFAULT_STATES
) -> Exploration:
    """Every state reachable from ``starts``; at the cap it stops, and says that it is not ``complete``."""
    canonical = motion.stage.symmetry.canonical
    found = Exploration()
    stack: list[State] = []
    most_moves = MOVES_EACH * max(1, most_states)
    for start in starts:
        state = canonical(motion.settle(start))
        if state not in found.parents:
            found.parents[state] = None
            stack.append(state)
    while stack:
        if len(found.parents) > most_states:
            found.complete = False
            return found
        state = stack.pop()
        moved = False
        work.spend(_STEP)
        for step, after in all_moves(motion, state, extra):
            moved = True
            most_moves -= 1
            if most_moves < 0:  # a single state may have more than can be followed
                found.complete = False
                return found
            next_state = canonical(after)
            if next_state not in found.parents:
                found.parents[next_state] = (state, step)
                stack.append(next_state)
        if not moved:
            found.finals[canonical(settled(state))] = state
    return found


def run_once(
    motion: Motion, start: State, random: Random, extra: Extra | None = None, *, most_work: int = MOST_WORK
) -> tuple[list[tuple[Step, State]], int]:
    """One course of a phase, drawn at random, and its work: each step with the state after it, the last one final.

    No steps where it took more work than ``most_work``.
    """
    state = motion.settle(start)
    steps = [(Step("start"), state)]
    done = 0
    while True:
        done += _work(state)
        if done > most_work:
            return [], done
        move = None
        if extra is not None:
            evictions = list(extra(state))
            if evictions and random.random() < 0.5:
                move = random.choice(evictions)
        move = move or motion.any_move(state, random)
        if move is None and extra is not None and evictions:
            move = random.choice(evictions)
        if move is None:
            return steps, done
        steps.append(move)
        state = move[1]


def explore_by_runs(
    motion: Motion, starts: Sequence[State], random: Random, extra: Extra | None = None, *, runs: int = 1
) -> Exploration:
    """Some of the ends, from ``runs`` drawn courses over the starts in turn: witnesses, never a proof.

    Together they do no more than ``MOST_WORK``; what is cut short has no end.
    """
    found = Exploration(complete=False)
    left = MOST_WORK
    for i in range(max(runs, len(starts)) if starts else 0):
        before: State | None = None
        steps, done = run_once(motion, starts[i % len(starts)], random, extra, most_work=left)
        left -= done
        if not steps:
            break
        work.spend(len(steps))
        for step, state in steps:
            if state not in found.parents:
                found.parents[state] = None if before is None else (before, step)
            before = state
        assert before is not None
        found.finals[settled(before)] = before
    return found


def all_moves(motion: Motion, state: State, extra: Extra | None) -> Iterator[Move]:
    yield from motion.moves(state)
    if extra is not None:
        yield from extra(state)
