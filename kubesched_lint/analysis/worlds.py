"""Would an answer still hold if …? The other worlds in which a question is asked again, and the loop that asks.

One ``WhatIf`` describes one fact on which an answer may depend. ``linter.what_if`` has the table for findings,
``commands.simulate.what_if_cells`` the one for the cells of ``simulate``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Generic, TypeVar

from kubesched_lint.analysis.held import without
from kubesched_lint.record import record, replace
from kubesched_lint.world.world import World, once_per_world

if TYPE_CHECKING:
    from kubesched_lint.analysis.plan import Plan
    from kubesched_lint.cluster.cluster import Cluster

T = TypeVar("T")

MOST_SPARE = 60
"""Most nodes that pools might add during an event; with more, the search would take too long."""


@record
class WhatIf(Generic[T]):
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
def without_suspended(world: World) -> World:
    """The world without paused and suspended workloads: they get no pods, so pools add no nodes for them."""
    held = [w for w in world.manifests.workloads if w.held]
    return world.with_manifests(without(world.manifests, held)) if held else world


@once_per_world
def grown_world(world: World) -> World:
    """The world on today's nodes and those that the pools add for this set."""
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


@once_per_world
def with_spares(world: World) -> World | None:
    """The world on the nodes of a plan plus more of every kind, as limits allow; it has no pools itself.

    None if the pools could add more than ``MOST_SPARE``.
    """
    from kubesched_lint.analysis.growth import growth_plan
    from kubesched_lint.analysis.plan import Plan
    from kubesched_lint.cluster.nodepools.templates import fits_limits, take

    potential, plan = world.potential, growth_plan(world)
    if world.cluster is None or not potential.complete or len(potential.nodes) > MOST_SPARE:
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
