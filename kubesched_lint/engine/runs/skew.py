"""How evenly pods are spread over topology domains in the end, counted over seeded runs of the exact scheduler."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from random import Random

from msgspec import Struct

from kubesched_lint.engine.events.limits import MOST_DRAWN
from kubesched_lint.engine.events.search.events import Timeline
from kubesched_lint.engine.events.start.simulated_set import SimulatedMember, SimulatedSet
from kubesched_lint.engine.events.start.sizes import scale_event, scaled_to, size_after
from kubesched_lint.engine.events.start.timelines import seeded_timelines
from kubesched_lint.engine.events.states.states import PodTypes, State, with_bound
from kubesched_lint.engine.model.nodes.node import HOSTNAME
from kubesched_lint.engine.model.workloads.workload import SCALED, Workload
from kubesched_lint.engine.runs.event_outcomes import with_new_template

RUNS = 20


class Skew(Struct, frozen=True):
    """Result of ``runs`` runs: final pods per domain (in the order of ``domains``), and how often each result came."""

    topology_key: str
    domains: tuple[str, ...]
    event: str
    ends: tuple[tuple[tuple[int, ...], int], ...]
    """Most frequent first."""
    runs: int

    @property
    def worst(self) -> int:
        """The largest skew seen: pods of the fullest domain minus pods of the emptiest."""
        return max(max(counts) - min(counts) for counts, _ in self.ends)


def skew_of(counts: tuple[int, ...]) -> tuple[int, ...]:
    """Return, per domain, the number of pods above the least full one."""
    return tuple(c - min(counts) for c in counts)


def spreading_keys(workload: Workload) -> tuple[str, ...]:
    """Return the topology keys over which the workload spreads, without kubernetes.io/hostname."""
    pod = workload.pod
    keys = [c.topology_key for c in pod.spread] + [t.term.topology_key for t in pod.preferred_anti_affinity]
    return tuple(key for key in dict.fromkeys(keys) if key != HOSTNAME)


def skews(member: SimulatedMember, *, runs: int = RUNS, seed: int = 0, only: str = "") -> Iterator[Skew]:
    """Yield the skew after deploy, rollout and scaling (or ``only`` one event), for each key of the workload."""
    workload = member.workload
    keys = [k for k in spreading_keys(workload) if member.set.index.domains(k)]
    if not keys or workload.suspended or workload.kind not in SCALED:
        return
    sizes = [size for size in member.scaled if size <= MOST_DRAWN]
    runs = max(1, min(runs, MOST_DRAWN // max(workload.replicas, 1, *sizes)))
    seeds = range(seed, seed + 1000 * runs, 1000)
    events = {event: happen for event, happen in _events(member, sizes) if only in ("", event)}
    timelines_of: dict[str, list[Timeline]] = {event: [] for event in events}
    for timeline in seeded_timelines(member, seeds, expected=True):
        for event, happen in events.items():  # at once: the model still shows this deployment
            timelines_of[event].append(_after(timeline, happen))
    for key in keys:
        for event, timelines in timelines_of.items():
            if any(timeline.states for timeline in timelines):
                yield _counted(member.set, key, event, timelines)


def _events(member: SimulatedMember, sizes: Sequence[int]) -> Iterator[tuple[str, Callable[[Timeline], object]]]:
    """Yield the events with what happens in a timeline."""
    workload = member.workload
    yield "deploy", lambda timeline: None
    if workload.kind not in ("ReplicaSet", "ReplicationController"):
        yield "rollout", partial(_rolled_out, workload=with_new_template(workload))
    for event in ("scale-down", *map(scale_event, sizes)):
        size = size_after(member, event)
        at = workload.ref
        if size < workload.replicas or (scaled_to(event) is not None and size != workload.replicas):
            yield (
                event,
                partial(Timeline.scale, kind=at.kind, namespace=at.namespace, name=at.name, replicas=size),
            )


def _rolled_out(timeline: Timeline, workload: Workload) -> None:
    """Roll a workload out. A Deployment's new pods become ready some time after they are bound, some at a time.

    So most of the old pods that are left are there while the last new ones are bound, and count in the domains.
    """
    if workload.kind == "Deployment":
        timeline.never_ready = frozenset([workload.ref])
        timeline.from_now_unready()
    timeline.rollout(workload)
    random = Random(f"{timeline.seed} readiness")
    while any(_unready(state, timeline.pod_types) for state in timeline.states):
        timeline.run("readiness", timeline.model(), partial(_some_ready, pod_types=timeline.pod_types, random=random))


def _unready(state: State, pod_types: PodTypes) -> list[tuple[int, int]]:
    """Return position and slot of each bound pod that is not ready."""
    return [
        (position, slot)
        for position, held in enumerate(state.bound)
        for slot, count in held
        for _ in range(count if pod_types.unready[slot] and not pod_types.ended[slot] else 0)
    ]


def _some_ready(state: State, pod_types: PodTypes, random: Random) -> Iterator[State]:
    """Yield the state in which some of the bound pods have become ready, at least one if any is not."""
    unready = _unready(state, pod_types)
    for position, slot in random.sample(unready, random.randint(1, len(unready)) if unready else 0):
        state = with_bound(state, position, slot, -1)
        state = with_bound(state, position, pod_types.slot(*pod_types.slots[slot]), 1)
    yield state


def _after(timeline: Timeline, happen: Callable[[Timeline], object]) -> Timeline:
    timeline = timeline.fork()
    happen(timeline)
    return timeline


def _counted(simulated: SimulatedSet, key: str, event: str, timelines: list[Timeline]) -> Skew:
    domains = simulated.index.domains(key)
    ends: dict[tuple[int, ...], int] = {}
    for timeline in timelines:
        for state in timeline.states:
            counts = tuple(
                sum(n for p, held in enumerate(state.bound) if nodes >> p & 1 for _, n in held)
                for nodes in domains.values()
            )
            ends[counts] = ends.get(counts, 0) + 1
    ordered = sorted(ends.items(), key=lambda e: (-e[1], e[0]))
    return Skew(key, tuple(domains), event, tuple(ordered), sum(ends.values()))
