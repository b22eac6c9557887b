"""The surge pod needs a domain of its own, none is free, and no old pod may go before it runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kubesched_lint.engine.base.text import first_few, many
from kubesched_lint.engine.model.nodes.node import ZONE, domain_word, domains_in_words
from kubesched_lint.engine.model.pod import PodAffinityTerm
from kubesched_lint.engine.placing import rollout
from kubesched_lint.engine.scenario.others.room import domain_room
from kubesched_lint.engine.scenario.premises.premises import HOSTS_STAY, running_premises
from kubesched_lint.engine.scenario.scenario import Member
from kubesched_lint.explaining.crowding.own_domains import are_all, near_others
from kubesched_lint.explaining.remedies.remedy import Remedy
from kubesched_lint.explaining.remedies.rollouts import roll_without_surge
from kubesched_lint.findings import Evidence, Hazard, Place, Severity, pattern, proof

_USUAL_ZONES = 3


def check(it: Member) -> Iterator[Hazard]:
    workload, replicas = it.workload, it.replicas
    if workload.kind != "Deployment" or workload.strategy.type != "RollingUpdate" or not replicas:
        return
    surge, unavailable = rollout.fenceposts(workload, replicas)
    if unavailable:
        return
    values = {
        "replicas": replicas,
        "surge": surge,
        "price": rollout.price_of_going_first(replicas),
        "until": rollout.until_it_ends(workload, replicas),
    }
    for term in workload.pod.required_anti_affinity:
        if rollout.repels_across_revisions(it, term):
            yield from _unseen(it, term, values) if it.scenario.cluster is None else _seen(it, term, values)


def _unseen(it: Member, term: PodAffinityTerm, values: Mapping[str, object]) -> Iterator[Hazard]:
    if term.topology_key == ZONE and it.replicas == _USUAL_ZONES:
        text = f"{many(it.replicas, 'replica')}, one per zone, and clusters mostly have {_USUAL_ZONES} zones"
        yield _hazard(it, term, pattern(text), values, "unseen", Severity.WARNING)


def _seen(it: Member, term: PodAffinityTerm, values: Mapping[str, object]) -> Iterator[Hazard]:
    key, replicas, room = term.topology_key, it.replicas, domain_room(it, term.topology_key, term)
    if not room.is_bounded:
        return
    old, supply, domains = many(replicas, "old pod"), len(room.domains), domains_in_words(key, room.domains)
    near = near_others(it, room.domains, "rollout")
    if near is not None and near.most == replicas:
        others = f"{replicas}, the most {domain_word(key, 2)} with a pod of {first_few(near.whom)}"
        text = f"{old} + 1 extra pod > {others}, and maxUnavailable is 0"
        evidence = _proof(it, text, replicas + 1, replicas, HOSTS_STAY)
        yield _hazard(it, term, evidence, {**values, "whom": near.whom, "supply": replicas}, "near")
    severity = None if are_all(it, term, room.domains) else Severity.WARNING
    if replicas == supply:
        evidence = _proof(it, f"{old} + 1 extra pod > {domains}, and maxUnavailable is 0", replicas + 1, supply)
        yield _hazard(it, term, evidence, {**values, "domains": room.domains, "apart": key}, "default", severity)
    elif it.workload.strategy.is_whole and replicas < supply < 2 * replicas:
        # A blue-green rollout: all new pods stand beside all old ones before any old one goes.
        pods = f"{old} + {many(replicas, 'new pod')}"
        text = f"{pods} > {domains}, and no old pod goes before all new ones are available"
        evidence = _proof(it, text, 2 * replicas, supply)
        yield _hazard(it, term, evidence, {"replicas": replicas, "domains": room.domains}, "whole", severity)


def _proof(it: Member, text: str, demand: int, supply: int, *premises: str) -> Evidence:
    assumes = (*running_premises(it), *premises, rollout.OLD_PODS)
    return proof(text, demand=demand, supply=supply, assumes=assumes, event="rollout")


def _hazard(
    it: Member,
    term: PodAffinityTerm,
    evidence: Evidence,
    values: Mapping[str, object],
    variant: str,
    severity: Severity | None = None,
) -> Hazard:
    strategy = f"maxSurge and maxUnavailable are {values['surge']} and 0" if "surge" in values else "the strategy"
    return Hazard(
        at=term.path,
        evidence=evidence,
        severity=severity,
        values={**values, "key": term.topology_key},
        related=(Place(it.workload.strategy.path, strategy),),
        variant=variant,
    )


def fix(hazard: Hazard, it: Member) -> Iterator[Remedy]:
    """Delete the old pod, which occupies the domain, first."""
    if not it.workload.strategy.is_whole:
        yield roll_without_surge(it)
