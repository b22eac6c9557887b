"""The pods fit now but not at the autoscaler's maximum, because of room, devices or a spread constraint."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from kubesched_lint.engine.model.policy import Autoscaler
from kubesched_lint.engine.placing.rollout import rollout_condition
from kubesched_lint.engine.placing.scenarios import with_groups
from kubesched_lint.engine.scenario.others.room import domain_room
from kubesched_lint.engine.scenario.premises.premises import running_premises
from kubesched_lint.engine.scenario.scenario import Member
from kubesched_lint.explaining.remedies.remedy import Remedy
from kubesched_lint.explaining.sizes.most_pods import MostPods, most_pods
from kubesched_lint.explaining.sizes.replicas import places_that_scale, scaling_values
from kubesched_lint.findings import Hazard, Place, proof
from kubesched_lint.sources.manifests.changes import Put


def check(it: Member) -> Iterator[Hazard]:
    """Report what no further node would cure: on an autoscaled cluster, room for the maximum comes with the demand."""
    if it.autoscaler is not None and it.scenario.is_elastic:
        grown = with_groups(it.scenario)
        if grown is None:
            return
        it = grown.member(it.workload)
    scaler = it.autoscaler
    if scaler is None or not it.workload.stays or not it.usable:
        return
    now, most = it.replicas, scaler.max_replicas
    if not 0 < now < most:
        return
    limit = min(most_pods(it, most), key=lambda each: each.count, default=None)
    alone = min(_domains_to_itself(it), default=most)
    # Other rules report what does not fit today, and anti-affinity.
    if limit is not None and now <= limit.count < alone and now <= alone:
        yield _hazard(it, scaler, limit)


def fix(hazard: Hazard, it: Member) -> Iterator[Remedy]:
    """Lower the maximum to the number that fits."""
    scaler = it.autoscaler
    if scaler is not None and scaler.source is not None:
        supply = hazard.values["supply"]
        yield Remedy(
            f"lower {scaler.bounds[0]} of {scaler.kind} {scaler.name} to {supply}",
            safe=False,
            changes=(Put(("spec", scaler.bounds[0]), supply),),
            source=scaler.source,
        )


def _domains_to_itself(it: Member) -> Iterator[int]:
    """Yield the most replicas that each term of required anti-affinity to its own pods allows."""
    rooms = (domain_room(it, term.topology_key) for term in it.kept_apart)
    yield from (len(room.domains) for room in rooms if room.is_bounded)


def _hazard(it: Member, scaler: Autoscaler, limit: MostPods) -> Hazard:
    most, supply = scaler.max_replicas, limit.count
    hazard = Hazard(
        at=limit.at,
        evidence=proof(
            f"{scaler.bounds[0]} {most} > {supply} = {limit.text}",
            demand=most,
            supply=supply,
            assumes=(*running_premises(it), *limit.assumes),
            event="hpa-max",
        ),
        values={**limit.values, **scaling_values(scaler, supply), "rollouts": rollout_condition(it.workload, supply)},
        related=places_that_scale(scaler, supply),
        variant="default" if limit.by == "room" else limit.by,
    )
    return hazard if limit.asked is None else _at_maximum(hazard, scaler, limit.asked)


def _at_maximum(hazard: Hazard, scaler: Autoscaler, asked: Place) -> Hazard:
    """Return the hazard at the line with the maximum; of an autoscaler that only the cluster has, at ``asked``."""
    if scaler.source is None:
        return replace(hazard, at=asked.at, source=asked.source)
    windows = hazard.related[1:]
    return replace(hazard, at=scaler.path, source=scaler.source, related=(asked, *windows))
