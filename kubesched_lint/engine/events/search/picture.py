"""The content of a picture of the cluster: the nodes of each domain, and the pods per workload on each node."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec import Struct

from kubesched_lint.engine.events.search.events import Timeline
from kubesched_lint.engine.events.states.states import State
from kubesched_lint.engine.model.nodes.node import ZONE


class Box(Struct, frozen=True):
    """One node; ``pods`` are (number of the workload, whether the newest revision, count)."""

    name: str
    cordoned: bool
    pods: tuple[tuple[int, bool, int], ...]


class Picture(Struct, frozen=True):
    columns: tuple[tuple[str, tuple[Box, ...]], ...]
    """(domain, its nodes); the domain is empty for nodes without one."""
    waiting: tuple[tuple[int, bool, int], ...]
    key: str = ZONE
    """The topology key of the domains."""


def picture(timeline: Timeline, state: State, numbers: Mapping[int, int] | None = None, key: str = ZONE) -> Picture:
    """Return the picture of a state on the timeline's current nodes; ``numbers`` renumbers its workloads."""
    names = numbers or {}
    columns: dict[str, list[Box]] = {}
    for node, held in zip(timeline.nodes, state.bound, strict=True):
        box = Box(node.name, node.unschedulable, _pods(timeline, held, names))
        columns.setdefault(node.labels.get(key, ""), []).append(box)
    queue = [(slot, n) for q in (state.waiting, state.orphans, *state.pinned) for slot, _, n in q]
    ordered = tuple((domain, tuple(boxes)) for domain, boxes in sorted(columns.items()))
    return Picture(ordered, _pods(timeline, queue, names), key)


def _pods(
    timeline: Timeline, held: Iterable[tuple[int, int]], names: Mapping[int, int]
) -> tuple[tuple[int, bool, int], ...]:
    counts: dict[tuple[int, bool], int] = {}
    for slot, count in held:
        workload, revision, _ = timeline.pod_types.slots[slot]
        kind = (names.get(workload, workload), revision == timeline.desired_states[workload].revision)
        counts[kind] = counts.get(kind, 0) + count
    return tuple((workload, new, count) for (workload, new), count in sorted(counts.items()))
