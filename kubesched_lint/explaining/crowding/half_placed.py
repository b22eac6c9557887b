"""Two groups of pods that nobody starts together: each can hold part of the nodes while both wait for the rest."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, combinations, zip_longest

from msgspec import Struct

from kubesched_lint.engine.cluster.state import ClusterState
from kubesched_lint.engine.events.limits import MOST_PODS
from kubesched_lint.engine.model.pod import Pod
from kubesched_lint.engine.model.workloads.workload import Workload
from kubesched_lint.engine.placing.coming import Queued, scheduled_pod
from kubesched_lint.engine.placing.limits import MOST_ROUNDS
from kubesched_lint.engine.placing.placing import Placing
from kubesched_lint.engine.placing.trial import at_rest
from kubesched_lint.engine.scenario.gangs import Gang, loose_groups
from kubesched_lint.engine.scenario.scenario import Scenario


class HalfPlaced(Struct, frozen=True):
    """The end of a course in which the pods of two groups take turns."""

    groups: tuple[Gang, Gang]
    placed: tuple[int, int]
    messages: tuple[str, str]
    """What the next pod of each group is told."""


def half_placed(scenario: Scenario) -> Iterator[HalfPlaced]:
    """Yield each pair of groups that fit alone, and of which a course leaves both with part of their pods."""
    state = at_rest(scenario).state
    asked = [(group, pods) for group in loose_groups(scenario) if (pods := _pods(group, scenario))][:MOST_ROUNDS]
    alone = [(group, pods) for group, pods in asked if _fit(pods, state)]
    for (group, ours), (other, theirs) in combinations(alone, 2):
        pair = _in_turns((group, other), (ours, theirs), state)
        if pair is not None:
            yield pair


_Pods = Sequence[tuple[Workload, Pod]]


def _pods(group: Gang, scenario: Scenario) -> _Pods:
    """The pods of a group, one for each replica; none if some are not followed here."""
    pods_of_group: list[tuple[Workload, Pod]] = []
    for member in group.members:
        pod = scheduled_pod(member)
        followed = (
            pod is not None and member.is_created and not member.running_pods and not member.workload.claim_templates
        )
        if pod is None or not followed or member.workload.kind in ("DaemonSet", "CronJob"):
            return []
        if member.usable & scenario.index.unknown_resources:
            return []
        pods_of_group += [(member.workload, pod)] * member.replicas
    return pods_of_group if 1 < len(pods_of_group) <= MOST_PODS else []


def _queued(pods: _Pods) -> list[Queued]:
    return [Queued(workload, pod, None, 1) for workload, pod in pods]


def _fit(pods: _Pods, state: ClusterState) -> bool:
    """Whether all pods find a node if no others come."""
    with state.undone():
        return not any(queued.left for queued in Placing(_queued(pods), state).run().queue)


def _in_turns(groups: tuple[Gang, Gang], pods: tuple[_Pods, _Pods], state: ClusterState) -> HalfPlaced | None:
    """Return how both groups end if their pods take turns; None if one of them is placed whole, or not at all."""
    with state.undone():
        queues = tuple(map(_queued, pods))
        turns = [copies for copies in chain.from_iterable(zip_longest(*queues)) if copies is not None]
        placing = Placing(turns, state).run()
        counts = [sum(not copies.left for copies in own) for own in queues]
        if any(not 0 < count < len(own) for count, own in zip(counts, queues, strict=True)):
            return None
        first, second = (placing.message(turns.index(own[-1])) for own in queues)
        return HalfPlaced(groups, (counts[0], counts[1]), (first, second))
