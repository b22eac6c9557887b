"""The surge pods of a rollout have no free domain and wait until the rollout removes old pods."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.engine.base.text import many
from kubesched_lint.engine.model.nodes.node import domain_word
from kubesched_lint.engine.placing.rollout import fenceposts, repels_across_revisions
from kubesched_lint.engine.scenario.others.room import domain_room
from kubesched_lint.engine.scenario.premises.premises import running_premises
from kubesched_lint.engine.scenario.scenario import Member
from kubesched_lint.explaining.remedies.remedy import Remedy
from kubesched_lint.findings import Hazard, Place, proof
from kubesched_lint.sources.manifests.changes import Put


def check(it: Member) -> Iterator[Hazard]:
    if it.workload.kind != "Deployment" or it.workload.strategy.type != "RollingUpdate":
        return
    replicas = it.replicas
    surge, unavailable = fenceposts(it.workload, replicas)
    if not surge or not unavailable or it.workload.strategy.by_weight:
        return
    for term in it.workload.pod.required_anti_affinity:
        if not repels_across_revisions(it, term):
            continue
        room = domain_room(it, term.topology_key, term)
        free = len(room.domains) - replicas
        if not room.is_bounded or not 0 <= free < surge:
            continue
        yield Hazard(
            at=term.path,
            evidence=proof(
                f"{many(replicas, 'old pod')} + {many(surge, 'extra pod')} > {len(room.domains)} "
                f"{domain_word(term.topology_key, len(room.domains))}; "
                f"maxUnavailable is {unavailable}, so old pods make room",
                demand=replicas + surge,
                supply=len(room.domains),
                assumes=running_premises(it),
            ),
            values={
                "pending": surge - free,
                "surge": surge,
                "key": term.topology_key,
                "domains": room.domains,
                "unavailable": unavailable,
            },
            related=(Place(it.workload.strategy.path, f"maxSurge and maxUnavailable are {surge} and {unavailable}"),),
        )


def fix(hazard: Hazard, it: Member) -> Iterator[Remedy]:
    """Roll without surge, so that no pod waits in vain."""
    at = (*it.workload.strategy.path, "rollingUpdate", "maxSurge")
    yield Remedy("set maxSurge: 0", safe=True, changes=(Put(at, 0, after=("replicas", "selector")),))
