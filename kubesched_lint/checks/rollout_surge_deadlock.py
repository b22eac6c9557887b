"""The surge pod needs a domain of its own, none is free, and no old pod may go before it runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from kubesched_lint.engine.base.text import first_few, many
from kubesched_lint.engine.model.node import ZONE, domain_word, domains_in_words
from kubesched_lint.engine.model.pod import PodAffinityTerm
from kubesched_lint.engine.placing.rollout import (
    OLD_PODS,
    fenceposts,
    price_of_going_first,
    repels_across_revisions,
    until_it_ends,
)
from kubesched_lint.engine.scenario.others.room import DomainRoom, domain_room
from kubesched_lint.engine.scenario.others.staying import staying_beside_set
from kubesched_lint.engine.scenario.premises import HOSTS_STAY, running_premises
from kubesched_lint.engine.scenario.world import Member
from kubesched_lint.explaining.bad_ends import bad_end
from kubesched_lint.explaining.remedies.remedy import Remedy
from kubesched_lint.explaining.remedies.rollouts import roll_without_surge
from kubesched_lint.findings import Hazard, Place, Severity, pattern, proof

_USUAL_ZONES = 3


def check(it: Member) -> Iterator[Hazard]:
    if it.workload.kind != "Deployment" or it.workload.strategy.type != "RollingUpdate":
        return
    replicas = it.replicas
    surge, unavailable = fenceposts(it.workload, replicas)
    if unavailable or not replicas:
        return
    values = {
        "replicas": replicas,
        "surge": surge,
        "price": price_of_going_first(replicas),
        "until": until_it_ends(it.workload, replicas),
    }
    related = (Place(it.workload.strategy.path, f"maxSurge and maxUnavailable are {surge} and 0"),)
    for term in it.workload.pod.required_anti_affinity:
        if not repels_across_revisions(it, term):
            continue
        if it.world.cluster is None:
            if term.topology_key == ZONE and replicas == _USUAL_ZONES:
                yield Hazard(
                    at=term.path,
                    evidence=pattern(
                        f"{many(replicas, 'replica')}, one per zone, and clusters mostly have {_USUAL_ZONES} zones"
                    ),
                    severity=Severity.WARNING,
                    values={**values, "key": term.topology_key},
                    related=related,
                    variant="unseen",
                )
            continue
        room = domain_room(it, term.topology_key, term)
        yield from _beside_others(it, term, room, values, related)
        if it.workload.strategy.is_whole and room.is_bounded and replicas < len(room.domains) < 2 * replicas:
            yield _whole(it, term, room.domains)
        elif room.is_bounded and replicas == len(room.domains):
            surely = domain_room(it, term.topology_key, term, staying_beside_set(it.world)).domains == room.domains
            yield Hazard(
                at=term.path,
                evidence=proof(
                    f"{many(replicas, 'old pod')} + 1 extra pod > "
                    f"{domains_in_words(term.topology_key, room.domains)}, and maxUnavailable is 0",
                    demand=replicas + 1,
                    supply=len(room.domains),
                    assumes=(*running_premises(it), OLD_PODS),
                    event="rollout",
                ),
                severity=None if surely else Severity.WARNING,
                values={**values, "key": term.topology_key, "domains": room.domains},
                related=related,
            )


def _beside_others(
    it: Member, term: PodAffinityTerm, room: DomainRoom, values: Mapping[str, object], related: tuple[Place, ...]
) -> Iterator[Hazard]:
    """Yield the hazard if its pods fill the domains of the pods that they must be near; the verdict says so."""
    end = bad_end(it, "rollout") if it.pod.required_affinity and room.is_bounded else None
    if end is None or not end.cell.near or not it.replicas == end.cell.bound.most < len(room.domains):
        return
    replicas, whom = it.replicas, tuple(map(str, end.cell.near))
    yield Hazard(
        at=term.path,
        evidence=proof(
            f"{many(replicas, 'old pod')} + 1 extra pod > {replicas}, the most "
            f"{domain_word(term.topology_key, 2)} with a pod of {first_few(whom)}, and maxUnavailable is 0",
            demand=replicas + 1,
            supply=replicas,
            assumes=(*running_premises(it), HOSTS_STAY, OLD_PODS),
            event="rollout",
        ),
        values={**values, "key": term.topology_key, "whom": whom, "supply": replicas},
        related=related,
        variant="near",
    )


def _whole(it: Member, term: PodAffinityTerm, domains: Sequence[str]) -> Hazard:
    """Return the hazard of a blue-green rollout: all new pods stand beside all old ones before any old one goes."""
    key, replicas = term.topology_key, it.replicas
    surely = domain_room(it, key, term, staying_beside_set(it.world)).domains == domains
    return Hazard(
        at=term.path,
        evidence=proof(
            f"{many(replicas, 'old pod')} + {many(replicas, 'new pod')} > {domains_in_words(key, domains)}, "
            "and no old pod goes before all new ones are available",
            demand=2 * replicas,
            supply=len(domains),
            assumes=(*running_premises(it), OLD_PODS),
            event="rollout",
        ),
        severity=None if surely else Severity.WARNING,
        values={"replicas": replicas, "key": key, "domains": domains},
        related=(Place(it.workload.strategy.path, "the strategy"),),
        variant="whole",
    )


def fix(hazard: Hazard, it: Member) -> Iterator[Remedy]:
    """Delete the old pod, which occupies the domain, first."""
    if not it.workload.strategy.is_whole:
        yield roll_without_surge(it)
