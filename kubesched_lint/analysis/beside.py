"""Place the rest of a set around one workload in the same way as a trial does, so that both agree."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from msgspec import Struct

from kubesched_lint import work
from kubesched_lint.analysis.coming import Queued, queued_pods
from kubesched_lint.analysis.limits import MOST_PODS_TRIED
from kubesched_lint.analysis.wanted import pods_of_the_set
from kubesched_lint.cluster.state import ClusterState
from kubesched_lint.controllers.daemonset import pinned_to
from kubesched_lint.findings import ObjectRef
from kubesched_lint.limits import MOST_STEPS
from kubesched_lint.model.pod import BoundPod
from kubesched_lint.scheduler.placement import Placer
from kubesched_lint.world.world import Member, World

Turn = Callable[[], tuple[bool, int]]
"""Return whether the pod in question fits now, and how many copies before it found a node since the last turn."""


class Beside(Struct, frozen=True):
    """Result for the other workloads' pods at the time when the pod in question fits or nothing changes any more."""

    placed: int
    waiting: int
    """Number of pods that were tried and found no node."""
    cut: bool = False
    """Whether placing stopped because of too much work."""


def place_rest(subject: ObjectRef, world: World, state: ClusterState, turn: Turn, seed: int) -> Beside | None:
    """Bind the pods of the other workloads in apply order; call ``turn`` at the subject's place in that order.

    Pods without a node are tried again after the others, as in the scheduler's queue. Return None, and bind nothing,
    if the set makes too many pods. Running pods of the other workloads stay where they are.
    """
    if pods_of_the_set(world) > MOST_PODS_TRIED:
        return None
    queue: list[tuple[Queued, Placer] | None] = []
    for workload in world.as_created:
        if workload.ref == subject:
            queue.append(None)
        else:
            queue += [(one, Placer(one.pod, state, one.owner, seed=seed)) for one in _missing(world.member(workload))]
    if None not in queue:
        queue.append(None)
    wanted = sum(entry[0].left for entry in queue if entry is not None)
    tried: set[Queued] = set()
    cut = False
    try:
        with work.within(MOST_STEPS):
            _place_in_turn(queue, tried, turn)
    except work.OutOfWorkError:
        turn()
        cut = True
    left = sum(entry[0].left for entry in queue if entry is not None)
    return Beside(wanted - left, _left(queue, tried), cut)


def _place_in_turn(queue: list[tuple[Queued, Placer] | None], tried: set[Queued], turn: Turn) -> None:
    """Place pods in turn until the pod in question fits or nothing changes any more."""
    progress = True
    while progress:
        progress = False
        for entry in queue:
            if entry is None:
                fits, copies = turn()
                if fits:
                    return
                progress = progress or copies > 0
            elif entry[0].left and entry[0].is_made:
                found = _place(*entry)
                tried.add(entry[0])
                progress = progress or found > 0


def _left(queue: list[tuple[Queued, Placer] | None], tried: set[Queued]) -> int:
    return sum(entry[0].left for entry in queue if entry is not None and entry[0] in tried)


def _place(one: Queued, placer: Placer) -> int:
    """Place the copies. Return how many found a node."""
    before = one.left
    while one.left and placer.place(BoundPod(f"{one.workload.name}-…", "", one.pod)) is not None:
        one.left -= 1
    return before - one.left


def _missing(it: Member) -> Iterator[Queued]:
    """The pods that the workload still has to make (running pods excluded); none if it is paused or suspended."""
    if it.workload.suspended:
        return
    running = [bound for bound in it.running_pods if not bound.terminating]
    covered, enough = {bound.node for bound in running}, len(running)
    for one in queued_pods(it):
        if it.workload.kind == "DaemonSet":
            if pinned_to(one.pod) not in covered:
                yield one
        else:
            one.left, enough = max(0, one.left - enough), max(0, enough - one.left)
            if one.left:
                yield one
