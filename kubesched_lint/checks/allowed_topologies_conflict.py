"""The storage class makes volumes only where the pod may not go."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.analysis.claims import has_free_volume, storage_class_of, topology_nodes, unbound_claims
from kubesched_lint.analysis.facts import Facts
from kubesched_lint.findings import Hazard, Place, proof
from kubesched_lint.model.workload import Workload


def check(workload: Workload, facts: Facts) -> Iterator[Hazard]:
    usable = facts.usable(workload)
    if not usable or workload.kind == "DaemonSet":
        return
    for claim, at in unbound_claims(facts, workload):
        storage_class = storage_class_of(facts, claim)
        if storage_class is None or not storage_class.allowed_topologies or has_free_volume(facts, storage_class.name):
            continue
        allowed = topology_nodes(facts, storage_class.allowed_topologies)
        if allowed & usable:
            continue
        topologies = tuple(
            f"{key} {', '.join(values)}" for term in storage_class.allowed_topologies for key, values in term.items()
        )
        related = (Place(("allowedTopologies",), "volumes are made here only", storage_class.source),)
        yield Hazard(
            at=at,
            evidence=proof(
                f"0 of the {usable.bit_count()} usable nodes lie within allowedTopologies of {storage_class.name}",
                demand=1,
                supply=0,
                assumes=facts.node_premises(workload),
            ),
            values={
                "storage_class": storage_class.name,
                "topologies": topologies,
                "replicas": facts.replicas(workload),
            },
            related=related if storage_class.source is not None else (),
        )
