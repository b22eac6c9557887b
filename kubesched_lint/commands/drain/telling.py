"""Tell a plan wave by wave: the pods that move, where they go, and the least room that is left."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from kubesched_lint.commands.drain.plan import Move, Tight, Wave
from kubesched_lint.commands.drain.replay import Played, Replay, Waves
from kubesched_lint.engine.base import work
from kubesched_lint.engine.cluster.nodes.index import is_ample
from kubesched_lint.engine.events.search.explore import TracePart
from kubesched_lint.engine.events.search.trace import trace
from kubesched_lint.engine.events.states.states import State
from kubesched_lint.engine.model.nodes.node import zone_of
from kubesched_lint.engine.runs.narrate import Naming, line, node_names

_COUNTED = ("cpu", "memory", "pods")


def played_waves(replay: Replay, waves: Waves) -> tuple[Wave, ...]:
    """Return the waves as one random trace plays them.

    They have no moves where no trace ends well, or where the work reaches its limit.
    """
    waves_played: list[Wave] = []
    for number in range(1, len(waves) + 1):
        wave = work.tried(lambda: _played_wave(replay, waves[:number]), None, 2)  # noqa: B023 - called at once
        if wave is None:
            return (*waves_played, *map(Wave, waves[number - 1 :]))
        waves_played.append(wave)
    return tuple(waves_played)


def bad_course(played: Played) -> tuple[str, ...]:
    """Return the course to a bad end of a wave, one line per phase; phases without a step are left out."""
    parts = trace(played.drain.phases, played.bad[0])
    naming = Naming(node_names(parts))
    return tuple(line(part, _NAMES.get(part.name, part.name), naming) for part in parts if part.steps)


_NAMES = {"evict": "drain", "uncordon": "nodes come back", "join": "nodes join", "lose": "nodes go"}


def _played_wave(replay: Replay, waves: Waves) -> Wave | None:
    """Return the last wave as a trace plays it; None if none ends well."""
    played, wave = replay.play(waves), waves[-1]
    if not played.good:
        return None
    end = played.good[0]
    part = trace(played.drain.phases, end)[-1]
    old = frozenset(wave)
    new = tuple(n.name for n in played.drain.nodes if n.name.removesuffix("-new") in old and n.name not in old)
    return Wave(wave, new, tuple(_moves(part)), _tight(played, end, old))


def _moves(part: TracePart) -> Iterator[Move]:
    """Yield the pods that leave, by workload and node; pods of a workload are alike, so any of them may be meant."""
    names, pod_types = part.model.index.names, part.model.pod_types
    left: Counter[tuple[int, int]] = Counter()
    came: dict[int, list[int]] = {}
    for step, _ in part.steps:
        number = pod_types.slots[step.slot].workload if step.slot >= 0 else -1
        if step.what == "evict":
            left[number, step.position] += 1
        elif step.what in ("bind", "preempt") and pod_types.kind(step.slot) != "DaemonSet":
            came.setdefault(number, []).append(step.position)
    for (number, position), count in left.items():
        to = came.get(number, [])[:count]
        del came.get(number, [])[:count]
        ref = pod_types.revisions[number][-1].ref
        yield Move(ref, count, names[position], dict(Counter(names[p] for p in to)))


def _tight(played: Played, end: State, wave: frozenset[str]) -> Tight | None:
    """Return the zone and resource with the least room on open nodes; None if no resources are known."""
    model = played.phase.transitions.model
    model.show(end)
    zones: dict[str, list[int]] = {}
    for position, node in enumerate(played.drain.nodes):
        if not node.unschedulable and node.allocatable is not None:
            zones.setdefault(zone_of(node.labels), []).append(position)
    tight = [
        Tight(zone, resource, used, whole)
        for zone, there in zones.items()
        for resource in _COUNTED
        if (
            whole := sum(
                int(model.index.allocatable(resource)[p])
                for p in there
                if not is_ample(model.index.allocatable(resource)[p])
            )
        )
        for used in [sum(model.cluster.requested(p, resource) for p in there)]
    ]
    return max(tight, key=lambda resource: resource.share, default=None)
