"""Trials of a deployment: all pods of the set are placed by the scheduler's filters and scores, several times.

All pods are created within milliseconds, by controllers that work at the same time, so those of different workloads may
come in any order; each trial has another one (``Coming``). Only a StatefulSet makes one pod after another. A pod that
stays Pending in every trial is a witness, not a proof: other random choices and orders may end differently.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import groupby
from typing import TypeVar

from msgspec import Struct

from kubesched_lint.engine.cluster.pods.running import ordinal_of
from kubesched_lint.engine.cluster.state import ClusterState
from kubesched_lint.engine.controllers.daemonset import with_daemon_tolerations
from kubesched_lint.engine.model.pod import BoundPod
from kubesched_lint.engine.model.workloads.workload import Workload
from kubesched_lint.engine.placing.coming import Coming, Queued, created_pods, followed, wave_of
from kubesched_lint.engine.placing.placing import Placing
from kubesched_lint.engine.placing.rollout import changes, looks_unchanged, stays
from kubesched_lint.engine.scenario.others.running import RunningPods, lasting_pods
from kubesched_lint.engine.scenario.scenario import Member, Scenario, once_per_scenario
from kubesched_lint.engine.scheduler.binding import bind_each
from kubesched_lint.engine.scheduler.framework import diagnose

T = TypeVar("T")

SEEDS = (1, 2, 3)
_INTERCHANGEABLE = ("Deployment", "ReplicaSet", "ReplicationController")
"""Kinds whose pods are interchangeable."""


class Tried(Struct, frozen=True):
    """The end of one trial, by workload."""

    left: dict[Workload, tuple[int, str]]
    """Number of Pending pods, and the scheduler's message about the last one."""
    evicted: dict[Workload, tuple[BoundPod, ...]]
    """Running pods of others that its pods preempted."""
    is_idle: bool = False
    """No pod found a place, so in any other order it is the same."""


def each_trial(scenario: Scenario) -> Iterator[Tried]:
    """Yield the trials, and run each when it is asked for: whoever looks for what all of them show may need one."""
    known = _tried(scenario)
    for number in range(len(SEEDS)):
        if number == len(known):
            known.append(_next(scenario, known))
        yield known[number]


@once_per_scenario
def _tried(scenario: Scenario) -> list[Tried]:
    """Return the trials that somebody has asked for."""
    return []


def _next(scenario: Scenario, known: Sequence[Tried]) -> Tried:
    """Run the trial after those ``known``: the second one lets those that wait come first, the third one mixes them."""
    if not known:
        return tried(scenario, Coming(SEEDS[0]))
    if known[0].is_idle:
        return known[0]
    if len(known) == 1:
        late = frozenset(known[0].left)
        return tried(scenario, Coming(SEEDS[1], first=(_needed_by(late, scenario) - late, late)))
    return tried(scenario, Coming(SEEDS[2], mixed=True))


def _needed_by(late: Collection[Workload], scenario: Scenario) -> frozenset[Workload]:
    """Return the workloads near whose pods those of other workloads must run."""
    near = [scenario.member(w) for w in scenario.as_created if w in late and w.pod.required_affinity]
    select = scenario.selection.selected_by_all
    return frozenset(w for member in near for w in select(member.pod.required_affinity, member.workload.namespace))


def every_trial_leaves_pods(scenario: Scenario) -> bool:
    """Whether each trial leaves pods without a node; none is run after the first one that leaves no pod."""
    return all(ended.left for ended in each_trial(scenario))


def trials_of(scenario: Scenario) -> tuple[dict[Workload, tuple[int, str]], ...]:
    """For each seed, the whole set placed: workload → number of Pending pods, and why."""
    return tuple(ended.left for ended in each_trial(scenario))


def evicted_in_trials(scenario: Scenario) -> tuple[dict[Workload, tuple[BoundPod, ...]], ...]:
    """For each seed: workload → running pods of others that its pods preempt."""
    return tuple(ended.evicted for ended in each_trial(scenario))


def tried(scenario: Scenario, coming: Coming, of: Workload | None = None) -> Tried:
    """Run one trial, with all pods or those ``of`` one workload. Rules use ``trials_of`` and ``evicted_in_trials``."""
    return tried_and_read(scenario, coming, lambda state: None, of=of)[0]


def tried_and_read(
    scenario: Scenario,
    coming: Coming,
    read: Callable[[ClusterState], T],
    *,
    daemons_first: bool = False,
    of: Workload | None = None,
) -> tuple[Tried, T]:
    """Run one trial, and return with it what ``read`` returns for the state at its end.

    With ``daemons_first``, DaemonSets come before all others, each on all its nodes at once: one diagnosis for each
    DaemonSet, not for each of its pods.
    """
    state = at_rest(scenario).state
    with state.undone():
        if daemons_first:
            _place_daemons(scenario, state)
        asking = [*created_pods(scenario, of)]
        if daemons_first:
            asking = [queued for queued in asking if queued.workload.kind != "DaemonSet"]
        return _end_of(scenario, _deployed(scenario, state, coming, asking)), read(state)


def tried_and_placed(scenario: Scenario, coming: Coming) -> tuple[Tried, Mapping[Workload, Mapping[int, int]]]:
    """Run one trial, and return with it the new pods of each workload: position of a node → how many."""
    state = at_rest(scenario).state
    with state.undone():
        placing = _deployed(scenario, state, coming, [*created_pods(scenario)])
        counts_of_workloads: dict[Workload, dict[int, int]] = {}
        for placement, queued in placing.placed.items():
            counts = counts_of_workloads.setdefault(queued.workload, {})
            counts[placement.position] = counts.get(placement.position, 0) + 1
        return _end_of(scenario, placing), counts_of_workloads


def _place_daemons(scenario: Scenario, state: ClusterState) -> None:
    """Bind the pods of each DaemonSet to its nodes that have room for them."""
    for workload in scenario.as_created:
        member = scenario.member(workload)
        pod = followed(member.pod, member) if workload.kind == "DaemonSet" else None
        if pod is not None:
            pod = with_daemon_tolerations(pod)
            standing = scenario.index.named(bound.node for bound in _standing(member))
            bind_each(pod, member.daemon_nodes & diagnose(pod, state).feasible & ~standing, state)


@once_per_scenario
def _others(scenario: Scenario) -> frozenset[BoundPod]:
    return frozenset(scenario.other_pods)


@once_per_scenario
def at_rest(scenario: Scenario) -> RunningPods:
    """The running pods after all terminating ones are gone: those of others, and those of the set that stay."""
    standing = tuple(bound for workload in scenario.as_deployed for bound in _standing(scenario.member(workload)))
    return RunningPods(scenario, (*lasting_pods(scenario).pods, *standing)) if standing else lasting_pods(scenario)


def _standing(it: Member) -> Sequence[BoundPod]:
    """Running pods that stay, at most as many as wanted; all of them if the API server refuses new pods."""
    if it.scenario.cluster is None:
        return ()
    running = it.running_pods
    if not running:
        return ()
    there = [bound for bound in running if bound.node in it.scenario.index.positions and not bound.terminating]
    if it.workload.kind not in (*_INTERCHANGEABLE, "StatefulSet", "DaemonSet"):
        return () if it.is_created else there
    if it.is_created and not stays(it, running):
        return ()
    if it.workload.kind in _INTERCHANGEABLE:
        return there[: it.replicas]
    if it.is_created and changes(it, running) is None and not looks_unchanged(it, running):
        return ()
    if it.workload.kind == "DaemonSet":
        return [bound for bound in there if it.daemon_nodes >> it.scenario.index.positions[bound.node] & 1]
    return [bound for bound in there if 0 <= _replica(bound, it.workload) < it.replicas]


def _replica(bound: BoundPod, workload: Workload) -> int:
    """Return which replica of a StatefulSet a running pod is, counted from 0; -1 if its name does not say."""
    ordinal = ordinal_of(bound)
    return -1 if ordinal is None else ordinal - workload.first_ordinal


def _entries(asking: Sequence[Queued], scenario: Scenario) -> Iterator[tuple[BoundPod, Queued]]:
    """Yield the running pods that stay, each with its entry in the queue."""
    for workload, own in groupby(asking, lambda queued: queued.workload):
        entries = {queued.place: queued for queued in own}
        for bound in _standing(scenario.member(workload)):
            place = bound.node if workload.kind == "DaemonSet" else _replica(bound, workload)
            entry = entries.get(None) or entries.get(place)
            if entry is not None:
                yield bound, entry


def _deployed(scenario: Scenario, state: ClusterState, coming: Coming, asking: Sequence[Queued]) -> Placing[Queued]:
    """Place the pods, wave after wave. Evicted pods of the set wait again; evicted pods of others are gone."""
    standing = dict(_entries(asking, scenario))
    for queued, pods in Counter(standing.values()).items():
        queued.left = max(queued.left - pods, 0)
    queue = coming.ordered(asking, scenario)
    placing = Placing(queue, state, seed=coming.seed, preempts=True, standing=standing)
    for _, wave in groupby(range(len(queue)), lambda number: wave_of(queue[number].workload, scenario)):
        placing.run(max(wave) + 1)
    return placing


def _end_of(scenario: Scenario, placing: Placing[Queued]) -> Tried:
    left: dict[Workload, tuple[int, str]] = {}
    for number, queued in enumerate(placing.queue):
        if queued.left:
            before, said = left.get(queued.workload, (0, ""))
            left[queued.workload] = (
                before + queued.left,
                placing.message(number) if queued.is_made or not said else said,
            )
    evicted: dict[Workload, tuple[BoundPod, ...]] = {}
    others = _others(scenario)
    for by, victim in placing.evicted:
        if victim.bound is not None and victim.bound in others:
            evicted[by.workload] = *evicted.get(by.workload, ()), victim.bound
    return Tried(left, evicted, is_idle=placing.is_idle)
