"""A DaemonSet has one pod on each node it selects, whatever a constraint says."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.analysis.daemons import daemon_nodes
from kubesched_lint.analysis.facts import Facts
from kubesched_lint.analysis.remedy import Remedy
from kubesched_lint.findings import Hazard
from kubesched_lint.manifests.changes import Remove
from kubesched_lint.model.node import HOSTNAME
from kubesched_lint.model.pod import SpreadConstraint
from kubesched_lint.model.workload import Workload


def fixes(hazard: Hazard, workload: Workload, facts: Facts) -> Iterator[Remedy]:
    at = hazard.at[:-1] if hazard.variant in ("blocks", "counted") else hazard.at
    constraint = next(c for c in workload.pod.spread if c.path == at)
    yield Remedy("drop the constraint", safe=_keeps_none_away(constraint, workload, facts), changes=(Remove(at),))


def _keeps_none_away(constraint: SpreadConstraint, workload: Workload, facts: Facts) -> bool:
    """Whether the DaemonSet runs on the same nodes without it. A hard one keeps off nodes without the key, too."""
    if not constraint.is_hard:
        return True
    if constraint.node_affinity_policy == "Ignore":
        return False
    if facts.cluster is None:
        return constraint.topology_key == HOSTNAME
    return not daemon_nodes(workload, facts) & ~facts.index.with_key(constraint.topology_key)
