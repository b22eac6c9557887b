"""One pod asks for more than any node it may use has to offer."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.analysis.facts import Facts, request_path
from kubesched_lint.findings import Hazard, proof
from kubesched_lint.model.quantity import show
from kubesched_lint.model.workload import Workload


def check(workload: Workload, facts: Facts) -> Iterator[Hazard]:
    reach = facts.reach(workload)
    if workload.kind == "DaemonSet" or not reach.tolerated or reach.usable:
        return
    shortage = facts.shortage(workload, reach.tolerated)
    if shortage is None:
        return  # cordons, not resources, are in the way
    name, wanted, largest, where = shortage.resource, shortage.wanted, shortage.largest, shortage.node
    yield Hazard(
        at=request_path(workload, name),
        evidence=proof(
            f"{name} {show(name, wanted)} > {show(name, largest)}, the largest allocatable of "
            f"{reach.tolerated.bit_count()} nodes ({where})",
            demand=wanted,
            supply=largest,
            assumes=facts.node_premises(workload),
        ),
        values={
            "resource": name,
            "wanted": show(name, wanted),
            "largest": show(name, largest),
            "node": where,
            "replicas": facts.replicas(workload),
            "count": reach.tolerated.bit_count(),
        },
        variant="absent" if largest == 0 else "",
    )
