"""Would it still hold if …? The other worlds in which a question is asked again, and the loop that asks.

What an answer hangs on is one ``WhatIf`` each. ``linter.what_if`` has the table for findings,
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
"""Nodes that pools might add in the midst of an event; with more, the search would not end."""


@record
class WhatIf(Generic[T]):
    """One thing that may be otherwise than a world has it. Each function gets an answer and the world that gave it."""

    name: str
    """Completes "Would it still hold if …?"."""
    concerns: Callable[[T, World], bool]
    """Whether the answer may hang on it."""
    judge: Callable[[T, World, Sequence[T | None]], T | None]
    """What is left of the answer, given that of each other world (None where it is not given); None if nothing is."""
    worlds: Callable[[T, World], Sequence[World]] = lambda answer, world: ()
    """The worlds in which it is otherwise. None where nobody can make one: then nothing confirms the answer."""


def surviving(
    answer: T, world: World, rows: Iterable[WhatIf[T]], ask: Callable[[T, World], T | None] = lambda answer, world: None
) -> T | None:
    """Return what the rows leave of an answer given in ``world``; None if nothing. ``ask`` finds it in another world.

    Rows add up: where one confirms the answer in its worlds, the next one makes its own of those.
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


@once_per_world
def with_spares(world: World) -> World | None:
    """On the nodes of a plan and further ones of every kind, as limits allow; without pools from there on.

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
