"""What a workload could use if all that is passing today had passed."""

from __future__ import annotations

from kubesched_lint.analysis.facts import Facts
from kubesched_lint.cluster.nodeset import NodeSet
from kubesched_lint.model.workload import Workload


def usable_when_settled(workload: Workload, facts: Facts) -> NodeSet:
    """Nodes of ``facts.index`` that only a cordon or a passing taint closes, with those that are open."""
    from kubesched_lint.cluster.index import NodeIndex
    from kubesched_lint.scheduler.framework import static_feasible

    assert facts.cluster is not None, "a rule that reads nodes runs only with a cluster"
    settled = facts.cluster.settled()
    if settled is facts.cluster:
        return facts.usable(workload)
    # The order of the nodes stays, so positions mean the same in both indexes.
    return static_feasible(facts.pod(workload), NodeIndex(settled.inventory.nodes))
