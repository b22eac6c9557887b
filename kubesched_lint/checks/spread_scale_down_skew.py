"""An autoscaler shrinks a spread workload: the deleted pods are not chosen by domain, and the rest do not move."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kubesched_lint.engine.model.nodes.node import HOSTNAME, domain_word
from kubesched_lint.engine.model.pod import SpreadConstraint
from kubesched_lint.engine.model.policy import Autoscaler
from kubesched_lint.engine.runs.skew import Skew
from kubesched_lint.engine.scenario.others.room import domain_room
from kubesched_lint.engine.scenario.scenario import Member
from kubesched_lint.explaining.spreading.skews import ends_of_scaling
from kubesched_lint.findings import Evidence, Hazard, Place, pattern, witness


def check(it: Member) -> Iterator[Hazard]:
    scaler = it.autoscaler
    if scaler is None or it.workload.suspended or scaler.min_replicas >= scaler.max_replicas:
        return
    pod = it.pod
    ends: Sequence[Skew] | None = None
    for constraint in pod.spread:
        selector = constraint.selector
        if not constraint.is_hard or constraint.topology_key == HOSTNAME or selector is None:
            continue
        room = domain_room(it, constraint.topology_key)
        worst = worst_skew(scaler.max_replicas, max(scaler.min_replicas, 1), len(room.domains))
        if worst <= constraint.max_skew or not selector.matches(pod.labels):
            continue
        if ends is None:
            ends = ends_of_scaling(it, scaler)
        evidence = _evidence(it, constraint, scaler, room.domains, worst, ends)
        if evidence is not None:
            yield Hazard(
                at=constraint.path,
                evidence=evidence,
                values={
                    "key": constraint.topology_key,
                    "skew": constraint.max_skew,
                    "scaler": f"{scaler.kind} {scaler.name}",
                    "maximum": scaler.max_replicas,
                    "minimum": max(scaler.min_replicas, 1),
                },
                related=() if scaler.source is None else (Place(scaler.path, "the bounds", scaler.source),),
            )


def worst_skew(before: int, after: int, domains: int) -> int:
    """Return the largest possible skew when ``before`` pods are even and any are deleted until ``after`` are left."""
    if domains < 2:
        return 0
    return -(-before // domains) - max(0, before // domains - (before - after))


def _evidence(
    it: Member,
    constraint: SpreadConstraint,
    scaler: Autoscaler,
    domains: tuple[str, ...],
    worst: int,
    ends: Sequence[Skew],
) -> Evidence | None:
    """The result of the simulated runs, if possible; None if no run left the domains uneven."""
    low, high = max(scaler.min_replicas, 1), scaler.max_replicas
    places = f"{len(domains)} {domain_word(constraint.topology_key, len(domains))}"
    counted = f"{high} pods in {places}: without any {high - low} of them the skew is up to {worst}"
    for skew in ends:
        if skew.topology_key == constraint.topology_key:
            if skew.worst <= constraint.max_skew:
                return None
            stands = ", ".join("/".join(map(str, counts)) for counts, _ in skew.ends[:3])
            places = "/".join(skew.domains)
            return witness(
                f"{counted}; in {skew.runs} simulated runs {places} hold for example {stands}",
                trace=(
                    f"{it.workload} runs {high} pods",
                    f"it is scaled to {low}",
                    f"its pods end at {stands} in {places}",
                ),
            )
    return pattern(counted)
