"""No node has the labels that the pod asks for, or a taint it tolerates, and no pool can make one."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.analysis.facts import Facts
from kubesched_lint.analysis.nearest import Miss, hint, node_miss
from kubesched_lint.analysis.potential import made_by
from kubesched_lint.analysis.remedy import Remedy
from kubesched_lint.analysis.zone_pins import outside_pools
from kubesched_lint.checks._remedies import spell_as_nodes_do, tolerate
from kubesched_lint.findings import Hazard, proof
from kubesched_lint.model.nodepool import NodePool
from kubesched_lint.model.workload import Workload


def check(workload: Workload, facts: Facts) -> Iterator[Hazard]:
    pod, reach = facts.pod(workload), facts.reach(workload)
    if workload.kind == "DaemonSet" or pod.node_name or reach.tolerated:
        return
    if any(True for _ in outside_pools(workload, facts)):
        return  # only the zone is at fault: affinity-zone-outside-pools
    reasons = tuple(_reason(workload, facts, pool) for pool in facts.pools)
    if not reach.matching and not pod.node_selector and pod.required_node_terms is None:
        return  # there is no node at all, and no pool can make one: the footer says so
    # A pod without conditions misses no label.
    miss = Miss((*pod.path, "tolerations"), "") if reach.matching else facts.node_miss(workload)
    yield Hazard(
        at=miss.at,
        key=bool(reach.matching),
        evidence=proof(
            f"0 of {facts.today.bit_count()} nodes and 0 of {len(facts.pools)} pools: {'; '.join(reasons)}",
            demand=1,
            supply=0,
            assumes=facts.node_premises(workload),
        ),
        values={
            "replicas": facts.replicas(workload),
            "wanted": miss.wanted,
            "nearest": hint(miss.nearest),
            "reasons": "; ".join(reasons),
        },
        variant="taints" if reach.matching else "default",
    )


def fix(hazard: Hazard, workload: Workload, facts: Facts) -> Iterator[Remedy]:
    """Tolerate the taint of the nodes that pools make, or ask for a label that nodes have."""
    matching = facts.reach(workload).matching
    if hazard.variant == "taints":
        yield from tolerate(workload, facts.taints_in_the_way(workload, matching))
    else:
        yield from spell_as_nodes_do(workload, hazard.at, facts.index.nodes)


def _reason(workload: Workload, facts: Facts, pool: NodePool) -> str:
    """What one pool lacks."""
    nodes = made_by(facts, pool)
    if not nodes:
        return f"{pool.name} has no machine type that meets its own requirements"
    matching = facts.reach(workload).matching & nodes
    if matching:
        return f"{pool.name} has the taint {next(iter(facts.taints_in_the_way(workload, matching)))}"
    return f"{pool.name} sets no {node_miss(facts.pod(workload), tuple(facts.index.nodes_of(nodes))).wanted}"
