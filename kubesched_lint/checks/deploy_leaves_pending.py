"""In every trial with the scheduler's own filters and scores, some pods of the set find no node: these, or others."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.engine.base.errors import UncheckedError
from kubesched_lint.engine.placing.together.joint import contradictions
from kubesched_lint.engine.placing.trial import SEEDS
from kubesched_lint.engine.placing.wanted import pods_of_the_set
from kubesched_lint.engine.scenario.scenario import Member, Scenario
from kubesched_lint.engine.scenario.storage.claims import class_without_volumes
from kubesched_lint.explaining.crowding.left_by_pools import left_by_pools
from kubesched_lint.explaining.crowding.waiting import Race, Waiting, races, waiting_everywhere
from kubesched_lint.explaining.ends.reasons import reason_in
from kubesched_lint.explaining.sizes.replicas import line_of_replicas
from kubesched_lint.findings import Evidence, Hazard, Place, witness


def check(scenario: Scenario, *, most_pods: int) -> Iterator[Hazard]:
    now = scenario.without_pools
    wanted = pods_of_the_set(now)
    if wanted > most_pods:
        raise UncheckedError(f"tries out at most {most_pods:,} pods (param most_pods); these manifests make {wanted:,}")
    if now.index.unknown_resources:
        raise UncheckedError("needs the resources of every node (allocatable)")
    if not wanted:
        return
    proven = {demand.workload for contradiction in contradictions(now) for demand in contradiction.demands}
    reported = (
        frozenset() if scenario.pools else frozenset(proven)
    )  # set-does-not-fit: the order decides which one waits
    for waiting in waiting_everywhere(now):
        if waiting.workload not in reported:
            yield from _in_every_trial(waiting, now.member(waiting.workload), scenario)
    for race in races(now, reported):
        yield from _in_a_race(race, scenario)


def _in_every_trial(waiting: Waiting, member: Member, scenario: Scenario) -> Iterator[Hazard]:
    """Yield the hazard of a workload, unless pools help; ``member`` is the workload without them."""
    workload, ref = waiting.workload, waiting.workload.ref
    left = left_by_pools(waiting.fewest, waiting.message, (workload,), scenario)
    if left is None:
        return
    pending, message, variant = left
    placed = waiting.wanted - pending
    first_waiting = f" --replica {placed + 1}" if placed and workload.kind != "DaemonSet" else ""  # an option of `why`
    yield Hazard(
        at=line_of_replicas(workload),
        source=workload.source,
        victim=ref,
        evidence=_witnessed(scenario, f"{placed} of {waiting.wanted} pods of {workload} are placed", message=message),
        values={
            "object": str(workload),
            "name": f"{ref.kind.lower()}/{ref.namespace}/{ref.name}{first_waiting}",
            "pending": pending,
            "wanted": waiting.wanted,
            "reason": reason_in(message),
            "pools": tuple(pool.name for pool in scenario.pools),
        },
        variant=variant or "default",
        cause=class_without_volumes(member, message),
    )


def _in_a_race(race: Race, scenario: Scenario) -> Iterator[Hazard]:
    left = left_by_pools(race.fewest, race.message, race.workloads, scenario)
    if left is None:
        return
    pending, message, _ = left
    *others, last = race.workloads
    named = tuple(map(str, race.workloads))
    yield Hazard(
        at=line_of_replicas(last),
        source=last.source,
        victim=last.ref,
        together=tuple(workload.ref for workload in race.workloads),
        evidence=_witnessed(scenario, *race.ends_in_words(), message=message),
        values={
            "workloads": named,
            "pending": pending,
            "reason": reason_in(message),
            "pools": tuple(pool.name for pool in scenario.pools),
        },
        variant="race",
        related=tuple(Place(line_of_replicas(other), "may wait instead", other.source, other.ref) for other in others),
    )


def _witnessed(scenario: Scenario, *ends: str, message: str) -> Evidence:
    return witness(
        f"in {len(SEEDS)} of {len(SEEDS)} trials pods were left over",
        trace=(
            f"the set is deployed in {scenario.premises.apply_order} order, and in {len(SEEDS) - 1} others",
            *ends,
            f"the next one: {message}",
        ),
    )
