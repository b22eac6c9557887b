"""The replicas fit today but not at the autoscaler's maximum."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.engine.model.nodes.node import domains_in_words
from kubesched_lint.engine.placing.rollout import rollout_condition_of
from kubesched_lint.engine.scenario.others.room import domain_room
from kubesched_lint.engine.scenario.premises.premises import node_premises
from kubesched_lint.engine.scenario.scenario import Member
from kubesched_lint.explaining.remedies.placement import spread_instead
from kubesched_lint.explaining.remedies.remedy import Remedy
from kubesched_lint.explaining.sizes.replicas import places_that_scale, scaling_values
from kubesched_lint.findings import Hazard, proof


def check(it: Member) -> Iterator[Hazard]:
    scaler = it.autoscaler
    if scaler is None:
        return
    for term in it.kept_apart:
        room = domain_room(it, term.topology_key)
        supply = len(room.domains)
        if room.is_bounded and it.replicas <= supply < scaler.max_replicas:
            yield Hazard(
                at=term.path,
                evidence=proof(
                    f"{scaler.bounds[0]} {scaler.max_replicas} > {domains_in_words(term.topology_key, room.domains)}",
                    demand=scaler.max_replicas,
                    supply=supply,
                    assumes=node_premises(it),
                    event="hpa-max",
                ),
                values={
                    **scaling_values(scaler, supply),
                    "key": term.topology_key,
                    "domains": room.domains,
                    "apart": term.topology_key,
                    "rollouts": rollout_condition_of(it, term, supply),
                },
                related=places_that_scale(scaler, supply),
            )


def fix(hazard: Hazard, it: Member) -> Iterator[Remedy]:
    """Spread the replicas instead: a domain may then hold several."""
    yield from spread_instead(it.workload, hazard.at, hard=True)
    yield from spread_instead(it.workload, hazard.at, hard=False)
