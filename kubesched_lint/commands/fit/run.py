"""``fit``: the least and the most pods that find a node, by the bounds and the search that ``simulate`` uses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache

from msgspec import Struct
from msgspec.structs import replace

from kubesched_lint import work
from kubesched_lint.analysis.growth import growth_plan
from kubesched_lint.analysis.limits import MOST_PODS_TRIED
from kubesched_lint.analysis.placing import Copies, Placing
from kubesched_lint.analysis.plan import Added
from kubesched_lint.analysis.setting import setting_of
from kubesched_lint.cluster.cluster import Cluster, ClusterError
from kubesched_lint.commands.limits import MOST_SCALED
from kubesched_lint.lifecycle.counted import count
from kubesched_lint.lifecycle.courses import Effort
from kubesched_lint.lifecycle.event_outcomes import scale_event
from kubesched_lint.lifecycle.matrix import Matrix
from kubesched_lint.lifecycle.setting import Setting
from kubesched_lint.limits import MOST_STEPS
from kubesched_lint.model.inventory import Inventory
from kubesched_lint.model.node import ZONE
from kubesched_lint.model.workload import Workload
from kubesched_lint.scheduler.framework import diagnose, message
from kubesched_lint.world.running import lasting_state
from kubesched_lint.world.user_settings import Premises
from kubesched_lint.world.world import Member, World

_MORE = 100
"""Pods for which pools are asked to add nodes."""
_EFFORT = Effort(states=4_000, runs=1)


class Counts(Struct, frozen=True):
    """More pods that find a node in every order (``least``), and in any order (``most``)."""

    least: int
    most: int

    def __str__(self) -> str:
        return f"{self.least:,}" if self.least == self.most else f"{self.least:,} to {self.most:,}"


class OnPools(Struct, frozen=True):
    """What node groups add for ``asked`` pods beyond today's nodes."""

    asked: int
    fit: int
    added: tuple[Added, ...]
    limited: tuple[str, ...]
    """Pools whose limits refuse more."""
    message: str


class Fit(Struct, frozen=True):
    """The answer. ``placed`` is what kube-scheduler places one after another; it is one of the orders."""

    kind: str
    """The pods in words: ``like Deployment shop/web``, ``with cpu 2 and memory 4Gi``."""
    counts: Counts
    placed: int
    binds: str
    """The scheduler's message about one pod more than it placed; empty if there are too many to count."""
    by_group: Mapping[str, Counts]
    """Zone or node group → pods that fit there if all must go there."""
    pools: OnPools | None
    running: int
    """Pods of the workload that run already."""
    assumes: tuple[str, ...]


def fit(workload: Workload, kind: str, cluster: Cluster, premises: Premises) -> Fit:
    """Count more pods like those of a workload on today's nodes, beside all running pods; nobody is evicted for them.

    Raises ClusterError without nodes, and OutOfWorkError.
    """
    if not cluster.knows_nodes:
        raise ClusterError(cluster.path, 0, 0, "the snapshot has no nodes, because they were not captured")
    pod = replace(workload.pod, preemption_policy="Never")
    workload = replace(workload, pod=pod, suspended="", replicas=max(workload.replicas, 1), custom=None)
    world = World(Inventory(workloads=(workload,)), cluster, premises)
    with work.within(MOST_STEPS):
        today = _Counting(world.without_pools, workload)
        counts = today.counts()
        placed, binds = _placed(today.it, counts.most)
        groups = {name: _pinned(world, workload, key, value) for name, key, value in _groups(cluster)}
        pools = _on_pools(world, workload, counts.least) if world.pools else None
    return Fit(
        kind,
        counts,
        placed,
        binds,
        groups if len(groups) > 1 else {},
        pools,
        len(today.it.running_pods),
        tuple(_assumes(world)),
    )


class _Counting:
    """Counts more pods of the only workload of a world; those that run stay where they are."""

    def __init__(self, world: World, workload: Workload) -> None:
        self.it = world.member(workload)
        self._setting = setting_of(world)
        self._running = len(self._setting.running.get(0, ()))
        self.bounds = lru_cache(maxsize=None)(self._bounds)

    def _asked(self, more: int) -> tuple[Setting, str]:
        """Return the setting and the event in which there are so many more pods."""
        total = self._running + more
        if self._running:
            return replace(self._setting, scaled={0: (total,)}), scale_event(total)
        workloads = (replace(self._setting.workloads[0], replicas=total),)
        return replace(self._setting, workloads=workloads), "deploy"

    def _bounds(self, more: int) -> Counts:
        setting, event = self._asked(more)
        bounds = count(setting, event, 0)
        least = bounds.wanted if bounds.is_fine else bounds.least.pods
        return Counts(*(min(max(pods - self._running, 0), more) for pods in (least, bounds.most.pods)))

    def counts(self) -> Counts:
        """Return both ends: the most by counting, the least as the largest number that is sure to fit."""
        most = self.bounds(MOST_SCALED).most
        low, high = 0, most
        while low < high:
            middle = (low + high + 1) // 2
            if self.bounds(middle).least >= middle:
                low = middle
            else:
                high = middle - 1
        return self._searched(Counts(low, most)) if low < most else Counts(low, most)

    def _searched(self, counts: Counts) -> Counts:
        """Return what an exhaustive search leaves between the ends, if the workload is small enough for one."""
        setting, event = self._asked(counts.most)
        cell = Matrix(setting, _EFFORT).cell(event, 0)
        if cell.bound.by != "search" or cell.missing:
            return counts
        least, most = (max(pods - self._running, 0) for pods in (cell.bound.least, cell.bound.most))
        return Counts(max(counts.least, least), min(counts.most, most))


def _placed(it: Member, most: int) -> tuple[int, str]:
    """Return how many pods kube-scheduler places one after another, and its message about the next one."""
    if most > MOST_PODS_TRIED:
        return most, ""
    state = lasting_state(it.world)
    mark = state.mark()
    try:
        for bound in it.running_pods:
            if bound.node in it.world.index.positions:
                state.place(bound, it.world.index.positions[bound.node])
        copies = Copies(it.pod, it.workload.selector, most + 1)
        Placing([copies], state).run()
        found = diagnose(it.pod, state)
        return most + 1 - copies.left, message(found) if copies.left else ""
    finally:
        state.undo(mark)


def _groups(cluster: Cluster) -> Iterator[tuple[str, str, str]]:
    """Yield (name, label, value) for each zone, then for each node group."""
    zones = dict.fromkeys(node.labels[ZONE] for node in cluster.inventory.nodes if ZONE in node.labels)
    yield from ((f"zone {zone}", ZONE, zone) for zone in sorted(zones))
    groups = dict.fromkeys(node.group for node in cluster.inventory.nodes if "=" in node.group)
    yield from ((value, key, value) for key, _, value in (group.partition("=") for group in sorted(groups)))


def _pinned(world: World, workload: Workload, key: str, value: str) -> Counts:
    pod = replace(workload.pod, node_selector={**workload.pod.node_selector, key: value})
    pinned = replace(workload, pod=pod)
    return _Counting(world.without_pools.with_manifests(Inventory(workloads=(pinned,))), pinned).counts()


def _on_pools(world: World, workload: Workload, today: int) -> OnPools:
    """Return what pools add for more pods than surely fit today."""
    running = len(world.member(workload).running_pods)
    asked = replace(workload, replicas=running + today + _MORE)
    plan = growth_plan(world.with_manifests(Inventory(workloads=(asked,))))
    grown = [verdict for verdict in plan.verdicts if verdict.workload.ref == workload.ref]
    fitting = sum(verdict.grown for verdict in grown)
    limited = tuple(name for verdict in grown for name in verdict.limited)
    return OnPools(_MORE, fitting, plan.added, limited, next((v.message for v in grown if v.message), plan.skipped))


def _assumes(world: World) -> Iterator[str]:
    yield "nobody is evicted for the new pods"
    yield "only pods that run take room"
    if not world.knows_running_pods:
        yield "the cluster file shows none that run, so the nodes are empty"
