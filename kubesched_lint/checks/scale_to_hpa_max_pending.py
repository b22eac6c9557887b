"""What fits now no longer fits when the autoscaler goes to its maximum: by room, or by a spread constraint."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.analysis.facts import Facts
from kubesched_lint.analysis.spread import spread_room
from kubesched_lint.findings import Hazard, Path, Place, proof
from kubesched_lint.model.policy import Autoscaler
from kubesched_lint.model.quantity import show
from kubesched_lint.model.workload import Workload


def check(workload: Workload, facts: Facts) -> Iterator[Hazard]:
    scaler = facts.autoscaler(workload)
    usable = facts.usable(workload)
    if scaler is None or not workload.stays or not usable or _more_nodes_may_come(facts):
        return
    now, most = facts.replicas(workload), scaler.max_replicas
    if not 0 < now < most:
        return
    if not facts.index.unknown_resources & usable:
        room = facts.copies(workload, most)
        if now <= room < most:
            yield _by_room(workload, scaler, room, facts)
            return
    for constraint in facts.pod(workload).spread:
        spread = spread_room(workload, constraint, facts, most) if constraint.is_hard else None
        if spread is not None and now <= spread.total < most:
            text = " + ".join(f"{n} in {d}" for d, n in spread.placeable.items())
            values = {"key": constraint.topology_key, "skew": constraint.max_skew, "domains": spread.placeable}
            yield _hazard(workload, scaler, spread.total, text, facts, constraint.path, values, "spread")
            return


def _by_room(workload: Workload, scaler: Autoscaler, room: int, facts: Facts) -> Hazard:
    tight = facts.tightest_resource(workload)
    wanted = show(tight, facts.pod(workload).requests.get(tight, 1))
    usable = facts.usable(workload).bit_count()
    values = {"resource": tight, "wanted": wanted, "usable": usable}
    text = f"what {usable} usable nodes hold of {tight}"
    return _hazard(workload, scaler, room, text, facts, ("metadata", "name"), values, "default")


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


def _more_nodes_may_come(facts: Facts) -> bool:
    """Where nodes come as pods ask for them, today's room says nothing about the maximum."""
    return facts.cluster is not None and facts.cluster.is_elastic
