"""Would an answer still hold if …? The other worlds in which a question is asked again, and the loop that asks.

One ``WhatIf`` describes one fact on which an answer may depend; ``engine.verdicts.what_if`` has the table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import count
from typing import TYPE_CHECKING, Generic, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from kubesched_lint.engine.base.text import first_few
from kubesched_lint.engine.cluster.nodes.index import NodeIndex
from kubesched_lint.engine.cluster.pods.template import AS_IT_RUNS
from kubesched_lint.engine.placing.growth.plan import Plan
from kubesched_lint.engine.placing.limits import MOST_SPARE
from kubesched_lint.engine.scenario.pods.pod_labels import revision_label
from kubesched_lint.engine.scenario.world import Member, World, once_per_world
from kubesched_lint.engine.scheduler.tolerance import leaves

if TYPE_CHECKING:
    from kubesched_lint.engine.cluster.cluster import Cluster
    from kubesched_lint.engine.cluster.nodeset import NodeSet
    from kubesched_lint.engine.model.node import Taint
    from kubesched_lint.engine.model.pod import BoundPod
    from kubesched_lint.engine.model.workload import Workload
    from kubesched_lint.engine.scenario.pools.offers import NodeOffer


T = TypeVar("T")


class WhatIf(Struct, Generic[T], frozen=True):
    """One fact that may differ from a world. Each function gets an answer and the world that gave it."""

    name: str
    """Completes "Would it still hold if …?"."""
    concerns: Callable[[T, World], bool]
    """Return whether the answer may depend on it."""
    judge: Callable[[T, World, Sequence[T | None]], T | None]
    """Return what is left of the answer, given those of the other worlds (None for no answer); None if nothing."""
    worlds: Callable[[T, World], Sequence[World]] = lambda answer, world: ()
    """Return the worlds in which the fact differs; empty if none can be made: then nothing confirms the answer."""


def surviving(
    answer: T, world: World, rows: Iterable[WhatIf[T]], ask: Callable[[T, World], T | None] = lambda answer, world: None
) -> T | None:
    """Return what the rows leave of an answer given in ``world``; None if nothing. ``ask`` answers in another world.

    Rows accumulate: the next row starts from the worlds in which the previous row confirmed the answer.
    """
    left: T | None = answer
    worlds: Sequence[World] = (world,)
    for row in rows:
        if left is None or not row.concerns(left, world):
            continue
        others = [other for one in worlds for other in row.worlds(left, one)]
        again = [ask(left, other) for other in others]
        worlds = [other for other, found in zip(others, again, strict=True) if found is not None] or worlds
        left = row.judge(left, world, again)
    return left


@once_per_world
def without_others(world: World) -> World:
    """The world without the running pods of others, as if they had gone since the cluster's file was written."""
    cluster = world.cluster
    assert cluster is not None
    others = set(world.other_pods)
    kept = tuple(bound for bound in cluster.inventory.pods if bound not in others)
    return world.on(replace(cluster, stale="", inventory=replace(cluster.inventory, pods=kept)))


@once_per_world
def without_expected(world: World) -> World:
    """The world in which webhooks change nothing in the next pods but what is certain."""
    cluster = world.cluster
    assert cluster is not None
    return world.on(replace(cluster, expects_mutations=False))


def fresh_premise(cluster: Cluster) -> str:
    """The premise of a proof that needs the running pods of others, which may have changed by now."""
    return f"fresh pods show no other room than those of {cluster.path} ({cluster.stale})"


@once_per_world
def with_groups(world: World) -> World | None:
    """The world with the node groups that only nodes show as pools; None if no node comes, or if any may (--elastic).

    These are all node groups only if ``world.node_groups.are_all``.
    """
    cluster = world.cluster
    if cluster is None or cluster.grown or cluster.is_elastic_by_option or not world.is_elastic:
        return None
    return world.on(replace(cluster.with_pools(world.node_groups.inferred), grown=True, node_groups=""))


def with_known_growth(world: World) -> World:
    """``with_groups`` if there are no other node groups, else the same world."""
    if world.cluster is None or not world.node_groups.are_all:
        return world
    return with_groups(world) or world


@once_per_world
def without_suspended(world: World) -> World:
    """The world without paused and suspended workloads: they get no pods, so pools add no nodes for them."""
    suspended = [w for w in world.manifests.workloads if w.suspended]
    return without_workloads(world, suspended) if suspended else world


@once_per_world
def grown_world(world: World) -> World:
    """The world on today's nodes and those that the pools add for this set."""
    if not world.pools or world.cluster is None:
        return world
    from kubesched_lint.engine.placing.growth.growth import growth_plan

    return world.on(grown(world.cluster, growth_plan(without_suspended(world))))


def grown(cluster: Cluster, plan: Plan) -> Cluster:
    """The cluster with the nodes of a plan as if they were there."""
    if not plan.nodes:
        return cluster
    nodes = (*cluster.inventory.nodes, *plan.nodes)
    return replace(cluster, inventory=replace(cluster.inventory, nodes=nodes))


@once_per_world
def with_spares(world: World) -> World | None:
    """The world on the nodes of a plan plus more of every kind, as limits allow; it has no pools itself.

    Where limits allow no node of a pool's largest kind, it has one of the next smaller kind that they allow.
    None if the pools could add more than ``MOST_SPARE``.
    """
    from kubesched_lint.engine.cluster.nodepools.templates import first_allowed, fits_limits, take
    from kubesched_lint.engine.placing.growth.growth import growth_plan

    potential = world.potential
    if world.cluster is None or not potential.complete or len(potential.nodes) > MOST_SPARE:
        return None
    plan = growth_plan(world)
    left = {pool: dict(limits) for pool, limits in plan.left.items()}
    nodes = {node.name: node for node in plan.nodes}
    kinds: dict[NodeOffer, int] = {}
    ranked = []
    for node in potential.nodes:  # the first of each kind, then the second …
        kind = potential.by_name[node.name]
        kinds[kind] = kinds.get(kind, 0) + 1
        ranked.append((kinds[kind], node))
    for _, node in sorted(ranked, key=lambda pair: pair[0]):
        template = potential.by_name[node.name].template
        limits = left.get(template.pool.name, {})
        if node.name in nodes:
            continue
        if fits_limits(template, limits) == 0:
            smaller = first_allowed((offer.template for offer in potential.alike[node.name]), limits)
            if smaller is None:
                continue
            template, stem = smaller, smaller.stem
            name = next(name for n in count(1) if (name := f"{stem}-{n}") not in nodes)
            node = template.named(name, template.offered)
        nodes[node.name] = replace(node, allocatable=template.offered)
        take(template, limits)
    now = world.without_pools
    return now.on(grown(now.cluster or world.cluster, Plan(nodes=tuple(nodes.values()))))


# --- The cluster after all temporary taints and cordons are gone, and what a workload could use then ------------------


def without_transient(cluster: Cluster) -> Cluster:
    """The cluster without cordons and temporary taints; bare pods that do not tolerate a NoExecute taint are leaving.

    The taint eviction controller deletes them, at once or after their tolerationSeconds, and no controller recreates
    them (``pkg/controller/tainteviction/taint_eviction.go``, processPodOnNode). Pods with a controller come back
    elsewhere.
    """
    later = cluster.without_transient()
    taints = {node.name: taints for node in later.inventory.nodes if (taints := _evicting(node.taints))}
    if not taints:
        return later
    pods = tuple(_leaving(bound, taints.get(bound.node, ())) for bound in later.inventory.pods)
    return replace(later, inventory=replace(later.inventory, pods=pods))


def _evicting(taints: tuple[Taint, ...]) -> tuple[Taint, ...]:
    return tuple(t for t in taints if t.effect == "NoExecute")


def _leaving(bound: BoundPod, taints: tuple[Taint, ...]) -> BoundPod:
    if not taints or bound.owner is not None or bound.terminating:
        return bound
    leaving = any(leaves(bound.pod.tolerations, taint) for taint in taints)
    return replace(bound, terminating=True) if leaving else bound


def usable_without_transient(it: Member) -> NodeSet:
    """Nodes of ``World.index`` that are open, or closed only by a cordon or a temporary taint."""
    from kubesched_lint.engine.scheduler.framework import static_feasible

    lasting = _nodes_without_transient(it.world)
    return it.usable if lasting is None else static_feasible(it.pod, lasting)


@once_per_world
def _nodes_without_transient(world: World) -> NodeIndex | None:
    """Return the nodes after all transient states have ended, in their order; None if there are none."""
    assert world.cluster is not None, "a rule that reads nodes runs only with a cluster"
    later = world.cluster.without_transient()
    return None if later is world.cluster else NodeIndex(later.inventory.nodes, world.device_resources)


# --- Workloads that make no new pods until somebody resumes them: paused Deployments, suspended Jobs and CronJobs -----


def without_workloads(world: World, workloads: Sequence[Workload]) -> World:
    """The world without some workloads; their running pods then count as other pods, which stay."""
    gone = set(workloads)
    return world.with_workloads(tuple(w for w in world.manifests.workloads if w not in gone))


@once_per_world
def cron_runs(world: World) -> Mapping[Workload, Workload]:
    """Return CronJob → the Job of its run, without suspended ones."""
    return {
        w: replace(w, kind="Job", name=f"{w.name}-run")
        for w in world.manifests.workloads
        if w.kind == "CronJob" and not w.suspended
    }


@once_per_world
def with_cron_runs(world: World) -> World:
    """Return the world in which one run of each CronJob is beside all else: nobody knows which of them overlap."""
    runs = cron_runs(world)
    return world.with_workloads(tuple(runs.get(w, w) for w in world.manifests.workloads))


def amid_rollout(world: World) -> tuple[Workload, ...]:
    """Deployments that were paused while pods of two revisions run: they keep both."""
    paused = (w for w in world.manifests.workloads if w.suspended == "paused")
    return tuple(
        w
        for w in paused
        if len({b.pod.labels.get(revision_label(w)) for b in _staying(world.member(w).running_pods)}) > 1
    )


def as_it_stands(workload: Workload, running: Sequence[BoundPod]) -> Workload:
    """The workload as its controller treats it while it is paused or suspended: only running pods, or none."""
    staying = _staying(running)
    if workload.suspended != "paused" or not staying:
        return replace(workload, replicas=0)
    pod = replace(staying[0].pod, path=workload.pod.path, labels_path=workload.pod.labels_path)
    return replace(workload, pod=pod, template=AS_IT_RUNS)


def _staying(running: Sequence[BoundPod]) -> Sequence[BoundPod]:
    return [bound for bound in running if not bound.terminating]


def resumed_premise(workload: Workload) -> str:
    """Return the premise of a hazard of a paused or suspended workload."""
    if workload.suspended == "paused":
        return f"{workload} is resumed: while {workload.suspended_field} is true no pod is made of a new template"
    return f"{workload} is resumed: while {workload.suspended_field} is true it has no pods"


def resumed_premise_of_others(workloads: Sequence[Workload]) -> str:
    """The premise of a hazard that needs pods of paused or suspended workloads."""
    return f"resumed: {first_few([f'{w} ({w.suspended})' for w in workloads])}"
