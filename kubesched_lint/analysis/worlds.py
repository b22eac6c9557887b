"""Other worlds in which a question is asked again: what holds in one of them alone is said with its premise."""

from __future__ import annotations

from kubesched_lint.analysis.growth import grown, growth_plan
from kubesched_lint.analysis.held import without
from kubesched_lint.world.world import World, once_per_world


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
    return world.on(grown(world.cluster, growth_plan(without_suspended(world))))
