"""No node has the labels that the pod asks for."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.analysis.facts import Facts
from kubesched_lint.analysis.nearest import hint
from kubesched_lint.analysis.remedy import Remedy
from kubesched_lint.analysis.well_known import untold_label
from kubesched_lint.checks._remedies import spell_as_nodes_do
from kubesched_lint.findings import Hazard, UncheckedError, proof
from kubesched_lint.model.workload import Workload


def check(workload: Workload, facts: Facts) -> Iterator[Hazard]:
    pod = facts.pod(workload)
    if workload.kind == "DaemonSet" or pod.node_name or facts.reach(workload).matching:
        return  # a DaemonSet without nodes makes no pods: daemonset-matches-no-node
    if any(mark in value for value in pod.node_selector.values() for mark in "<$"):
        return  # no label's value: filled in before it is applied, as <node-hostname>
    nodes = facts.today.bit_count()
    untold = untold_label(facts.pod(workload), facts)
    if untold:
        raise UncheckedError(f"the sketch gives no node the label {untold}; write it to have selectors on it checked")
    miss = facts.node_miss(workload)
    yield Hazard(
        at=miss.at,
        evidence=proof(
            f"0 of {nodes} nodes match {miss.wanted}", demand=1, supply=0, assumes=facts.node_premises(workload)
        ),
        values={
            "replicas": facts.replicas(workload),
            "nodes": nodes,
            "wanted": miss.wanted,
            "nearest": hint(miss.nearest),
        },
    )


def fix(hazard: Hazard, workload: Workload, facts: Facts) -> Iterator[Remedy]:
    """Write the label as nodes have it."""
    yield from spell_as_nodes_do(workload, hazard.at, facts.index.nodes)
