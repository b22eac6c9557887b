"""A hook that runs on upgrades runs beside the old release: it needs room that the release leaves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kubesched_lint.engine.base.places import Path
from kubesched_lint.engine.base.text import many
from kubesched_lint.engine.placing.limits import MOST_SOLVED
from kubesched_lint.engine.placing.together.joint import GROUPS, demands_of, most_placeable
from kubesched_lint.engine.placing.together.problem import Demand
from kubesched_lint.engine.scenario.applying.phases import hook_beside
from kubesched_lint.engine.scenario.scenario import Member, Scenario, once_per_scenario
from kubesched_lint.engine.scheduler.framework import with_enforced_constraints
from kubesched_lint.findings import Hazard, pattern

_ANNOTATIONS: Path = ("metadata", "annotations")


def check(it: Member) -> Iterator[Hazard]:
    """Say nothing where nodes may be added, or where the release does not fit even without the hook."""
    hook, count, usable = hook_beside(it.workload.annotations), it.replicas, it.usable
    if not (hook and count and usable) or it.scenario.pools or it.scenario.is_elastic:
        return
    if usable & it.scenario.index.unknown_resources or not _fits(it.scenario):
        return
    release = demands_of(it.scenario)
    wanted = sum(demand.count for demand in release) + count
    placed = most_placeable(it.scenario, [*release, _demand(it)], GROUPS)
    if placed < wanted:
        yield Hazard(
            at=_ANNOTATIONS,
            evidence=pattern(
                f"{many(wanted - count, 'pod')} of the release and {count} of the hook, and room for {placed} together"
            ),
            values={"hook": hook, "count": count, "missing": wanted - placed},
        )


def _demand(it: Member) -> Demand:
    return Demand(it.workload, with_enforced_constraints(it.pod), it.replicas, it.usable)


@once_per_scenario
def _fits(scenario: Scenario) -> bool:
    """Whether counting shows no obstacle for the release without its hooks."""
    release: Sequence[Demand] = demands_of(scenario)
    if not 0 < len(release) <= MOST_SOLVED:
        return False
    return most_placeable(scenario, release, GROUPS) == sum(demand.count for demand in release)
