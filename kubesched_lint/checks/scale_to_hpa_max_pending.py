"""What fits now no longer fits when the autoscaler goes to its maximum: by room, or by a spread constraint."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.analysis.facts import Facts
from kubesched_lint.analysis.remedy import Remedy
from kubesched_lint.analysis.spread import spread_room
from kubesched_lint.findings import Hazard, Path, Place, proof
from kubesched_lint.manifests.changes import Put
from kubesched_lint.model.policy import Autoscaler
from kubesched_lint.model.quantity import show
from kubesched_lint.model.workload import Workload


def check(workload: Workload, facts: Facts) -> Iterator[Hazard]:
    scaler = facts.autoscaler(workload)
    usable = facts.usable(workload)
    if scaler is None or not workload.stays or not usable or facts.is_elastic:
        return
    now, most = facts.replicas(workload), scaler.max_replicas
    if not 0 < now < most:
        return
    found = [*_by_room(workload, scaler, facts), *_by_spread(workload, scaler, facts)]
    alone = min(_domains_to_itself(workload, facts), default=most)
    tightest = min(found, key=_supply, default=None)
    # What is too little today, and anti-affinity, are told by rules of their own.
    if tightest is not None and now <= _supply(tightest) < alone and now <= alone:
        yield tightest


def fix(hazard: Hazard, workload: Workload, facts: Facts) -> Iterator[Remedy]:
    """Limit the autoscaler to what there is room for."""
    scaler = facts.autoscaler(workload)
    if scaler is not None and scaler.source is not None:
        supply = hazard.values["supply"]
        yield Remedy(
            f"lower maxReplicas of HorizontalPodAutoscaler {scaler.name} to {supply}",
            safe=False,
            changes=(Put(("spec", "maxReplicas"), supply),),
            source=scaler.source,
        )


def _supply(hazard: Hazard) -> int:
    supply = hazard.values["supply"]
    assert isinstance(supply, int)
    return supply


def _domains_to_itself(workload: Workload, facts: Facts) -> Iterator[int]:
    """How many replicas required anti-affinity to its own pods lets in at most."""
    for term in facts.pod(workload).required_anti_affinity:
        room = facts.room(workload, term.topology_key)
        if room.is_bounded and facts.repels_itself(workload, term):
            yield len(room.domains)


def _by_room(workload: Workload, scaler: Autoscaler, facts: Facts) -> Iterator[Hazard]:
    usable = facts.usable(workload)
    room = 0 if facts.index.unknown_resources & usable else facts.copies(workload, scaler.max_replicas)
    if not room or room >= scaler.max_replicas:
        return
    pod, number = facts.pod(workload), usable.bit_count()
    if pod.host_ports:
        port = pod.host_ports[0]
        text = f"what {number} usable nodes hold, each of which gives {port.protocol} {port.port} once"
        values: dict[str, object] = {"port": port.port, "usable": number}
        yield _hazard(workload, scaler, room, text, facts, port.path, values, "port")
        return
    tight = facts.tightest_resource(workload)
    values = {"resource": tight, "wanted": show(tight, pod.requests.get(tight, 1)), "usable": number}
    text = f"what {number} usable nodes hold of {tight}"
    yield _hazard(workload, scaler, room, text, facts, ("metadata", "name"), values, "default")


def _by_spread(workload: Workload, scaler: Autoscaler, facts: Facts) -> Iterator[Hazard]:
    most = scaler.max_replicas
    for constraint in facts.pod(workload).spread:
        spread = spread_room(workload, constraint, facts, most) if constraint.is_hard else None
        if spread is not None and spread.total < most:
            text = " + ".join(f"{n} in {d}" for d, n in spread.placeable.items())
            values = {"key": constraint.topology_key, "skew": constraint.max_skew, "domains": spread.placeable}
            yield _hazard(workload, scaler, spread.total, text, facts, constraint.path, values, "spread")


def _hazard(
    workload: Workload,
    scaler: Autoscaler,
    supply: int,
    text: str,
    facts: Facts,
    at: Path,
    values: dict[str, object],
    variant: str,
) -> Hazard:
    most = scaler.max_replicas
    related = () if scaler.source is None else (Place(scaler.path, "the maximum", scaler.source),)
    return Hazard(
        at=at,
        evidence=proof(
            f"maxReplicas {most} > {supply} = {text}",
            demand=most,
            supply=supply,
            assumes=facts.running_premises(workload),
        ),
        values={**values, "maximum": most, "pending": most - supply, "supply": supply, "scaler": scaler.name},
        related=related,
        variant=variant,
    )
