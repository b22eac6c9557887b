"""One scheduling cycle of a pod group: its pods one after another, then all of them are bound or none.

Mirrors ``pkg/scheduler/schedule_one_podgroup.go`` and the plugins GangScheduling, TopologyPlacementGenerator and
PodGroupPodsCount (v1.36). Two details are left out: pods of the group that were placed in the same cycle count in full
for other pods' affinity, although upstream's list of nodes with affinity is older; and victims of a preemption leave
after the cycle.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from msgspec import Struct

from kubesched_lint.engine.base import work
from kubesched_lint.engine.cluster.nodeset import NodeSet, positions
from kubesched_lint.engine.cluster.state import ClusterState, Placement
from kubesched_lint.engine.model.feature_gates import GANGS, PREEMPTION, TOPOLOGY
from kubesched_lint.engine.model.labels import Selector
from kubesched_lint.engine.model.pod import BoundPod, Pod
from kubesched_lint.engine.model.policy import PodGroup
from kubesched_lint.engine.scheduler.binding import bind
from kubesched_lint.engine.scheduler.framework import Diagnosis, message
from kubesched_lint.engine.scheduler.placement import Placer
from kubesched_lint.engine.scheduler.pod_groups.placement_scores import Standing, may_win, standing
from kubesched_lint.engine.scheduler.preemption.preemption import Candidate, preempt

SHORT = (
    "pod group is unschedulable, waiting for minCount pods from a gang to be scheduled, "
    "one or more plugins asked to wait and no plugin rejected pod"
)
WAITING = "pod group is unschedulable, pod group is waiting for preemption to complete"
NOWHERE = "no feasible placements found"
_NO_DOMAIN = "cannot determine domain for already scheduled pods"
_PLACED_ALONE = "not eligible due to placement-based pod group scheduling limitation"
_PREEMPTS_TOGETHER = "not eligible due to workload aware preemption enabled"


class Attempt(Struct, frozen=True):
    """One result of a cycle. The tuples are parallel to the pods that were tried."""

    scheduled: bool
    """Whether the pods with a node are bound; else none is."""
    nodes: tuple[int | None, ...]
    messages: tuple[str, ...]
    """The PodScheduled message of each pod that is not bound; empty for a bound one."""
    victims: tuple[Placement, ...] = ()
    """Pods that preemption evicts during the cycle, whether or not the group is scheduled."""


class GroupCycle:
    """The cycles of one group over a ``state`` that the caller changes between them.

    ``gates``: the enabled feature gates. ``members``: pods of the group that the scheduler knows as bound, also those
    on nodes that do not exist. ``owners``: pod → the selector of its controller. ``kinds``: position →
    number; nodes of one number may be swapped while they hold equal pods. None: no nodes may.
    """

    def __init__(
        self,
        group: PodGroup,
        state: ClusterState,
        gates: Collection[str],
        owners: Mapping[Pod, Selector | None],
        kinds: Sequence[int] | None = None,
    ) -> None:
        self._kinds = kinds
        self.group = group
        self._owners = owners
        self._state = state
        self._is_gang = GANGS in gates and group.min_count is not None
        self._by_topology = TOPOLOGY in gates
        self._barred = _PLACED_ALONE if self._by_topology and group.is_constrained else ""
        if not self._barred and PREEMPTION in gates:
            self._barred = _PREEMPTS_TOGETHER
        self._placers: dict[int, Placer] = {}

    @property
    def quorum(self) -> int:
        """The number of pods that must exist before any is tried, and find nodes before any is bound."""
        return self.group.min_count or 1 if self._is_gang else 1

    def attempts(self, pods: Sequence[Pod], members: Sequence[BoundPod]) -> list[Attempt]:
        """Return every result of a cycle over ``pods``, in this order; equal scores are drawn at random.

        Results that differ only in which of several equal pods is where, or in which of several equal nodes it is, are
        given once. ``state`` is restored.
        """
        placements, refusals = self._placements(members)
        if refusals:
            nothing = (None,) * len(pods)
            return [Attempt(False, nothing, (refusal,) * len(pods)) for refusal in refusals]
        per_placement = [list(_Courses(self, among, pods, len(members)).walk()) for among in placements]
        if len(per_placement) == 1:
            return per_placement[0]
        return self._best(per_placement, placements, pods, len(members))

    def _placements(self, members: Sequence[BoundPod]) -> tuple[list[NodeSet], list[str]]:
        """Return the sets of nodes to try, one per domain; or the messages with which every pod may be refused."""
        index, key = self._state.index, self.group.topology_key
        if not key or not self._by_topology:
            return [index.all], []
        errors = list(self._domain_errors(members))
        if errors:
            return [], errors
        domains = index.domains(key)
        if members:
            domains = {value: domains[value] for value in {str(self._domain(pod)) for pod in members}}
        return list(domains.values()), [] if domains else [NOWHERE]

    def _domain_errors(self, members: Sequence[BoundPod]) -> Iterator[str]:
        """Mirrors getScheduledPodsTopologyDomain; which error comes first depends on the order of a map."""
        index, seen = self._state.index, set()
        for pod in members:
            shown = f"{pod.namespace}/{pod.name}"
            if pod.node not in index.positions:
                yield f'{_NO_DOMAIN}: getting node for pod {shown}: nodeinfo not found for node name "{pod.node}"'
            elif self._domain(pod) is None:
                yield f"{_NO_DOMAIN}: no topology domain found for pod {shown}"
            else:
                seen.add(str(self._domain(pod)))
        yield from (
            f"{_NO_DOMAIN}: more than 1 domain found for pod group: {domain}, {other}"
            for domain in sorted(seen)
            for other in sorted(seen - {domain})
        )

    def _domain(self, pod: BoundPod) -> str | None:
        index = self._state.index
        return index.nodes[index.positions[pod.node]].labels.get(self.group.topology_key)

    def _best(
        self,
        per_placement: Sequence[Sequence[Attempt]],
        placements: Sequence[NodeSet],
        pods: Sequence[Pod],
        members: int,
    ) -> list[Attempt]:
        """Return the results that may win over those of the other placements; if all fail, any one is reported."""
        ranked = [
            [self._standing(attempt, among, pods, members) for attempt in attempts]
            for among, attempts in zip(placements, per_placement, strict=True)
        ]
        all_may_fail = all(None in standings for standings in ranked)
        return [
            attempt
            for number, attempts in enumerate(per_placement)
            for attempt, own in zip(attempts, ranked[number], strict=True)
            if (all_may_fail if own is None else may_win(own, _others(ranked, number)))
        ]

    def _standing(self, attempt: Attempt, among: NodeSet, pods: Sequence[Pod], members: int) -> Standing | None:
        """Return the scores of a result in its placement; None if it failed there."""
        if not attempt.scheduled:
            return None
        placed = [pod for pod, at in zip(pods, attempt.nodes, strict=True) if at is not None]
        return standing(self._state, among, placed, members)

    # --- one pod ------------------------------------------------------------------------------------------------------

    def placer(self, pod: Pod) -> Placer:
        number = self.number(pod)
        placer = self._placers.get(number)
        if placer is None:
            placer = self._placers[number] = Placer(pod, self._state, self._owners.get(pod))
        return placer

    def number(self, pod: Pod) -> int:
        """Return the number of the pod's class: equal pods have equal numbers."""
        return self._state.classes.of(pod).number

    def is_enough(self, placed: int) -> bool:
        """Return what Permit decides with ``placed`` pods on nodes, earlier ones included."""
        return placed >= self.quorum

    def options(self, pod: Pod, among: NodeSet) -> tuple[NodeSet, tuple[Candidate, ...], str]:
        """Return the nodes that the scheduler may choose; else the nominations that it may make, and its message."""
        diagnosis: Diagnosis = self.placer(pod).diagnosis(among)
        if diagnosis.feasible:
            return self.placer(pod).options(diagnosis), (), ""
        preemption = preempt(pod, diagnosis, self._state, barred=self._barred)
        return 0, preemption.equals, message(diagnosis, preemption.message)

    def distinct(self, nodes: NodeSet) -> Iterator[int]:
        """Yield one position of each set of nodes that may be swapped now."""
        seen = set()
        for position in positions(nodes):
            key = position if self._kinds is None else (self._kinds[position], self._held(position))
            if key not in seen:
                seen.add(key)
                yield position

    def _held(self, position: int) -> tuple[int, ...]:
        return tuple(sorted(placement.pod_class.number for placement in self._state.pods_on(position)))

    def canonical(self, held: Iterable[tuple[int, int]]) -> Hashable:
        """Return what (number of a pod's class, position) have in common with those on swapped nodes."""
        if self._kinds is None:
            return tuple(sorted(held))
        by_node: dict[int, list[int]] = {}
        for number, at in sorted(held):
            by_node.setdefault(at, []).append(number)
        return tuple(sorted((self._kinds[at], tuple(numbers)) for at, numbers in by_node.items()))

    def put(self, pod: Pod, position: int) -> None:
        bind(pod, position, self._state)

    @property
    def state(self) -> ClusterState:
        return self._state


def _others(ranked: Sequence[Sequence[Standing | None]], number: int) -> list[Sequence[Standing | None]]:
    return [standings for other, standings in enumerate(ranked) if other != number]


class _Step(NamedTuple):
    """What a course has decided so far."""

    nodes: tuple[int | None, ...] = ()
    messages: tuple[str, ...] = ()
    victims: tuple[Placement, ...] = ()
    needs_preemption: bool = False
    scheduled: bool = False
    waits: bool = False
    """Enough pods have nodes, but some of these need preemption first."""


class _Courses:
    """All courses of podGroupSchedulingDefaultAlgorithm in one placement."""

    def __init__(self, cycle: GroupCycle, among: NodeSet, pods: Sequence[Pod], members: int) -> None:
        self._cycle, self._among, self._pods, self._members = cycle, among, pods, members
        self._seen: set[object] = set()

    def walk(self) -> Iterator[Attempt]:
        yield from self._from(_Step(), 0)

    def _from(self, step: _Step, placed: int) -> Iterator[Attempt]:
        if self._is_known(step):
            return
        if len(step.nodes) == len(self._pods):
            yield self._end(step)
            return
        pod = self._pods[len(step.nodes)]
        nodes, nominations, text = self._cycle.options(pod, self._among)
        for position in self._cycle.distinct(nodes):
            yield from self._with(pod, position, self._placed(step, position, placed + 1), placed + 1)
        for candidate in nominations:
            yield from self._with(
                pod, candidate.position, self._nominated(step, candidate, placed + 1, text), placed + 1
            )
        if not nodes and not nominations:
            yield from self._from(step._replace(nodes=(*step.nodes, None), messages=(*step.messages, text)), placed)

    def _with(self, pod: Pod, position: int, step: _Step, placed: int) -> Iterator[Attempt]:
        work.spend(work.PLACE)
        with self._cycle.state.undone():
            self._cycle.put(pod, position)
            yield from self._from(step, placed)

    def _placed(self, step: _Step, position: int, placed: int) -> _Step:
        enough = self._cycle.is_enough(self._members + placed)
        return step._replace(
            nodes=(*step.nodes, position),
            messages=(*step.messages, ""),
            scheduled=enough and not step.needs_preemption,
            waits=enough and step.needs_preemption,
        )

    def _nominated(self, step: _Step, candidate: Candidate, placed: int, text: str) -> _Step:
        return self._placed(step._replace(needs_preemption=True), candidate.position, placed)._replace(
            messages=(*step.messages, text), victims=(*step.victims, *candidate.victims)
        )

    def _is_known(self, step: _Step) -> bool:
        """Return whether an equal course was here: equal pods on the same nodes, and the same messages."""
        numbers = [self._cycle.number(pod) for pod in self._pods[: len(step.nodes)]]
        held = self._cycle.canonical((n, at) for n, at in zip(numbers, step.nodes, strict=True) if at is not None)
        told = sorted(zip(numbers, step.messages, strict=True))
        key = len(step.nodes), step.scheduled, step.needs_preemption, held, tuple(told)
        known = key in self._seen
        self._seen.add(key)
        return known

    def _end(self, step: _Step) -> Attempt:
        told = step.messages
        if step.waits:
            told = tuple(text or WAITING for text in told)
        elif not step.scheduled:
            told = tuple(text if at is None else SHORT for at, text in zip(step.nodes, told, strict=True))
        return Attempt(step.scheduled, step.nodes, told, step.victims)
