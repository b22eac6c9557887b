"""Two groups of pods that nobody starts together: each can hold part of the nodes while both wait for the rest."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, combinations, zip_longest

from msgspec import Struct

from kubesched_lint.analysis.coming import scheduled_pod
from kubesched_lint.analysis.limits import MOST_ROUNDS
from kubesched_lint.analysis.trial import at_rest
from kubesched_lint.cluster.state import ClusterState
from kubesched_lint.lifecycle.limits import MOST_PODS
from kubesched_lint.model.pod import Pod
from kubesched_lint.scheduler.framework import message
from kubesched_lint.scheduler.placement import Placer
from kubesched_lint.world.gangs import Gang, loose_groups
from kubesched_lint.world.world import World


class HalfPlaced(Struct, frozen=True):
    """The end of a course in which the pods of two groups take turns."""

    groups: tuple[Gang, Gang]
    placed: tuple[int, int]
    messages: tuple[str, str]
    """What the next pod of each group is told."""


def half_placed(world: World) -> Iterator[HalfPlaced]:
    """Yield each pair of groups that fit alone, and of which a course leaves both with part of their pods."""
    state = at_rest(world).state
    asked = [(group, pods) for group in loose_groups(world) if (pods := _pods(group, world))][:MOST_ROUNDS]
    alone = [(group, pods) for group, pods in asked if len(_placed(pods, state)) == len(pods)]
    for (one, ours), (other, theirs) in combinations(alone, 2):
        found = _in_turns((one, other), (ours, theirs), state)
        if found is not None:
            yield found


def _pods(group: Gang, world: World) -> list[Pod]:
    """The pods of a group, one for each replica; none if some are not followed here."""
    found: list[Pod] = []
    for it in group.members:
        pod = scheduled_pod(it)
        followed = pod is not None and it.is_created and not it.running_pods and not it.workload.claim_templates
        if pod is None or not followed or it.workload.kind in ("DaemonSet", "CronJob"):
            return []
        if it.usable & world.index.unknown_resources:
            return []
        found += [pod] * it.replicas
    return found if 1 < len(found) <= MOST_PODS else []


def _placed(pods: Sequence[Pod], state: ClusterState) -> list[Pod]:
    """Return the pods that find a node, each on the best that is left; ``state`` is restored."""
    mark = state.mark()
    found = _place(pods, state)
    state.undo(mark)
    return found


def _place(pods: Sequence[Pod], state: ClusterState) -> list[Pod]:
    placers = {pod: Placer(pod, state) for pod in pods}
    return [pod for pod in pods if placers[pod].place() is not None]


def _in_turns(
    groups: tuple[Gang, Gang], pods: tuple[Sequence[Pod], Sequence[Pod]], state: ClusterState
) -> HalfPlaced | None:
    """Return how both groups end if their pods take turns; None if one of them is placed whole, or not at all."""
    mark = state.mark()
    try:
        turns = [pod for pod in chain.from_iterable(zip_longest(*pods)) if pod is not None]
        placed = _place(turns, state)
        counts = [sum(any(pod is one for one in own) for pod in placed) for own in pods]
        if any(not 0 < count < len(own) for count, own in zip(counts, pods, strict=True)):
            return None
        first, second = (message(Placer(own[-1], state).diagnosis()) for own in pods)
        return HalfPlaced(groups, (counts[0], counts[1]), (first, second))
    finally:
        state.undo(mark)
