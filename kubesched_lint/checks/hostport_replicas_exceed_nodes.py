"""A host port is taken once per node, so each replica needs a node to itself."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.analysis.facts import Facts
from kubesched_lint.findings import Hazard, Place, proof
from kubesched_lint.model.workload import Workload


def check(workload: Workload, facts: Facts) -> Iterator[Hazard]:
    if not workload.stays:
        return
    usable = facts.usable(workload).bit_count()
    replicas = facts.replicas(workload)
    if not usable or replicas <= usable:
        return
    port = facts.pod(workload).host_ports[0]
    yield Hazard(
        at=port.path,
        evidence=proof(
            f"{replicas} replicas > {usable} usable nodes, each of which gives {port.protocol} {port.port} once",
            demand=replicas,
            supply=usable,
            assumes=facts.node_premises(workload),
        ),
        values={
            "pending": replicas - usable,
            "replicas": replicas,
            "usable": usable,
            "port": port.port,
        },
        variant="host_network" if port.path[-1] == "containerPort" else "default",
        related=(Place(workload.replicas_path, f"{replicas} replicas wanted here"),),
    )
