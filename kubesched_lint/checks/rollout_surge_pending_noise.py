"""The surge pods of a rollout have no domain left; it goes on by removing old pods, and meanwhile they wait."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.analysis.facts import Facts
from kubesched_lint.analysis.remedy import Remedy
from kubesched_lint.analysis.rollout import fenceposts, repels_across_revisions
from kubesched_lint.findings import Hazard, Place, proof
from kubesched_lint.manifests.changes import Put
from kubesched_lint.model.workload import Workload


def check(workload: Workload, facts: Facts) -> Iterator[Hazard]:
    if workload.kind != "Deployment" or workload.strategy.type != "RollingUpdate":
        return
    replicas = facts.replicas(workload)
    surge, unavailable = fenceposts(workload, replicas)
    if not surge or not unavailable:
        return
    for term in workload.pod.required_anti_affinity:
        if not repels_across_revisions(workload, term, facts):
            continue
        room = facts.room(workload, term.topology_key, term)
        free = len(room.domains) - replicas
        if not room.is_bounded or not 0 <= free < surge:
            continue
        yield Hazard(
            at=term.path,
            evidence=proof(
                f"{replicas} old pods + {surge} surge pods > {len(room.domains)} domains of {term.topology_key}; "
                f"maxUnavailable resolves to {unavailable}, so old pods make room",
                demand=replicas + surge,
                supply=len(room.domains),
                assumes=facts.running_premises(workload),
            ),
            values={
                "pending": surge - free,
                "surge": surge,
                "key": term.topology_key,
                "domains": room.domains,
                "unavailable": unavailable,
            },
            related=(
                Place(workload.strategy.path, f"maxSurge and maxUnavailable resolve to {surge} and {unavailable}"),
            ),
        )


def fix(hazard: Hazard, workload: Workload, facts: Facts) -> Iterator[Remedy]:
    """Roll without surge, so that no pod waits in vain."""
    at = (*workload.strategy.path, "rollingUpdate", "maxSurge")
    yield Remedy("set maxSurge: 0", safe=True, changes=(Put(at, 0, after=("replicas", "selector")),))
