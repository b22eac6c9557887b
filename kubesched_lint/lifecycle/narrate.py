"""Traces in words, a line per phase."""

from __future__ import annotations

from kubesched_lint.lifecycle.telling import End
from kubesched_lint.lifecycle.trace import Scene, trace
from kubesched_lint.lifecycle.verdicts import Witness
from kubesched_lint.lifecycle.world import Step

MOST_STEPS = 40


def witness(end: End) -> Witness:
    """The end with the course of events that leads there."""
    scenes = trace(end.story.phases, end.state)
    revised = {number for number, wish in end.story.wishes.items() if wish.revision}
    lines = [_line(scene, revised, end.where if scene is scenes[-1] else "") for scene in scenes]
    return Witness(end.outcome.bound, end.outcome.complete, tuple(lines), end.where)


def _line(scene: Scene, revised: set[int], where: str) -> str:
    steps = [words for step, _ in scene.steps if (words := _words(scene, step, revised))]
    if len(steps) > MOST_STEPS:
        steps = [*steps[:MOST_STEPS], f"and {len(steps) - MOST_STEPS} more steps"]
    name = f"{scene.name} {where}".rstrip()
    return f"{name}: {', '.join(steps) if steps else 'nothing moves'}"


def _words(scene: Scene, step: Step, revised: set[int]) -> str:
    if step.slot < 0:
        return "the drain gives up" if step.what == "give up" else ""
    cast = scene.stage.cast
    number, revision, ordinal = cast.slots[step.slot]
    workload = cast.revisions[number][revision]
    name = f"{workload.name}-{ordinal}" if ordinal >= 0 else workload.name
    if number in revised and workload.kind != "StatefulSet":
        name += f" rev {revision + 1}"
    node = scene.stage.index.names[step.position] if step.position >= 0 else ""
    match step.what:
        case "bind":
            return f"{name} → {node}"
        case "evict":
            return f"{name} evicted from {node}"
        case "surge":
            return f"{name} surges on {node}"
    return f"{name} deleted{f' on {node}' if node else ''}"
