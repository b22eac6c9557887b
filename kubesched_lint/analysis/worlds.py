"""Other worlds in which a question is asked again: what holds in one of them alone is said with its premise."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kubesched_lint.analysis.held import without
from kubesched_lint.record import replace
from kubesched_lint.world.world import World, once_per_world

if TYPE_CHECKING:
    from kubesched_lint.analysis.plan import Plan
    from kubesched_lint.cluster.cluster import Cluster


@once_per_world
def without_suspended(world: World) -> World:
    """The world without paused and suspended workloads: nobody makes their pods, so pools add no nodes for them."""
    held = [w for w in world.manifests.workloads if w.held]
    return world.with_manifests(without(world.manifests, held)) if held else world


@once_per_world
def grown_world(world: World) -> World:
    """The world on the nodes of today and those that the pools add for this set."""
    if not world.pools or world.cluster is None:
        return world
    from kubesched_lint.analysis.growth import growth_plan

    return world.on(grown(world.cluster, growth_plan(without_suspended(world))))


def grown(cluster: Cluster, plan: Plan) -> Cluster:
    """The cluster with the nodes of a plan as if they were there."""
    if not plan.nodes:
        return cluster
    nodes = (*cluster.inventory.nodes, *plan.nodes)
    return replace(cluster, inventory=replace(cluster.inventory, nodes=nodes))


def with_spares(world: World, most: int) -> World | None:
    """On the nodes of a plan and further ones of every kind, as limits allow; without pools from there on.

    None if the pools could add more than ``most``.
    """
    from kubesched_lint.analysis.growth import growth_plan
    from kubesched_lint.analysis.plan import Plan
    from kubesched_lint.cluster.nodepools.templates import fits_limits, take

    potential, plan = world.potential, growth_plan(world)
    if world.cluster is None or not potential.complete or len(potential.nodes) > most:
        return None
    left = {pool: dict(limits) for pool, limits in plan.left.items()}
    nodes = {node.name: node for node in plan.nodes}
    kinds: dict[int, int] = {}
    ranked = []
    for node in potential.nodes:  # the first of each kind, then the second …
        kind = id(potential.by_name[node.name])
        kinds[kind] = kinds.get(kind, 0) + 1
        ranked.append((kinds[kind], node))
    for _, node in sorted(ranked, key=lambda pair: pair[0]):
        template = potential.by_name[node.name].template
        limits = left.get(template.pool.name, {})
        if node.name not in nodes and fits_limits(template, limits) != 0:
            nodes[node.name] = replace(node, allocatable=template.offered)
            take(template, limits)
    now = world.without_pools
    return now.on(grown(now.cluster or world.cluster, Plan(nodes=tuple(nodes.values()))))
