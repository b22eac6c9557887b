"""No node has the labels that the pod selects and only taints that it tolerates, and no pool can make one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

from kubesched_lint.engine.base.text import ends_of
from kubesched_lint.engine.cluster.nodeset import EMPTY, NodeSet, grouped, positions
from kubesched_lint.engine.model.nodes.node import NodePool
from kubesched_lint.engine.scenario.nodes.unknown_nodes import check_known
from kubesched_lint.engine.scenario.others.room import taints_in_the_way
from kubesched_lint.engine.scenario.premises.premises import node_premises
from kubesched_lint.engine.scenario.scenario import Member, Scenario, once_per_scenario
from kubesched_lint.explaining.near_misses.nearest import Miss, hint, miss_of
from kubesched_lint.explaining.near_misses.zone_pins import outside_pools
from kubesched_lint.explaining.remedies.nodes import spell_as_nodes_do, tolerate
from kubesched_lint.explaining.remedies.remedy import Remedy
from kubesched_lint.findings import Hazard, proof


def check(it: Member) -> Iterator[Hazard]:
    pod, reach = it.pod, it.reach
    if it.workload.kind == "DaemonSet" or pod.node_name or reach.tolerated:
        return
    if any(True for _ in outside_pools(it)):
        return  # only the zone is the cause: affinity-zone-outside-pools
    reasons = _reasons(it)
    if not it.scenario.index.all and not pod.node_selector and pod.required_node_terms is None:
        return  # there is no node at all, and no pool can make one: the footer reports it
    if not reach.matching:
        check_known(pod, it.scenario)
    # A pod without conditions misses no label.
    miss = Miss((*pod.path, "tolerations"), "") if reach.matching else miss_of(it)
    yield Hazard(
        at=miss.at,
        key=bool(reach.matching),
        evidence=proof(
            f"0 of {it.scenario.today.bit_count()} nodes and 0 of {len(it.scenario.pools)} pools: {reasons}",
            demand=1,
            supply=0,
            assumes=node_premises(it),
        ),
        values={
            "replicas": it.replicas,
            "wanted": miss.wanted,
            "nearest": hint(miss.nearest),
            "reasons": reasons,
        },
        cause=reasons if reach.matching else miss.lack,
        variant="taints" if reach.matching else "default",
    )


def fix(hazard: Hazard, it: Member) -> Iterator[Remedy]:
    """Tolerate the taint of the nodes that pools make, or select a label that nodes have."""
    matching = it.reach.matching
    if hazard.variant == "taints":
        yield from tolerate(it, matching)
    else:
        yield from spell_as_nodes_do(it.workload, hazard.at, it.scenario.index.nodes)


def _reasons(it: Member) -> str:
    """Return what each pool lacks."""
    pools = it.scenario.pools
    return "; ".join(ends_of(pools, partial(_reason, it)))


def _reason(it: Member, pool: NodePool) -> str:
    """Return what one pool lacks."""
    nodes = _made_by(it.scenario).get(pool.name, EMPTY)
    if not nodes:
        return f"{pool.name} has no machine type that meets its own requirements"
    matching = it.reach.matching & nodes
    if matching:
        return f"{pool.name} has the taint {next(iter(taints_in_the_way(it, matching)))}"
    return f"{pool.name} sets no {miss_of(it, nodes, near=False).wanted}"


@once_per_scenario
def _made_by(scenario: Scenario) -> Mapping[str, NodeSet]:
    """Name of a pool → its potential nodes."""
    names, offers = scenario.index.names, scenario.potential.by_name
    made = positions(scenario.index.all & ~scenario.today)
    return grouped((position, offers[names[position]].template.pool.name) for position in made)
