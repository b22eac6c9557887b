"""Traces in words, a line per phase."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import groupby
from typing import NamedTuple

from kubesched_lint.engine.base.limits import LONGEST_LIST, LONGEST_VALUE
from kubesched_lint.engine.base.text import SHOWN, and_more, distinct_names, many
from kubesched_lint.engine.events.answers.cells import Witness
from kubesched_lint.engine.events.limits import MOST_TOLD
from kubesched_lint.engine.events.search.explore import TracePart
from kubesched_lint.engine.events.search.trace import trace
from kubesched_lint.engine.events.states.states import Step
from kubesched_lint.engine.model.nodes.node import ZONE
from kubesched_lint.engine.model.workloads.workload import Workload
from kubesched_lint.engine.runs.event_outcomes import FinalState


class Naming(NamedTuple):
    """How to call pods and nodes in the words of a trace, and whose pods it is about."""

    nodes: Mapping[str, str]
    """Node → its name for people."""
    asked: int = -1
    """The workload all of whose steps are told, while many steps of others are counted; -1: those of all are told."""
    names: Mapping[int, str] = {}
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
    naming = Naming(node_names(parts), end.workload, names)
    lines = [
        line(part, _happening(part, naming.nodes.get(where, where) if part is parts[-1] else ""), naming, before)
        for before, part in zip((None, *parts), parts, strict=False)
    ]
    if end.lack > 0:
        wanted = many(end.outcome.wanted, "pod")
        lines[-1] += f"; {max(end.outcome.wanted - end.lack, 0)} of {wanted} of {names.get(end.workload, own.name)} run"
    return Witness(end.outcome.bound, end.outcome.complete, tuple(lines), where)


def node_names(parts: Sequence[TracePart]) -> Mapping[str, str]:
    """Return node → its name for people, of the nodes of all parts."""
    first = parts[0].model.index
    others = (part.model.index.names for part in parts if part.model.index is not first)
    new = [name for names in others for name in names if name not in first.positions]
    return distinct_names({*first.names, *new}, LONGEST_VALUE) if new else first.short_names


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


def line(part: TracePart, name: str, naming: Naming, before: TracePart | None = None) -> str:
    """Return one part of a trace in words, after the name of its event.

    With the part ``before`` it, the pods that the event itself takes from their nodes are told first, in one step.
    """
    gone = [] if before is None else [*_gone(before, part), *_gone_in_steps(part)]
    taken = {how: _taken(part, [slot for slot, each in gone if each == how], naming) for how in _HOW}
    room = 2 * LONGEST_LIST - 1 - sum(map(len, taken.values()))  # of a list that ``brief`` prints whole
    steps = ", ".join(_told(part, naming, room, frozenset() if before is None else frozenset(_GONE)))
    texts = [f"{how}: {', '.join(pods)}" for how, pods in taken.items() if pods]
    return f"{name}: {'; '.join(filter(None, (*texts, steps))) or 'nothing moves'}"


_WITH_IT, _STAYS, _EVICTED = "lost with it", "stay there, terminating", "evicted"
_HOW = (_WITH_IT, _STAYS, _EVICTED)
"""What an event does at once to the pods of nodes that go, of nodes that are unreachable, and of other nodes."""

_GONE = {"lose": _WITH_IT, "terminate": _STAYS}
"""Steps that are the event's as well: of pods that go one by one."""


def _gone_in_steps(part: TracePart) -> Iterator[tuple[int, str]]:
    """Yield (slot, what becomes of it) of each pod that the event takes from its node in a step of its own."""
    yield from ((step.slot, _GONE[step.what]) for step, _ in part.steps if step.what in _GONE)


def _gone(before: TracePart, part: TracePart) -> Iterator[tuple[int, str]]:
    """Yield (slot, what becomes of it) of each pod that was bound before a part and is not when it starts.

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
                position = later.get(name, -1)
                is_unreachable = position >= 0 and part.model.unreachable >> position & 1
                yield slot, _STAYS if is_unreachable else _EVICTED if position >= 0 else _WITH_IT


def _taken(part: TracePart, slots: Sequence[int], naming: Naming) -> Sequence[str]:
    """Return ``a``, ``b (2×)``, ``c and 5 more pods`` for pods, those of the asked workload first."""
    asked, others = Counter[str](), Counter[str]()
    for slot in slots:
        is_asked = part.model.pod_types.slots[slot].workload == naming.asked
        (asked if is_asked else others)[pod_name(part, slot, naming)] += 1
    shown = (*asked.items(), *others.most_common(SHOWN))
    texts = [f"{pod} ({n}×)" if n > 1 else pod for pod, n in shown]
    return [*texts[:-1], f"{texts[-1]}{and_more(len(slots) - sum(n for _, n in shown), 'pod')}"] if texts else []


def _told(part: TracePart, naming: Naming, room: int, left_out: Collection[str]) -> Sequence[str]:
    """Return the steps of a part in words, at most ``room`` texts if those of others than the asked workload are many.

    ``left_out``: what happens in steps that are told elsewhere.
    """
    kept = [i for i, (what, _) in enumerate(part.moved) if what not in left_out]
    if naming.asked < 0 or len(kept) <= MOST_TOLD:
        texts = _worded(part, kept[:MOST_TOLD], naming)
        if naming.asked < 0 and len(kept) > MOST_TOLD:
            return (*texts, f"… {len(kept) - MOST_TOLD - 1:,} more steps …", *_worded(part, kept[-1:], naming))
        if naming.asked < 0 or len(texts) <= room:
            return texts
    asked, told, others = frozenset(_asked(part, naming.asked)), list[str](), list[tuple[str, int]]()
    for is_asked, run in groupby(kept, asked.__contains__):
        numbers = [*run]
        others += [] if is_asked else [part.moved[i] for i in numbers]
        told += _worded(part, numbers, naming) if is_asked else _counted([part.moved[i] for i in numbers])
    if len(told) <= room:
        return told
    return (*_counted(others), *_worded(part, [i for i in kept if i in asked], naming))


def _asked(part: TracePart, workload: int) -> Iterator[int]:
    """Yield the numbers of the steps of a workload's pods, those that drive one out included, and of no pod."""
    for number, (what, mover) in enumerate(part.moved):
        if mover in (workload, -1) or (what == "preempt" and _drives_out(part, number, workload)):
            yield number


_OTHERS_DO: Mapping[str, tuple[str, str]] = {
    "bind": ("finds a node", "find nodes"),
    "evict": ("is evicted", "are evicted"),
    "taint": ("is evicted by a taint", "are evicted by taints"),
    "delete": ("is deleted", "are deleted"),
}
_FINDS = {"surge": "bind", "preempt": "bind"}
"""Steps that count as finding a node."""


def _counted(moved: Sequence[tuple[str, int]]) -> Iterator[str]:
    """Yield ``12 pods of 3 other workloads find nodes`` for what happens to other workloads than the asked one."""
    by_what: dict[str, Counter[int]] = {}
    for (what, workload), pods in Counter(moved).items():
        by_what.setdefault(_FINDS.get(what, what), Counter())[workload] += pods
    for what, each in by_what.items():
        singular, plural = _OTHERS_DO.get(what, _OTHERS_DO["delete"])
        pods = each.total()
        yield f"{many(pods, 'pod')} of {many(len(each), 'other workload')} {singular if pods == 1 else plural}"


def _worded(part: TracePart, numbers: Sequence[int], naming: Naming) -> list[str]:
    """Return the steps with these numbers in words, repeats joined."""
    steps = []
    for i in numbers:
        step, _ = part.steps[i]
        words = _driven_out(part, i, naming) if step.what == "preempt" else _words(part, step, naming)
        if words is not None:
            steps.append(words)
    return [*_folded(steps)]


def _folded(steps: list[tuple[str, str]]) -> Iterator[str]:
    """Yield the steps with repeats joined, ``web → n1, web → n2`` as ``web → n1 n2``; of many, count the nodes."""
    run: list[str] = []
    for number, (what, where) in enumerate(steps):
        run.append(where)
        if number + 1 == len(steps) or steps[number + 1][0] != what:
            times = f" ({len(run)}×)" * (len(run) > 1)
            if where and len(run) > 2 * LONGEST_LIST:
                yield f"{what} {many(len(set(run)), 'node')}{times}"
            else:
                yield f"{what} {' '.join(run)}" if where else f"{what}{times}"
            run = []


def _words(part: TracePart, step: Step, naming: Naming) -> tuple[str, str] | None:
    """Return (what happens to which pod, node); None if the step needs no words."""
    if step.slot < 0:
        return ("the drain gives up", "") if step.what == "give up" else None
    name = pod_name(part, step.slot, naming)
    node = _node(part, step.position, naming) if step.position >= 0 else ""
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


def _node(part: TracePart, position: int, naming: Naming) -> str:
    name = part.node(position)
    return naming.nodes.get(name, name)


def _victims(part: TracePart, number: int) -> Iterator[tuple[int, int]]:
    """Yield (slot, pods) of those that a step preempts."""
    step, after = part.steps[number]
    before = part.steps[number - 1][1] if number else part.start
    left = dict(after.bound[step.position])
    for slot, count in before.bound[step.position]:
        if left.get(slot, 0) < count:
            yield slot, count - left.get(slot, 0)


def _drives_out(part: TracePart, number: int, workload: int) -> bool:
    """Whether a step preempts pods of a workload."""
    return any(part.model.pod_types.slots[slot].workload == workload for slot, _ in _victims(part, number))


def _driven_out(part: TracePart, number: int, naming: Naming) -> tuple[str, str]:
    """Return the words for the pods that a pod preempts, and the node."""
    gone = [f"{count} × {pod_name(part, slot, naming)}" for slot, count in _victims(part, number)]
    step, _ = part.steps[number]
    return f"{pod_name(part, step.slot, naming)} preempts {' and '.join(gone)} on", _node(part, step.position, naming)


def pod_name(part: TracePart, slot: int, naming: Naming) -> str:
    """Return the name of a pod: ``web``, ``db-1``; ``old web`` and ``new web`` if there are both."""
    number, revision, ordinal = part.model.pod_types.slots[slot]
    workload = part.model.pod_types.revisions[number][revision]
    name = naming.names.get(number, workload.name)
    if ordinal >= 0:
        name = f"{name}-{ordinal}"
    if number in part.newest:
        name = f"{'new' if revision == part.newest[number] else 'old'} {name}"
    return name
