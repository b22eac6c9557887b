"""All states in which a phase can end: an exact search over canonical states, until it is complete or hits a cap."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from random import Random

from msgspec import Struct, field

from kubesched_lint.engine.base import work
from kubesched_lint.engine.base.identity import ByIdentity
from kubesched_lint.engine.events.limits import MOST_WORK, MOVES_EACH
from kubesched_lint.engine.events.states.states import State, Step, settled
from kubesched_lint.engine.events.transitions.placement_model import PlacementModel
from kubesched_lint.engine.events.transitions.transitions import Move, Transitions

Extra = Callable[[State], Iterator[Move]]
"""Moves that an event adds to those of scheduler and controllers; the controllers still have to create their pods."""
Draw = Callable[[State, Random], Move | None]
"""A random one of these moves, found without listing them all."""
Enter = Callable[[State], Iterator[State]]
"""Yields the starts of a phase from an end of the phase before it."""

DEFAULT_STATES = 20_000


def as_it_is(state: State) -> Iterator[State]:
    yield state


def in_turn(changes: Sequence[Enter]) -> Enter:
    """Return one change that makes all ``changes`` in order; most deployments change no replicas."""
    if len(changes) < 2:
        return changes[0] if changes else as_it_is
    first, then = changes[0], in_turn(changes[1:])

    def enter(state: State) -> Iterator[State]:
        for between in first(state):
            yield from then(between)

    return enter


class TracePart(Struct, frozen=True, dict=True):
    """One phase of a trace: its steps, each with the state it led to; node positions are those of ``model``."""

    name: str
    model: PlacementModel
    start: State
    steps: tuple[tuple[Step, State], ...]
    names: Mapping[str, str] = field(default_factory=dict)
    """Node of the trace → the equal node where the cluster file shows its pods, if that is another one."""

    def node(self, position: int) -> str:
        """Return the name of a node for people."""
        name = self.model.index.names[position]
        return self.names.get(name, name)

    @property
    def end(self) -> State:
        return self.steps[-1][1] if self.steps else self.start

    @cached_property
    def settled(self) -> State:
        """The end after all fresh pods were tried."""
        return settled(self.end)

    @cached_property
    def moved(self) -> tuple[tuple[str, int], ...]:
        """What happens in each step, and to a pod of which workload (-1: to none)."""
        slots = self.model.pod_types.slots
        return tuple((step.what, slots[step.slot].workload if step.slot >= 0 else -1) for step, _ in self.steps)

    @cached_property
    def newest(self) -> Mapping[int, int]:
        """The newest revision in the part of each workload that has several."""
        slots = {step.slot for step, _ in self.steps if step.slot >= 0}
        for state in (self.start, self.end):
            slots.update(_present(state))
        newest: dict[int, int] = {}
        for slot in slots:
            workload, revision, _ = self.model.pod_types.slots[slot]
            newest[workload] = max(newest.get(workload, 0), revision)
        return {workload: revision for workload, revision in newest.items() if revision}


def _present(state: State) -> Iterator[int]:
    for held in filter(None, (*state.bound, state.leaving)):  # most nodes are empty
        yield from (slot for slot, _ in held)
    for queue in filter(None, (state.waiting, *state.pinned)):
        yield from (slot for slot, _, _ in queue)


def _work(state: State) -> int:
    held = sum(map(len, filter(None, state.bound))) + sum(map(len, filter(None, state.pinned))) + len(state.waiting)
    return work.PLACE + len(state.bound) + held


class Exploration:
    """``finals`` are canonical states without a move, all of them if ``complete``."""

    __slots__ = ("complete", "finals", "forms", "parents", "parts")

    def __init__(self, complete: bool = True) -> None:
        self.finals: dict[State, State] = {}
        """Settled final → the state before it settled."""
        self.parents: dict[State, tuple[State, Step] | None] = {}
        """Canonical state seen → (the state from which it was first reached, the step), None for a start."""
        self.complete = complete
        self.parts: ByIdentity[State, TracePart] = ByIdentity()
        """For seeded courses: a final → the course that leads there."""
        self.forms: dict[State, State] = {}
        """Start → its canonical form once the controllers acted, as far as a trace asked for it."""

    @property
    def states(self) -> int:
        return len(self.parents)


def explore(
    transitions: Transitions, starts: Iterable[State], extra: Extra | None = None, *, most_states: int = DEFAULT_STATES
) -> Exploration:
    """Return the states reachable from ``starts``; stop at the cap with ``complete`` False."""
    canonical = transitions.model.symmetry.canonical
    exploration = Exploration()
    stack: list[State] = []
    most_moves = MOVES_EACH * max(1, most_states)
    for start in starts:
        state = canonical(transitions.settle(start))
        if state not in exploration.parents:
            exploration.parents[state] = None
            stack.append(state)
    while stack:
        if len(exploration.parents) > most_states:
            exploration.complete = False
            return exploration
        state = stack.pop()
        moved = False
        work.spend(work.PLACE)
        for step, after in all_moves(transitions, state, extra):
            work.spend(work.CALL + len(state.bound) // 32)
            moved = True
            most_moves -= 1
            if most_moves < 0:  # a single state may have too many moves
                exploration.complete = False
                return exploration
            next_state = canonical(after)
            if next_state not in exploration.parents:
                exploration.parents[next_state] = (state, step)
                stack.append(next_state)
        if not moved:
            exploration.finals[canonical(settled(state))] = state
    return exploration


def run_once(
    transitions: Transitions,
    start: State,
    random: Random,
    extra: Extra | None = None,
    draw: Draw | None = None,
    *,
    most_work: int = MOST_WORK,
) -> tuple[list[tuple[Step, State]], int]:
    """Return one random course of a phase and its work: each step with the state after it, the last one final.

    The course has no steps if it took more work than ``most_work``.
    """
    work.spend(work.LOOK * len(transitions.desired_states))
    state = transitions.settle(start)
    steps = [(Step("start"), state)]
    done = 0
    while True:
        cost = _work(state)
        work.spend(2 * work.PLACE + cost // 8)
        done += cost
        if done > most_work:
            return [], done
        move = _drawn(transitions, state, random, draw) if draw else _listed(transitions, state, random, extra)
        if move is None:
            return steps, done
        steps.append(move)
        state = move[1]


def _listed(transitions: Transitions, state: State, random: Random, extra: Extra | None) -> Move | None:
    evictions = extra(state) if extra is not None else iter(())
    first = next(evictions, None)
    if first is not None and random.random() < 0.5:
        return _settled(transitions, _one_of([first, *evictions], state, random))
    move = transitions.any_move(state, random)
    if move is None and first is not None:
        return _settled(transitions, _one_of([first, *evictions], state, random))
    return move


def _one_of(moves: Sequence[Move], state: State, random: Random) -> Move:
    """Return a random move: of all pods that may go next, each is as likely as any other."""
    return random.choices(moves, [_pods_alike(step, state) for step, _ in moves])[0]


def _pods_alike(step: Step, state: State) -> int:
    """Return how many pods a step may take: any of those on its node, or on the lost nodes, that are in its slot."""
    there = state.bound[step.position] if step.position >= 0 else state.leaving
    return next((count for slot, count in there if slot == step.slot), 1)


def _settled(transitions: Transitions, move: Move) -> Move:
    step, after = move
    return step, transitions.settle(after, step.slot)


def _drawn(transitions: Transitions, state: State, random: Random, draw: Draw) -> Move | None:
    move = draw(state, random) if random.random() < 0.5 else None
    return move or transitions.any_move(state, random) or draw(state, random)


def explore_by_runs(
    each: Sequence[Transitions],
    starts: Sequence[State],
    random: Random,
    extra: Extra | None = None,
    draw: Draw | None = None,
    *,
    runs: int = 1,
    most_work: int = MOST_WORK,
    is_last: Callable[[State], bool] = lambda _: False,
) -> Exploration:
    """Return some of the ends, from ``runs`` random courses over the starts in turn: witnesses, never a proof.

    No further course is followed after an end for which ``is_last`` is true.

    ``each`` has the transitions of each start, or one for all. The courses take at most ``most_work`` together; one
    that is cut short has no end.
    """
    exploration = Exploration(complete=False)
    left = most_work
    for i in range(max(runs, len(starts)) if starts else 0):
        place = i % len(starts)
        transitions = each[place % len(each)]
        steps, done = run_once(transitions, starts[place], random, extra, draw, most_work=left)
        left -= done
        if not steps:
            break
        before = steps[-1][1]
        final = settled(before)
        if draw is not None:  # these courses are long, and comparing all their states is slow
            final = next((known for known in exploration.finals if known == final), final)
            part = TracePart("", transitions.model, steps[0][1], tuple(steps[1:]))
            exploration.parts.setdefault(final, part)
        else:
            _remember(steps, exploration.parents)
        exploration.finals[final] = before
        if is_last(final):
            break
    return exploration


def _remember(steps: Sequence[tuple[Step, State]], parents: dict[State, tuple[State, Step] | None]) -> None:
    before: State | None = None
    for step, state in steps:
        parents.setdefault(state, None if before is None else (before, step))
        before = state


def all_moves(transitions: Transitions, state: State, extra: Extra | None) -> Iterator[Move]:
    yield from transitions.moves(state)
    for move in extra(state) if extra is not None else ():
        yield _settled(transitions, move)
