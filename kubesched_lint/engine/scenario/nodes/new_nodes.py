"""The pools that could add the nodes of a scenario that do not exist yet, and their names in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kubesched_lint.engine.base.text import first_few, plural
from kubesched_lint.engine.cluster.nodeset import NodeSet
from kubesched_lint.engine.scenario.scenario import Scenario

if TYPE_CHECKING:
    from kubesched_lint.engine.model.nodes.node import NodePool


def pools_adding(nodes: NodeSet, scenario: Scenario) -> tuple[NodePool, ...]:
    """Return the pools that could add the nodes of a set that do not exist yet."""
    new = scenario.names(nodes & ~scenario.today)
    return tuple(
        {pool.name: pool for pool in (scenario.potential.by_name[name].template.pool for name in new)}.values()
    )


def pools_in_words(pools: Sequence[NodePool]) -> str:
    """Return ``pool general and node groups gpu and arm``; empty without pools."""
    written = named([pool.name for pool in pools if not pool.inferred], "pool")
    groups = named([pool.name for pool in pools if pool.inferred], "node group")
    return " and ".join(filter(None, [written, groups]))


def named(names: Sequence[str], noun: str) -> str:
    """Return ``node groups general and gpu``; empty without names."""
    return f"{plural(len(names), noun)} {first_few(names)}" if names else ""
