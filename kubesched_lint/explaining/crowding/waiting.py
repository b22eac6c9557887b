"""Pods of the set that wait at the end of every trial of its deployment, and those of which some wait in each.

The order in which the pods of different workloads come is open. Of workloads that compete, another one waits in each
order; so a workload that finds places for all its pods when they come first does not wait in every order.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from msgspec import Struct

from kubesched_lint.engine.base.text import joined, many, plural
from kubesched_lint.engine.cluster.nodeset import NodeSet
from kubesched_lint.engine.model.workloads.workload import Workload
from kubesched_lint.engine.placing.coming import Coming, created_counts, wave_of
from kubesched_lint.engine.placing.trial import SEEDS, every_trial_leaves_pods, trials_of, tried
from kubesched_lint.engine.scenario.scenario import Scenario, once_per_scenario


class Waiting(Struct, frozen=True):
    """Pods of a workload without a place: the fewest and the most of all trials, and the scheduler's message.

    ``fewest`` are no more than wait when the pods come before all others. ``wanted`` is the number of created pods.
    """

    workload: Workload
    fewest: int
    most: int
    wanted: int
    message: str


class Race(Struct, frozen=True):
    """Workloads of which ``fewest`` pods wait in every trial; which ones depends on the order in which they come."""

    workloads: tuple[Workload, ...]
    """Those that lose in some trial, in the set's order."""
    fewest: int
    ends: tuple[tuple[tuple[Workload, int], ...], ...]
    """The workloads with pods that wait, and how many: each end of the trials once."""
    message: str
    """The scheduler's message for the last workload."""

    def ends_in_words(self) -> Iterator[str]:
        """Yield who waits in the trials, one after another."""
        for number, end in enumerate(self.ends):
            waiting = joined([f"{many(count, 'pod')} of {workload}" for workload, count in end])
            wait = plural(sum(count for _, count in end), "waits", "wait")
            yield f"in {'another' if number else 'one'} of them {waiting} {wait}"


@once_per_scenario
def waiting_everywhere(scenario: Scenario) -> tuple[Waiting, ...]:
    """Return workloads with Pending pods at the end of every trial, whoever comes first, in the set's order."""
    return tuple(_waiting_everywhere(scenario))


def _waiting_everywhere(scenario: Scenario) -> Iterator[Waiting]:
    if not every_trial_leaves_pods(scenario):
        return
    trials, created = trials_of(scenario), created_counts(scenario)
    for workload in scenario.manifests.workloads:
        left_in_trials = [trial[workload] for trial in trials if workload in trial]
        if len(left_in_trials) < len(trials):
            continue
        counts = [count for count, _ in left_in_trials]
        fewest = min(*counts, _left_if_first(workload, scenario, min(counts)))
        if fewest:
            yield Waiting(workload, fewest, max(counts), created[workload], left_in_trials[0][1])


def _left_if_first(workload: Workload, scenario: Scenario, seen: int) -> int:
    """Return how many pods wait when those of the workload come before all others.

    ``seen`` if others come first in any case, or may evict them. What waits for others then may find a place with them;
    the trials count that.
    """
    highest, earliest = _first_of_all(scenario)
    comes_later = _priority(workload, scenario) < highest or wave_of(workload, scenario) > earliest
    if comes_later or len(scenario.as_created) == 1:
        return seen
    left, _ = tried(scenario, Coming(SEEDS[0]), of=workload).left.get(workload, (0, ""))
    return left


@once_per_scenario
def _first_of_all(scenario: Scenario) -> tuple[int, int]:
    """Return the highest priority and the earliest wave of the set."""
    every = scenario.as_created
    return max(_priority(workload, scenario) for workload in every), min(
        wave_of(workload, scenario) for workload in every
    )


def _priority(workload: Workload, scenario: Scenario) -> int:
    return scenario.member(workload).pod.priority or 0


def races(scenario: Scenario, told: Collection[Workload] = ()) -> Iterator[Race]:
    """Yield the races of the set, each with the workloads that can be on the same nodes.

    ``told`` are workloads whose shortage is proven: they race against nobody.
    """
    if not every_trial_leaves_pods(scenario):
        return
    trials = trials_of(scenario)
    sure = {waiting.workload: waiting.fewest for waiting in waiting_everywhere(scenario)}
    losing = [{n for n, (count, _) in t.items() if n not in told and count > sure.get(n, 0)} for t in trials]
    if not all(losing):
        return
    for group in _meeting([w for w in scenario.manifests.workloads if any(w in lost for lost in losing)], scenario):
        numbers = set(group)
        if len(group) > 1 and all(lost & numbers for lost in losing):
            yield _race(group, trials)


def _race(group: Sequence[Workload], trials: Sequence[Mapping[Workload, tuple[int, str]]]) -> Race:
    ends = [tuple((w, trial[w][0]) for w in group if w in trial) for trial in trials]
    last = group[-1]
    return Race(
        tuple(group),
        min(sum(count for _, count in end) for end in ends),
        tuple(end for number, end in enumerate(ends) if end not in ends[:number]),
        next(trial[last][1] for trial in trials if last in trial),
    )


def _meeting(workloads: Sequence[Workload], scenario: Scenario) -> list[list[Workload]]:
    """Return groups of workloads of which each can be on a node of another one, in the set's order."""
    groups: list[tuple[NodeSet, list[Workload]]] = []
    for workload in workloads:
        member = scenario.member(workload)
        nodes, members = member.daemon_nodes if workload.kind == "DaemonSet" else member.usable, [workload]
        apart = [group for group in groups if not group[0] & nodes]
        for group in groups:
            if group[0] & nodes:
                nodes, members = nodes | group[0], [*group[1], *members]
        groups = [*apart, (nodes, members)]
    place = {workload: number for number, workload in enumerate(workloads)}
    return [sorted(members, key=place.__getitem__) for _, members in groups]
