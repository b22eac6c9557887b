"""Only soft constraints: a wish, not a guarantee."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.analysis.facts import Facts
from kubesched_lint.analysis.remedy import Remedy
from kubesched_lint.findings import Hazard, pattern
from kubesched_lint.manifests.changes import Put
from kubesched_lint.model.workload import Workload


def check(workload: Workload, facts: Facts) -> Iterator[Hazard]:
    spread = workload.pod.spread
    if workload.kind == "DaemonSet" or any(c.is_hard for c in spread) or facts.replicas(workload) < 2:
        return
    if any(facts.repels_itself(workload, term) for term in facts.pod(workload).required_anti_affinity):
        return
    yield Hazard(
        at=(*spread[0].path, "whenUnsatisfiable"),
        evidence=pattern(f"{len(spread)} constraints, none of them DoNotSchedule"),
        values={"keys": tuple(c.topology_key for c in spread), "replicas": facts.replicas(workload)},
    )


def fix(hazard: Hazard, workload: Workload, facts: Facts) -> Iterator[Remedy]:
    """Make the constraint hard."""
    yield Remedy("use whenUnsatisfiable: DoNotSchedule", safe=False, changes=(Put(hazard.at, "DoNotSchedule"),))
