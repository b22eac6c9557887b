"""Traces in words, a line per phase."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from kubesched_lint.engine.events.answers.cells import Witness
from kubesched_lint.engine.events.limits import MOST_TOLD
from kubesched_lint.engine.events.search.explore import TracePart
from kubesched_lint.engine.events.search.trace import trace
from kubesched_lint.engine.events.states.states import PodTypes, State, Step
from kubesched_lint.engine.model.nodes.node import ZONE
from kubesched_lint.engine.model.workloads.workload import Workload
from kubesched_lint.engine.runs.event_outcomes import FinalState

_OWN: Mapping[int, str] = {}


class Naming(NamedTuple):
    """How to call pods in the words of a trace."""

    newest: Mapping[int, int]
    """Workload → the revision that counts as new, for workloads with several revisions."""
    names: Mapping[int, str]
    """Workload → a name instead of its own."""


def witness(end: FinalState, called: Workload | None = None) -> Witness:
    """Return the end with the course of events that leads there.

    ``called``: a workload, equal but for its name, with which its own exchanges the name in the words.
    """
    parts = trace(end.timeline.phases, end.state)
    where = _shown(end.where, parts[0])
    own, names = end.timeline.desired_states[end.workload].spec, dict[int, str]()
    if called is not None and called.key != own.key:
        names = {end.workload: called.name}
        if called.key in end.timeline.numbers:
            names[end.timeline.numbers[called.key]] = own.name
    lines = [
        line(part, _happening(part, where if part is parts[-1] else ""), names, before)
        for before, part in zip((None, *parts), parts, strict=False)
    ]
    return Witness(end.outcome.bound, end.outcome.complete, tuple(lines), where)


def _shown(where: str, first: TracePart) -> str:
    """Return the node or zone where the cluster file shows the pods that were on an equal node or in an equal zone."""
    nodes = {node.name: node for node in first.model.index.nodes} if first.names else {}
    if not nodes or where in nodes:
        return first.names.get(where, where)
    in_zone = next((name for name, node in nodes.items() if node.labels.get(ZONE) == where), None)
    return where if in_zone is None else nodes[first.names.get(in_zone, in_zone)].labels.get(ZONE, where)


def _happening(part: TracePart, where: str) -> str:
    """Return the words for the event that starts a phase."""
    match part.name:
        case "lose":
            return f"{where} is lost"
        case "unreachable":
            return f"{where} is unreachable"
        case "drain":
            return f"{where} is drained"
        case "rollout":
            return "a new template"
        case "scale":
            return "a new number of replicas"
        case "image-change":
            return "new templates"
    return part.name


def line(part: TracePart, name: str, names: Mapping[int, str] = _OWN, before: TracePart | None = None) -> str:
    """Return one part of a trace in words, after the name of its event; ``names`` are other names of workloads.

    With the part ``before`` it, the pods that the event itself took from their nodes are told first.
    """
    gone = () if before is None else tuple(_gone(before, part))
    if gone:
        return _text(part, name, names, gone)
    if names and not any(part.model.pod_types.slots[slot].workload in names for slot in _moved(part)):
        names = _OWN  # many workloads share the part
    if names:
        return _text(part, name, names)
    if name not in part.lines:
        part.lines[name] = _text(part, name, names)
    return part.lines[name]


def _moved(part: TracePart) -> Iterator[int]:
    """Yield the slots of the pods that move."""
    return (step.slot for step, _ in part.steps if step.slot >= 0)


def _gone(before: TracePart, part: TracePart) -> Iterator[tuple[int, str, bool]]:
    """Yield (slot, node, whether the node stays) of each pod that was bound before a part and is not when it starts.

    Those that are deleted one by one have steps of their own.
    """
    names, later = before.model.index.names, part.model.index.positions
    ended = part.model.pod_types.ended
    held_then = dict(zip(names, before.settled.bound, strict=False))
    held_now = {name: part.start.bound[position] for name, position in later.items()}
    touched = [
        n for n, held in held_now.items() if held != held_then.get(n, ()) or any(ended[slot] for slot, _ in held)
    ]
    now = {name: Counter({slot: n for slot, n in held_now[name] if not ended[slot]}) for name in touched}
    then = {name: Counter(dict(held)) for name, held in held_then.items() if name in now or name not in later}
    if any(now[name] - then.get(name, Counter()) for name in now):
        return  # equal nodes are swapped between the parts
    left = Counter(dict(part.start.leaving))
    for name, held in then.items():
        for slot in (held - now.get(name, Counter())).elements():
            if left[slot]:
                left[slot] -= 1
            else:
                yield slot, part.names.get(name, name), name in later


def _text(part: TracePart, name: str, names: Mapping[int, str], gone: Sequence[tuple[int, str, bool]] = ()) -> str:
    naming = Naming(_newest(part), names)
    steps = [
        (f"{pod_name(part.model.pod_types, slot, naming)} {_left(part, node)}", node)
        if stays
        else (f"{pod_name(part.model.pod_types, slot, naming)} lost with its node", "")
        for slot, node, stays in gone
    ]
    before = part.start
    for step, after in part.steps:
        words = _words(part, step, naming)
        if step.what == "preempt":
            words = _driven_out(part, step, naming, before, after)
        if words is not None:
            steps.append(words)
        before = after
    more = len(steps) - MOST_TOLD
    texts = list(_folded(steps[:MOST_TOLD]))
    if more > 0:
        texts.append(f"and {more} more steps")
    return f"{name}: {', '.join(texts) if texts else 'nothing moves'}"


def _left(part: TracePart, node: str) -> str:
    """Return what becomes of the pods of a node that stays."""
    position = part.model.index.positions.get(node, -1)
    is_unreachable = position >= 0 and part.model.unreachable >> position & 1
    return "stays, terminating, on" if is_unreachable else "evicted from"


def _folded(steps: list[tuple[str, str]]) -> Iterator[str]:
    """Yield the steps with repeats joined: ``web → n1, web → n2`` becomes ``web → n1 n2``."""
    run: list[str] = []
    for number, (what, where) in enumerate(steps):
        run.append(where)
        if number + 1 == len(steps) or steps[number + 1][0] != what:
            yield f"{what} {' '.join(run)}" if where else f"{what}{f' ({len(run)}×)' * (len(run) > 1)}"
            run = []


def _newest(part: TracePart) -> Mapping[int, int]:
    """Return the newest revision in the part of each workload that has several."""
    pod_types = part.model.pod_types
    slots = {step.slot for step, _ in part.steps if step.slot >= 0}
    for state in (part.start, part.end):
        slots.update(_present(state))
    newest: dict[int, int] = {}
    for slot in slots:
        workload, revision, _ = pod_types.slots[slot]
        newest[workload] = max(newest.get(workload, 0), revision)
    return {workload: revision for workload, revision in newest.items() if revision}


def _present(state: State) -> Iterator[int]:
    for held in filter(None, (*state.bound, state.leaving)):  # most nodes are empty
        yield from (slot for slot, _ in held)
    for queue in filter(None, (state.waiting, *state.pinned)):
        yield from (slot for slot, _, _ in queue)


def _words(part: TracePart, step: Step, naming: Naming) -> tuple[str, str] | None:
    """Return (what happens to which pod, node); None if the step needs no words."""
    if step.slot < 0:
        return ("the drain gives up", "") if step.what == "give up" else None
    name = pod_name(part.model.pod_types, step.slot, naming)
    node = part.node(step.position) if step.position >= 0 else ""
    match step.what:
        case "bind":
            return f"{name} →", node
        case "evict":
            return f"{name} evicted from", node
        case "surge":
            return f"{name} surges on", node
        case "lose":
            return f"{name} lost with its node", ""
        case "terminate":
            return f"{name} stays, terminating, on", node
        case "taint":
            return f"{name} evicted by a taint", ""
    return (f"{name} deleted on", node) if node else (f"{name} deleted", "")


def _driven_out(part: TracePart, step: Step, naming: Naming, before: State, after: State) -> tuple[str, str]:
    """Return the words for the pods that a pod preempts, and the node."""
    left = dict(after.bound[step.position])
    gone = [
        f"{count - left.get(slot, 0)} × {pod_name(part.model.pod_types, slot, naming)}"
        for slot, count in before.bound[step.position]
        if left.get(slot, 0) < count
    ]
    return (
        f"{pod_name(part.model.pod_types, step.slot, naming)} preempts {' and '.join(gone)} on",
        part.node(step.position),
    )


def pod_name(pod_types: PodTypes, slot: int, naming: Naming) -> str:
    """Return the name of a pod: ``web``, ``db-1``; ``old web`` and ``new web`` if there are both."""
    number, revision, ordinal = pod_types.slots[slot]
    workload = pod_types.revisions[number][revision]
    name = naming.names.get(number, workload.name)
    if ordinal >= 0:
        name = f"{name}-{ordinal}"
    if number in naming.newest:
        name = f"{'new' if revision == naming.newest[number] else 'old'} {name}"
    return name
