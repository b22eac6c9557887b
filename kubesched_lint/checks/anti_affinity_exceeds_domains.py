"""Each replica repels its siblings, so each needs its own topology domain."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.engine.base.text import first_few, many
from kubesched_lint.engine.model.nodes.node import domain_word
from kubesched_lint.engine.model.pod import PodAffinityTerm
from kubesched_lint.engine.placing.rollout import rollout_condition_of
from kubesched_lint.engine.scenario.others.room import domain_room
from kubesched_lint.engine.scenario.premises.premises import HOSTS_STAY, running_premises
from kubesched_lint.engine.scenario.scenario import Member
from kubesched_lint.explaining.crowding.own_domains import Near, are_all, near_others
from kubesched_lint.explaining.remedies.placement import spread_instead
from kubesched_lint.explaining.remedies.remedy import Remedy
from kubesched_lint.explaining.sizes.replicas import replicas_wanted_here, run_fewer
from kubesched_lint.findings import Hazard, Place, Severity, proof


def check(it: Member, *, reserve: int) -> Iterator[Hazard]:
    if not it.workload.stays:
        return
    replicas = it.replicas
    for term in it.kept_apart:
        room = domain_room(it, term.topology_key, term)
        supply = len(room.domains)
        near = near_others(it, room.domains, "deploy") if room.is_bounded else None
        if near is not None and near.most < replicas:
            yield _alone_and_near(it, term, near)
            continue
        if not room.is_bounded or replicas <= supply - reserve:
            continue
        surely = are_all(it, term, room.domains)
        lost = 0 if replicas > supply else reserve
        left, there = supply - lost, len(domain_room(it, term.topology_key).domains)
        yield Hazard(
            at=term.path,
            evidence=proof(
                f"{many(replicas, 'pod')} > {left} {domain_word(term.topology_key, left)} "
                f"({first_few(room.domains)}{f', {lost} of them lost' if lost else ''})",
                demand=replicas,
                supply=left,
                assumes=running_premises(it),
            ),
            severity=None if surely and not lost else Severity.WARNING,
            values={
                "pending": replicas - left,
                "replicas": replicas,
                "supply": left,
                "reserve": lost,
                "there": there,
                **_fewer(it, term, left),
                "key": term.topology_key,
                "domains": room.domains,
                "apart": term.topology_key,
            },
            related=(replicas_wanted_here(it),),
            variant="reserve" if lost else "beside" if replicas <= there else "",
        )


def fix(hazard: Hazard, it: Member) -> Iterator[Remedy]:
    """Spread the replicas instead: a domain may then hold several."""
    yield from spread_instead(it.workload, hazard.at, hard=True)
    yield from spread_instead(it.workload, hazard.at, hard=False)


def _alone_and_near(it: Member, term: PodAffinityTerm, near: Near) -> Hazard:
    """The hazard if each replica needs its own domain and too few domains have the pods that it must be near."""
    replicas, key, most, whom = it.replicas, term.topology_key, near.most, ", ".join(near.whom)
    return Hazard(
        at=term.path,
        evidence=proof(
            f"{many(replicas, 'replica')} > {most}, the most {domain_word(key, 2)} with a pod of {whom}",
            demand=replicas,
            supply=most,
            assumes=(*running_premises(it), HOSTS_STAY),
        ),
        values={
            "pending": replicas - most,
            "replicas": replicas,
            "supply": most,
            **_fewer(it, term, most),
            "key": key,
            "whom": near.whom,
        },
        related=(
            Place(it.pod.required_affinity[0].path, "which must be near these pods"),
            replicas_wanted_here(it),
        ),
        variant="near",
    )


def _fewer(it: Member, term: PodAffinityTerm, most: int) -> dict[str, str]:
    fewer = run_fewer(it.workload, most, rollout_condition_of(it, term, most))
    return {"fewer": fewer, "either": f"{fewer}or " if fewer else ""}
