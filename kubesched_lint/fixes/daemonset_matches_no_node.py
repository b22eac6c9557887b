"""The taint in the way is tolerated, or the label asked for that nodes have."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.analysis.facts import Facts
from kubesched_lint.analysis.remedy import Remedy
from kubesched_lint.findings import Hazard
from kubesched_lint.fixes._labels import as_nodes_have_it
from kubesched_lint.fixes._taints import tolerating
from kubesched_lint.model.workload import Workload


def fixes(hazard: Hazard, workload: Workload, facts: Facts) -> Iterator[Remedy]:
    if hazard.variant == "taints":
        yield from tolerating(workload, facts.taints_in_the_way(workload, facts.reach(workload).matching))
    else:
        yield from as_nodes_have_it(workload, hazard.at, facts.index.nodes)
