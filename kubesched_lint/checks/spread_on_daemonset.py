"""A DaemonSet's pods already have their nodes: a spread constraint has no effect, or keeps pods Pending."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.engine.model.node import HOSTNAME, domain_word
from kubesched_lint.engine.model.pod import SpreadConstraint
from kubesched_lint.engine.placing.together.spread import counted_nodes
from kubesched_lint.engine.scenario.others.neighbours import others_selected
from kubesched_lint.engine.scenario.premises import running_premises
from kubesched_lint.engine.scenario.scenario import Member
from kubesched_lint.engine.scheduler.topology import spread_room
from kubesched_lint.explaining.remedies.remedy import Remedy
from kubesched_lint.findings import Hazard, Severity, pattern, proof
from kubesched_lint.sources.manifests.changes import Remove


def check(it: Member) -> Iterator[Hazard]:
    for constraint in it.pod.spread:
        values = {"key": constraint.topology_key, "skew": constraint.max_skew}
        if not constraint.is_hard or constraint.honors_affinity:
            yield Hazard(
                at=constraint.path,
                evidence=pattern(
                    f"each pod is pinned to its node, so one {domain_word(constraint.topology_key)} counts"
                ),
                values=values,
            )
        elif it.scenario.cluster is None:
            yield Hazard(
                at=(*constraint.path, "nodeAffinityPolicy"),
                evidence=pattern(
                    f"with Ignore all {domain_word(constraint.topology_key, 2)} count, "
                    "and the pod can go to one node only"
                ),
                values=values,
                variant="blocks",
            )
        else:
            yield from _counted(it, constraint)


def fix(hazard: Hazard, it: Member) -> Iterator[Remedy]:
    """Drop the constraint: a DaemonSet has one pod on each node that it selects."""
    at = hazard.at[:-1] if hazard.variant in ("blocks", "counted") else hazard.at
    constraint = next(c for c in it.workload.pod.spread if c.path == at)
    yield Remedy("drop the constraint", safe=_keeps_none_away(constraint, it), changes=(Remove(at),))


def _counted(it: Member, constraint: SpreadConstraint) -> Iterator[Hazard]:
    """Each domain can hold as many pods as it has nodes; the smallest limits the others (see analysis.spread)."""
    selector = constraint.selector
    if selector is None or selector.is_empty or not selector.matches(it.pod.labels):
        return
    if any(True for _ in others_selected(it, selector)):
        return
    nodes, counted = it.daemon_nodes, counted_nodes(it, constraint)
    domains = it.scenario.index.domains(constraint.topology_key)
    size = {value: (domain & nodes).bit_count() for value, domain in domains.items() if domain & counted}
    room = spread_room(constraint, size)
    placed = room.total
    wanted = sum(size.values())
    if placed >= wanted:
        return
    smallest = min(size, key=lambda value: size[value])
    yield Hazard(
        at=(*constraint.path, "nodeAffinityPolicy"),
        evidence=proof(
            f"{wanted} nodes > {placed}: {smallest} has {size[smallest]}, "
            f"so no other {domain_word(constraint.topology_key)} gets more than "
            f"{room.least + constraint.max_skew}",
            demand=wanted,
            supply=placed,
            assumes=running_premises(it),
        ),
        severity=Severity.WARNING,
        values={
            "key": constraint.topology_key,
            "skew": constraint.max_skew,
            "pending": wanted - placed,
            "wanted": wanted,
            "domains": size,
        },
        variant="counted",
    )


def _keeps_none_away(constraint: SpreadConstraint, it: Member) -> bool:
    """Whether the DaemonSet runs on the same nodes without it. A hard one also excludes nodes without the key."""
    if not constraint.is_hard:
        return True
    if not constraint.honors_affinity:
        return False
    if it.scenario.cluster is None:
        return constraint.topology_key == HOSTNAME
    return not it.daemon_nodes & ~it.scenario.index.with_key(constraint.topology_key)
