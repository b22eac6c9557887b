"""The storage class makes volumes only where the pod may not run."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.engine.base.errors import UncheckedError
from kubesched_lint.engine.scenario.premises.premises import node_premises, none_of_nodes
from kubesched_lint.engine.scenario.scenario import Member
from kubesched_lint.engine.scenario.storage.claims import (
    fate,
    has_free_volume,
    storage_class_of,
    topology_nodes,
    unbound_claims,
)
from kubesched_lint.findings import Hazard, Place, proof


def check(it: Member) -> Iterator[Hazard]:
    usable = it.usable
    if not usable or it.workload.kind == "DaemonSet":
        return
    for claim, at in unbound_claims(it):
        storage_class = storage_class_of(it.scenario, claim)
        if (
            storage_class is None
            or not storage_class.allowed_topologies
            or has_free_volume(it.scenario, storage_class.name)
        ):
            continue
        allowed = topology_nodes(it.scenario, storage_class.allowed_topologies)
        if allowed & usable:
            continue
        claim_fate = fate(it.scenario, claim)
        if not claim_fate.modelled:
            raise UncheckedError(f"it is unknown {claim_fate.lack}")
        topologies = tuple(
            f"{key} {', '.join(values)}" for term in storage_class.allowed_topologies for key, values in term.items()
        )
        related = (Place(("allowedTopologies",), "volumes are made here only", storage_class.source),)
        yield Hazard(
            at=at,
            evidence=proof(
                f"{none_of_nodes(it.scenario, usable)} is within allowedTopologies of {storage_class.name}",
                demand=1,
                supply=0,
                assumes=node_premises(it),
            ),
            values={
                "storage_class": storage_class.name,
                "topologies": topologies,
                "replicas": it.replicas,
            },
            related=related if storage_class.source is not None else (),
            cause=storage_class.name,
        )
