"""The taint of the nodes that it misses is tolerated."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.analysis.daemons import daemon_nodes
from kubesched_lint.analysis.facts import Facts
from kubesched_lint.analysis.remedy import Remedy
from kubesched_lint.findings import Hazard
from kubesched_lint.fixes._taints import tolerating
from kubesched_lint.model.workload import Workload


def fixes(hazard: Hazard, workload: Workload, facts: Facts) -> Iterator[Remedy]:
    missed = facts.reach(workload).matching & ~daemon_nodes(workload, facts)
    yield from tolerating(workload, facts.taints_in_the_way(workload, missed))
