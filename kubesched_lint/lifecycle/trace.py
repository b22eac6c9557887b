"""One concrete course of events that leads to an end, node by node, and its replay by the scheduler alone.

The search keeps canonical states, in which alike nodes may have been swapped between two moves; a trace is walked again
with real nodes, each move chosen so that its canonical form is the one on the path.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kubesched_lint.lifecycle.events import Phase
from kubesched_lint.lifecycle.explore import all_moves
from kubesched_lint.lifecycle.stage import Stage
from kubesched_lint.lifecycle.world import State, Step, settled


@dataclass(frozen=True, slots=True)
class Scene:
    """One phase of a trace: its steps, each with the state it led to; node positions are those of ``stage``."""

    name: str
    stage: Stage
    start: State
    steps: tuple[tuple[Step, State], ...]

    @property
    def end(self) -> State:
        return self.steps[-1][1] if self.steps else self.start


def trace(phases: Sequence[Phase], final: State) -> tuple[Scene, ...]:
    """How the last of ``phases`` may end in ``final``, one of its finals, from the very beginning.

    Raises LookupError when the phases do not lead there, which would be a fault in the search.
    """
    paths: list[list[State]] = []
    target = final
    for phase in reversed(phases):
        path = _path(phase, target)
        paths.append(path)
        origin = next(o for s, o in phase.origins.items() if _start_form(phase, s) == path[0])
        target = origin
    at = target
    scenes = []
    for phase, path in zip(phases, reversed(paths), strict=True):
        scene = _walk(phase, at, path)
        scenes.append(scene)
        at = settled(scene.end)
    return tuple(scenes)


def _start_form(phase: Phase, start: State) -> State:
    return phase.motion.stage.symmetry.canonical(phase.motion.settle(start))


def _path(phase: Phase, final: State) -> list[State]:
    """The canonical states from a start to the state that settled into ``final``."""
    canonical = phase.motion.stage.symmetry.canonical
    for state in phase.found.parents:
        if canonical(settled(state)) == final and not any(True for _ in all_moves(phase.motion, state, phase.extra)):
            break
    else:
        raise LookupError(f"no state of phase {phase.name} settles into the given one")
    path = [state]
    while (parent := phase.found.parents[path[-1]]) is not None:
        path.append(parent[0])
    return path[::-1]


def _walk(phase: Phase, before: State, path: Sequence[State]) -> Scene:
    motion, canonical = phase.motion, phase.motion.stage.symmetry.canonical
    starts = (motion.settle(s) for s in phase.enter(before))
    state = start = next((s for s in starts if canonical(s) == path[0]), None)
    if state is None or start is None:
        raise LookupError(f"phase {phase.name} does not start where its trace does")
    steps = []
    for wanted in path[1:]:
        for step, after in all_moves(motion, state, phase.extra):
            if canonical(after) == wanted:
                steps.append((step, after))
                state = after
                break
        else:
            raise LookupError(f"phase {phase.name}: no move leads on along the trace")
    return Scene(phase.name, motion.stage, start, tuple(steps))


def replays(scene: Scene) -> bool:
    """Whether the scheduler, asked anew at each binding, may choose the node that the trace says."""
    state = scene.start
    for step, after in scene.steps:
        if step.what == "bind":
            pinned = step.position if _waits_pinned(scene, state, step) else -1
            if step.position not in scene.stage.landings(state, step.slot, pinned):
                return False
        state = after
    return True


def _waits_pinned(scene: Scene, state: State, step: Step) -> bool:
    return any(slot == step.slot for slot, _, _ in state.pinned[step.position])
