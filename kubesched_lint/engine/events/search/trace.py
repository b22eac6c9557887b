"""One concrete course of events that leads to an end, node by node, and its replay by the scheduler alone.

The search keeps canonical states, in which equal nodes may be swapped between two moves. So a trace repeats the path
with real nodes: each move is one whose canonical form is the next state of the path.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kubesched_lint.engine.events.search.events import Phase
from kubesched_lint.engine.events.search.explore import TracePart, all_moves
from kubesched_lint.engine.events.states.states import State, Step


def trace(phases: Sequence[Phase], final: State) -> tuple[TracePart, ...]:
    """Return the parts of all phases by which the last one ends in ``final``, one of its finals.

    Raises LookupError if the phases do not lead there, which would be a bug in the search.
    """
    paths: list[list[State]] = []
    target = final
    targets = [final]
    for phase in reversed(phases):
        known = _known(phase, target)
        path = _path(phase, target) if known is None else [known.start]
        paths.append(path)
        before = phase.origins.values() if len(phase.origins) == 1 else set(phase.origins.values())
        if len(before) == 1:  # a search for the start would run all controllers again
            (origin,) = before
        else:
            origin = next(o for s, o in phase.origins.items() if _start_form(phase, s) == path[0])
        target = origin
        targets.append(origin)
    at = target
    parts: list[TracePart] = []
    moved: list[int] = []
    for phase, path, wanted in zip(phases, reversed(paths), reversed(targets[:-1]), strict=True):
        part = _known(phase, wanted) or _walk(phase, at, path)
        if phase.sampled:  # many traces begin with the same course
            phase.exploration.parts[wanted] = part
        parts.append(part)
        at = part.settled
        if at != wanted and all(len(s.start.bound) == len(at.bound) for s in parts):
            # The same end up to a swap of equal nodes: rename the nodes in all earlier parts.
            to = phase.transitions.model.symmetry.renaming(at)
            parts = [_renamed(s, to) for s in parts]
            moved = [to[position] for position in moved or range(len(to))]
            at = wanted
    return tuple(_as_it_was(parts, moved))


def _as_it_was(parts: Sequence[TracePart], moved: Sequence[int]) -> Iterator[TracePart]:
    """Yield the parts with the names of the nodes on which pods ran before the first part, if it was renamed."""
    if not moved or not any(parts[0].start.bound):
        yield from parts
        return
    own = parts[0].model.index.names
    names = {own[to]: own[position] for position, to in enumerate(moved) if to != position}
    yield from (TracePart(s.name, s.model, s.start, s.steps, names) for s in parts)


def _known(phase: Phase, final: State) -> TracePart | None:
    """Return the cached course to an end, or None."""
    part = phase.exploration.parts.get(final)
    if part is not None and part.name != phase.name:  # a drawn course does not know its event
        part = TracePart(phase.name, part.model, part.start, part.steps)
        phase.exploration.parts[final] = part
    return part


def _renamed(part: TracePart, to: Sequence[int]) -> TracePart:
    steps = tuple(
        (s._replace(position=to[s.position] if s.position >= 0 else -1), _moved(t, to)) for s, t in part.steps
    )
    return TracePart(part.name, part.model, _moved(part.start, to), steps)


def _moved(state: State, to: Sequence[int]) -> State:
    source = {position: source for source, position in enumerate(to)}
    places = [source[position] for position in range(len(to))]
    return state._replace(
        bound=tuple(state.bound[p] for p in places),
        pinned=tuple(state.pinned[p] for p in places),
        holds=tuple(state.holds[p] for p in places) if state.holds else (),
    )


def _start_form(phase: Phase, start: State) -> State:
    """Return the canonical form of a start after the controllers acted; many traces of a phase ask for it."""
    known = phase.exploration.forms
    if start not in known:
        known[start] = phase.transitions.model.symmetry.canonical(phase.transitions.settle(start))
    return known[start]


def _path(phase: Phase, final: State) -> list[State]:
    """Return the canonical states from a start to the state that settled into ``final``."""
    state = phase.exploration.finals.get(final)
    if state is None:
        raise LookupError(f"phase {phase.name} does not end in the given state")
    path = [state]
    while (parent := phase.exploration.parents[path[-1]]) is not None:
        path.append(parent[0])
    return path[::-1]


def _walk(phase: Phase, before: State, path: Sequence[State]) -> TracePart:
    transitions, canonical = phase.transitions, phase.transitions.model.symmetry.canonical
    if phase.sampled:
        known = [(phase.exploration.parents[state], state) for state in path[1:]]
        return TracePart(
            phase.name, transitions.model, path[0], tuple((p[1], state) for p, state in known if p is not None)
        )
    starts = (transitions.settle(s) for s in phase.enter(before))
    state = start = next((s for s in starts if canonical(s) == path[0]), None)
    if state is None or start is None:
        raise LookupError(f"phase {phase.name} does not start where its trace does")
    steps = []
    for wanted in path[1:]:
        for step, after in all_moves(transitions, state, phase.extra):
            if canonical(after) == wanted:
                steps.append((step, after))
                state = after
                break
        else:
            raise LookupError(f"phase {phase.name}: no move leads on along the trace")
    return TracePart(phase.name, transitions.model, start, tuple(steps))


def replays(part: TracePart) -> bool:
    """Whether the scheduler, run again at each binding, may choose the node in the trace."""
    state = part.start
    for step, after in part.steps:
        if step.what in ("bind", "preempt"):
            pinned = step.position if _waits_pinned(part, state, step) else -1
            candidate_nodes = part.model.candidate_nodes(state, step.slot, pinned)
            if step.what == "bind" and step.position not in candidate_nodes:
                return False
            freed = part.model.evictions(state, step.slot, pinned)
            if step.what == "preempt" and (candidate_nodes or all(step.position != e.position for e in freed)):
                return False
        state = after
    return True


def _waits_pinned(part: TracePart, state: State, step: Step) -> bool:
    return any(slot == step.slot for slot, _, _ in state.pinned[step.position])
