"""Place the rest of a set around one workload in the same way as a trial does, so that both agree."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from msgspec import Struct

from kubesched_lint.engine.base import work
from kubesched_lint.engine.base.limits import MOST_STEPS
from kubesched_lint.engine.base.places import ObjectRef
from kubesched_lint.engine.cluster.state import ClusterState
from kubesched_lint.engine.controllers.daemonset import pinned_to
from kubesched_lint.engine.placing.coming import Queued, queued_pods
from kubesched_lint.engine.placing.limits import MOST_PODS_TRIED
from kubesched_lint.engine.placing.placing import Placing, until_idle
from kubesched_lint.engine.placing.wanted import pods_of_the_set
from kubesched_lint.engine.scenario.scenario import Member, Scenario

Turn = Callable[[], tuple[bool, int]]
"""Return whether the pod in question fits now, and how many copies before it found a node since the last turn."""


class Beside(Struct, frozen=True):
    """Result for the other workloads' pods at the time when the pod in question fits or nothing changes any more."""

    placed: int
    waiting: int
    """Number of pods that were tried and found no node."""
    whose: tuple[ObjectRef, ...] = ()
    """The workloads of these pods."""
    later: int = 0
    """Number of pods that come after the pod in question, and were not tried."""
    cut: bool = False
    """Whether placing stopped because of too much work."""


def place_rest(it: Member, state: ClusterState, turn: Turn, seed: int) -> Beside | None:
    """Bind the pods of the other workloads in apply order; call ``turn`` at the place of ``it`` in that order.

    Pods without a node are tried again after the others, as in the scheduler's queue, until the pod in question fits.
    Return None, and bind nothing, if the set makes too many pods. Running pods of the other workloads stay where they
    are.
    """
    scenario, subject = it.scenario, it.workload.ref
    if pods_of_the_set(scenario) > MOST_PODS_TRIED:
        return None
    before, after = _around(subject, scenario)
    ours = Queued(it.workload, it.pod, None, 1)
    placing = Placing([*before, ours, *after], state, seed=seed)
    others = [*before, *after]
    for queued in others:
        queued.name = f"{queued.workload.name}-…"
    wanted = sum(rival.left for rival in others)
    done = cut = False

    def step(number: int) -> Sequence[int] | None:
        nonlocal done
        if done:
            return None
        if number != len(before):
            return placing.step(number)
        done, copies = turn()
        return placing.woken_all() if copies else None

    try:
        with work.within(MOST_STEPS):
            until_idle(placing.queue, step, waits=placing.waits)
    except work.OutOfWorkError:
        turn()
        cut = True
    left = sum(rival.left for rival in others)
    waiting = [placing.queue[number] for number in sorted(placing.tried) if placing.queue[number].left]
    count = sum(rival.left for rival in waiting)
    whose = tuple(dict.fromkeys(rival.workload.ref for rival in waiting))
    return Beside(wanted - left, count, whose, left - count, cut)


def _around(subject: ObjectRef, scenario: Scenario) -> tuple[list[Queued], list[Queued]]:
    """Return the pods of the other workloads that come before those of the subject, and after them."""
    names = [workload.ref for workload in scenario.as_created]
    place = names.index(subject) if subject in names else len(names)
    before, after = scenario.as_created[:place], scenario.as_created[place + 1 :]
    return (
        [queued for workload in before for queued in _missing(scenario.member(workload))],
        [queued for workload in after for queued in _missing(scenario.member(workload))],
    )


def _missing(it: Member) -> Iterator[Queued]:
    """The pods that the workload still has to make (running pods excluded); none if it is paused or suspended."""
    if it.workload.suspended:
        return
    running = [bound for bound in it.running_pods if not bound.terminating]
    covered, enough = {bound.node for bound in running}, len(running)
    for queued in queued_pods(it):
        if it.workload.kind == "DaemonSet":
            if pinned_to(queued.pod) not in covered:
                yield queued
        else:
            queued.left, enough = max(0, queued.left - enough), max(0, enough - queued.left)
            if queued.left:
                yield queued
