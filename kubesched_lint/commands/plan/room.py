"""The room that a set leaves free, and the pods that it evicts, in one placement by the scheduler's filters and scores.

One possible outcome, not a proof. Pods of Jobs, which end, and pods with ``spec.nodeName`` take no room here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache

from msgspec import Struct
from msgspec.structs import replace

from kubesched_lint.engine.base.places import ObjectRef
from kubesched_lint.engine.base.text import many
from kubesched_lint.engine.cluster.nodes.elastic import pool_of
from kubesched_lint.engine.cluster.nodes.index import is_ample
from kubesched_lint.engine.cluster.pods.classes import PodClass
from kubesched_lint.engine.cluster.state import ClusterState
from kubesched_lint.engine.model.nodes.node import ZONE
from kubesched_lint.engine.placing.coming import Coming
from kubesched_lint.engine.placing.growth.growth import growth_plan
from kubesched_lint.engine.placing.growth.plan import Added
from kubesched_lint.engine.placing.scenarios import grown_scenario, without_suspended
from kubesched_lint.engine.placing.trial import SEEDS, tried_and_read
from kubesched_lint.engine.scenario.scenario import Scenario

Room = Mapping[tuple[str, str], int]
"""(zone, resource) → free amount: millicores, bytes or a number. The zone is empty for nodes without one."""
_ALWAYS = ("cpu", "memory", "pods")


class Eviction(Struct, frozen=True):
    """Running pods of others, as NAMESPACE/NAME, that the pods of a workload preempt."""

    by: ObjectRef
    pods: tuple[str, ...]
    environments: tuple[str, ...] = ()
    """Where it holds, if not in all environments that were judged; so of all changes here."""


class Placement(Struct, frozen=True):
    """The end of one placement of a set."""

    room: Room
    evictions: tuple[Eviction, ...]
    added: Mapping[tuple[str, str, str], int]
    """(pool, zone, machine type) → nodes that the pools add for the set."""
    idle: Mapping[tuple[str, str], int]
    """(pool, zone) → today's nodes without a pod that a pool would have to move to take the node back."""
    zones: Mapping[ObjectRef, tuple[int, ...]]
    """The pods of each sought workload per zone, in the order of the zones' names."""


class RoomChange(Struct, frozen=True):
    """Free amounts before and after; None where the zone or the resource is not there."""

    zone: str
    resource: str
    before: int | None
    after: int | None
    environments: tuple[str, ...] = ()


class IdleChange(Struct, frozen=True):
    """``count`` nodes of a pool that it could give back only after the change; negative: only before it."""

    pool: str
    zone: str
    count: int
    environments: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{many(self.count, 'node')} of pool {self.pool}{f' in {self.zone}' if self.zone else ''}"


def resources_of(scenarios: Iterable[Scenario]) -> tuple[str, ...]:
    """Return the resources whose room matters to the sets: CPU, memory, pods, and what else pods request."""
    asked = {r for scenario in scenarios for w in scenario.manifests.workloads for r in scenario.member(w).pod.requests}
    return (*_ALWAYS, *sorted(asked.difference(_ALWAYS)))


def placement(scenario: Scenario, resources: Sequence[str], sought: Collection[ObjectRef] = ()) -> Placement:
    """Return one placement of the set on today's nodes and those that the pools add.

    ``sought`` are the workloads whose pods are counted per zone.
    """
    grown = grown_scenario(scenario).without_pools
    trial, (room, idle, zones) = tried_and_read(
        grown,
        Coming(SEEDS[0]),
        lambda state: (dict(_free(state, resources)), _idle(state, grown), dict(_zones(state, grown, sought))),
        daemons_first=True,
    )
    evictions = tuple(
        Eviction(workload.ref, tuple(sorted(f"{bound.pod.namespace}/{bound.name}" for bound in pods)))
        for workload, pods in trial.evicted.items()
    )
    return Placement(room, evictions, _added(growth_plan(without_suspended(scenario)).added), idle, zones)


def room_changes(before: Room, after: Room) -> Iterator[RoomChange]:
    """Yield the zones and resources whose room differs."""
    for zone, resource in sorted({**before, **after}, key=_order):
        old, new = before.get((zone, resource)), after.get((zone, resource))
        if old != new:
            yield RoomChange(zone, resource, old, new)


def added_changes(before: Placement, after: Placement) -> Iterator[Added]:
    """Yield the nodes that pools add more after the change than before; a negative count for fewer."""
    for kind in sorted({**before.added, **after.added}):
        count = after.added.get(kind, 0) - before.added.get(kind, 0)
        if count:
            yield Added(*kind, count)


def only_new(before: Placement, after: Placement) -> tuple[Eviction, ...]:
    """Return the evictions of pods that only the second placement evicts."""
    known = {pod for eviction in before.evictions for pod in eviction.pods}
    left = (
        replace(eviction, pods=tuple(pod for pod in eviction.pods if pod not in known)) for eviction in after.evictions
    )
    return tuple(eviction for eviction in left if eviction.pods)


def idle_changes(before: Placement, after: Placement) -> Iterator[IdleChange]:
    """Yield the pools and zones of which more or fewer nodes are idle after the change."""
    for pool, zone in sorted({**before.idle, **after.idle}):
        count = after.idle.get((pool, zone), 0) - before.idle.get((pool, zone), 0)
        if count:
            yield IdleChange(pool, zone, count)


def _idle(state: ClusterState, scenario: Scenario) -> Mapping[tuple[str, str], int]:
    """Return (pool, zone) → nodes that an autoscaler makes and that hold pods of DaemonSets and static pods only."""
    daemons = [(w.namespace, w.selector) for w in scenario.manifests.workloads if w.kind == "DaemonSet" and w.selector]
    named = {w.pod.node_name for w in scenario.manifests.workloads}  # no placement has these pods

    @cache
    def goes_with_its_node(pod_class: PodClass, owner: str) -> bool:
        pod = pod_class.pod
        if owner in ("DaemonSet", "Node"):
            return True
        return any(space == pod.namespace and selector.matches(pod.labels) for space, selector in daemons)

    idle: Counter[tuple[str, str]] = Counter()
    for position, node in enumerate(state.index.nodes):
        if node.elastic and pool_of(node) and node.name not in named:
            there = state.pods_on(position)
            owners = (
                placed.bound.owner.kind if placed.bound is not None and placed.bound.owner else "" for placed in there
            )
            if all(map(goes_with_its_node, (placed.pod_class for placed in there), owners)):
                idle[pool_of(node), node.labels.get(ZONE, "")] += 1
    return idle


def _zones(
    state: ClusterState, scenario: Scenario, sought: Collection[ObjectRef]
) -> Iterator[tuple[ObjectRef, tuple[int, ...]]]:
    """Yield the pods per zone of workloads whose pods a selector tells from others; nothing with one zone only."""
    every = sorted(set(filter(None, (node.labels.get(ZONE) for node in state.index.nodes))))
    chosen = {w.ref: w.selector for w in scenario.manifests.workloads if w.ref in sought and w.selector}
    if len(every) < 2 or not chosen:
        return
    counts = {ref: dict.fromkeys(every, 0) for ref in chosen}

    @cache
    def whose(pod_class: PodClass) -> Sequence[ObjectRef]:
        pod = pod_class.pod
        return [ref for ref, of in chosen.items() if ref.namespace == pod.namespace and of.matches(pod.labels)]

    for position, node in enumerate(state.index.nodes):
        for placed in state.pods_on(position) if node.labels.get(ZONE) else ():
            for ref in whose(placed.pod_class):
                counts[ref][node.labels[ZONE]] += 1
    yield from ((ref, tuple(per_zone.values())) for ref, per_zone in counts.items())


def _added(added: Sequence[Added]) -> Mapping[tuple[str, str, str], int]:
    counts: Counter[tuple[str, str, str]] = Counter()
    for node in added:
        counts[node.pool, node.zone, node.shape] += node.count
    return counts


def _free(state: ClusterState, resources: Sequence[str]) -> Iterator[tuple[tuple[str, str], int]]:
    """Yield ((zone, resource), free amount) of the nodes that state how much they have."""
    zones = [node.labels.get(ZONE, "") for node in state.index.nodes]
    for resource in resources:
        free_by_zone: dict[str, int] = {}
        for zone, free, whole in zip(
            zones, state.ledger.free(resource), state.index.allocatable(resource), strict=True
        ):
            if whole and not is_ample(free):
                free_by_zone[zone] = free_by_zone.get(zone, 0) + int(free)
        yield from (((zone, resource), amount) for zone, amount in free_by_zone.items())


def _order(key: tuple[str, str]) -> tuple[object, ...]:
    zone, resource = key
    return zone, _ALWAYS.index(resource) if resource in _ALWAYS else len(_ALWAYS), resource
