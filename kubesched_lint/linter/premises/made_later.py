"""What an error assumes about labels and devices that the set itself, or a driver, may add to nodes."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from kubesched_lint.engine.scenario.nodes.node_makers import MadeLater, made_later
from kubesched_lint.engine.scenario.scenario import Scenario
from kubesched_lint.linter.premises.unknown_classes import members_of
from kubesched_lint.linter.results.applies import rests_on_nodes
from kubesched_lint.linter.results.rule_results import RuleResult

_PLENTY = 1 << 20


def things_made(error: RuleResult, scenario: Scenario) -> Sequence[MadeLater]:
    """Return what no node has yet, and the pods of an error require."""
    if not rests_on_nodes(error.rule):
        return ()
    return list(
        dict.fromkeys(made for member in members_of(error, scenario) for made in made_later(member.pod, scenario))
    )


def if_not_made(error: RuleResult, scenario: Scenario) -> str:
    return "; ".join(made.premise for made in things_made(error, scenario))


def with_things_made(error: RuleResult, scenario: Scenario) -> Sequence[Scenario]:
    """Return the scenario where each node has all of that; none if pools make nodes, or if more nodes may do harm, too.

    A spread counts only the domains of selected nodes.
    """
    if (
        scenario.cluster is None
        or scenario.pools
        or any(c.is_hard for member in members_of(error, scenario) for c in member.pod.spread)
    ):
        return ()
    made = things_made(error, scenario)
    labels = dict(later.label for later in made if later.label is not None)
    resources = {later.what: _PLENTY for later in made if later.label is None}
    nodes = tuple(
        replace(
            node,
            labels={**labels, **node.labels},
            allocatable=None if node.allocatable is None else {**node.allocatable, **resources},
        )
        for node in scenario.cluster.inventory.nodes
    )
    return (scenario.on(replace(scenario.cluster, inventory=replace(scenario.cluster.inventory, nodes=nodes))),)
