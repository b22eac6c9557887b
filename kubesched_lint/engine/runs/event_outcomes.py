"""The results of each event for a group of workloads: every end that was found, with the course that leads there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from kubesched_lint.engine.events.answers.cells import EventOutcome, outcome
from kubesched_lint.engine.events.search.events import Phase, Timeline
from kubesched_lint.engine.events.search.hypotheses import Hypothesis
from kubesched_lint.engine.events.search.node_events import drain, lose, lose_contact
from kubesched_lint.engine.events.search.supposing import applied, holds, rolls, timelines_after
from kubesched_lint.engine.events.start.quotas import as_granted
from kubesched_lint.engine.events.start.simulated_set import LOSSES, UNREACHABLE_OF, SimulatedSet, zones
from kubesched_lint.engine.events.start.sizes import size_after
from kubesched_lint.engine.events.states.states import DesiredState, PodCounts, State, tally
from kubesched_lint.engine.model.workloads.workload import ROLLED_OUT, Workload, written_template


class FinalState(Struct, frozen=True):
    """One way an event may end for one workload."""

    workload: int
    """Its number in the timeline."""
    outcome: EventOutcome
    state: State
    timeline: Timeline
    where: str = ""
    """The node or zone that was lost or drained."""
    blocked: bool = False
    """Whether a drain or an upgrade gave up while a pod of the workload, guarded by a budget, was still on the node."""
    may_stay: int = 0
    """Number of old pods that the update strategy does not replace."""
    rolls: bool = False
    """Whether the event changes the template, so that a rollout must end."""
    elsewhere: int = 0
    """Number of bound pods of a DaemonSet on nodes where it wants none but lets them stay."""

    @property
    def lack(self) -> int:
        return max(self.outcome.wanted - self.outcome.bound + self.elsewhere, 0)

    def filled(self, wanted: int) -> int:
        """Return the bound pods that count: ``wanted`` if none lacks (a DaemonSet wants fewer on fewer nodes)."""
        return self.outcome.wanted - self.lack if self.lack else wanted

    @property
    def is_updated(self) -> bool:
        """Whether all pods run, and only pods that the update strategy does not replace are old."""
        end = self.outcome
        return end.pending == 0 and end.ready == end.wanted and end.old <= self.may_stay

    @property
    def phase(self) -> Phase:
        return self.timeline.phases[-1]


class EventOutcomes:
    """One deployed group of workloads, and the cached timelines of events after the deployment."""

    def __init__(
        self,
        simulated: SimulatedSet,
        members: Sequence[int],
        deployed: Sequence[Timeline],
        nodes: Sequence[str],
        unready: Sequence[Timeline] = (),
    ) -> None:
        """Keep the timelines that lead to the ends of events.

        ``deployed`` has one for each combination of unknown templates (``groups.template_variants``). ``nodes`` are the
        nodes to lose and drain. ``unready`` are the deployments of pods that never become ready, if any are assumed;
        before other events these pods were ready.
        """
        self.simulated = simulated
        self.members = tuple(members)
        self.deployed = tuple(deployed)
        self.unready = tuple(unready)
        self._nodes: Callable[[], Sequence[str]] = lambda: nodes
        self._variants: dict[tuple[str, int], tuple[tuple[str, Timeline], ...]] = {}
        self._continued: dict[tuple[str, int, str, int], Timeline] = {}
        """(event, workload, node or zone, place in ``deployed``) → the timeline after the event."""
        self._counts: dict[Timeline, Sequence[tuple[State, PodCounts]]] = {}
        """Timelines of events that concern all workloads → their ends with the pods of each."""

    @property
    def nodes(self) -> Sequence[str]:
        """The nodes to lose and drain."""
        return self._nodes()

    def at(self, nodes: Callable[[], Sequence[str]]) -> EventOutcomes:
        """Return these outcomes with other nodes to lose and drain, found when asked for, and the same timelines."""
        other = copy(self)
        other._nodes = nodes
        other._variants = {}
        return other

    @property
    def complete(self) -> bool:
        return all(timeline.sound for timeline in self.deployed)

    def ends(self, event: str, number: int) -> list[FinalState] | None:
        """Return every end of an event for one workload; None if the search was cut short, or met no end.

        A drain meets none where pods come back to its node and a budget lets them go one by one.
        """
        ends = []
        for where, timeline in self.variants(event, number):
            if not (timeline.sound or timeline.runs) or not timeline.states:
                return None
            ends += list(self._ends(event, where, timeline, number))
        return ends

    def ends_until(self, event: str, number: int, is_enough: Callable[[list[FinalState]], bool]) -> list[FinalState]:
        """Return the ends of courses, node by node or zone by zone, until they are enough; empty if one has none."""
        ends: list[FinalState] = []
        for where, timeline in self._forks(event, number):
            if not timeline.states:
                return []
            ends += self._ends(event, where, timeline, number)
            if is_enough(ends):
                break
        return ends

    def first_ends(
        self, event: str, number: int, is_sought: Callable[[FinalState], bool] = lambda _: True
    ) -> list[FinalState]:
        """Return the sought ends for the first node or zone that has any; skip the others."""
        for where, timeline in self._forks(event, number):
            sought = list(filter(is_sought, self._ends(event, where, timeline, number)))
            if sought:
                return sought
        return []

    def _ends(self, event: str, where: str, timeline: Timeline, number: int) -> Iterator[FinalState]:
        workload = self.simulated.workloads[number]
        desired = timeline.desired_states[timeline.numbers[workload.key]]
        transitions = timeline.phases[-1].transitions
        guarded = where and self.simulated.drains(event) and bool(self.simulated.member(number).budgets)
        rolling = event == "rollout" or self._rolls(event, number)
        seen: set[tuple[EventOutcome, bool, int]] = set()
        for state, counts in self._counted(timeline, is_shared=self._of(event, number) < 0):
            end = outcome(transitions, desired, counts)
            blocked = bool(guarded) and holds(timeline, where, state, desired.workload)
            elsewhere = transitions.elsewhere(desired, state)
            if (end, blocked, elsewhere) not in seen:
                seen.add((end, blocked, elsewhere))
                stay = _may_stay(desired) + elsewhere
                yield FinalState(desired.workload, end, state, timeline, where, blocked, stay, rolling, elsewhere)

    def _counted(self, timeline: Timeline, *, is_shared: bool) -> Iterable[tuple[State, PodCounts]]:
        """Return the ends of a timeline with their pods, counted once if all workloads ask for them."""
        if not (is_shared and timeline.runs):
            transitions = timeline.phases[-1].transitions
            return ((state, transitions.counts(state)) for state in timeline.states)
        if timeline not in self._counts:
            self._counts[timeline] = [(state, tally(state)) for state in timeline.states]
        return self._counts[timeline]

    def _rolls(self, event: str, number: int) -> bool:
        hypothesis = self.simulated.supposes(event)
        return hypothesis is not None and rolls(hypothesis, self.simulated.workloads[number])

    def variants(self, event: str, number: int) -> tuple[tuple[str, Timeline], ...]:
        """Return (node or zone, timeline after the event) for each node or zone that the event may concern."""
        key = (event, self._of(event, number))
        if key not in self._variants:
            self._variants[key] = tuple(self._forks(event, number))
        return self._variants[key]

    def _of(self, event: str, number: int) -> int:
        """Return the workload that an event changes; -1 if it concerns all of them alike."""
        is_shared = event in ("deploy", *LOSSES) or self.simulated.supposes(event) is not None
        return -1 if is_shared else number

    def _forks(self, event: str, number: int) -> Iterator[tuple[str, Timeline]]:
        if event == "deploy":
            yield from (("", timeline) for timeline in self.unready or self.deployed)
            return
        hypothesis = self.simulated.supposes(event)
        if hypothesis is not None:
            objects = self._objects(hypothesis)
            for base in self.deployed:
                yield from timelines_after(hypothesis, objects, partial(_continued, base))
            return
        for where, happen in self._happenings(event, number):
            for place, base in enumerate(self.deployed):
                is_one_told = event in UNREACHABLE_OF and base.runs  # what others tell, deleted nodes show
                if is_one_told and place:
                    break
                key = (event, self._of(event, number), where, place)
                if key not in self._continued:
                    timeline = _continued(base)
                    if is_one_told:
                        timeline.states, timeline.runs = timeline.states[:1], 1
                    happen(timeline)
                    self._continued[key] = timeline
                yield where, self._continued[key]

    def _objects(self, hypothesis: Hypothesis) -> Sequence[Workload]:
        """Return the workloads that a hypothesis changes, as they are applied."""
        before = {i: as_granted(self.simulated.member(i)) for i in self.members}
        after = {i: applied(hypothesis, i, workload, with_new_template) for i, workload in before.items()}
        return [after[i] for i in self.members if after[i] is not before[i]]

    def _happenings(self, event: str, number: int) -> Iterator[tuple[str, Callable[[Timeline], object]]]:
        match event:
            case "node-loss":
                for node in self.nodes:
                    yield node, partial(lose, names=[node])
            case "zone-loss":
                for zone, names in zones(self.simulated).items():
                    yield zone, partial(lose, names=names)
            case "node-unreachable":
                for node in self.nodes:
                    yield node, partial(lose_contact, names=[node])
            case "zone-unreachable":
                for zone, names in zones(self.simulated).items():
                    yield zone, partial(lose_contact, names=names)
            case "drain":
                for node in self.nodes:
                    yield node, partial(drain, name=node)
            case "rollout":
                changed = with_new_template(self.simulated.workloads[number])
                yield "", partial(Timeline.rollout, workload=changed)
            case _:  # scaling up or down
                workload = self.simulated.workloads[number]
                size = size_after(self.simulated.member(number), event)
                at = workload.ref
                yield "", partial(Timeline.scale, kind=at.kind, namespace=at.namespace, name=at.name, replicas=size)


def _continued(base: Timeline) -> Timeline:
    timeline = base.fork()
    timeline.from_now_unready()
    return timeline


def _may_stay(desired: DesiredState) -> int:
    """Return how many old pods may stay: all with OnDelete or without rollouts, else those below a partition."""
    strategy = desired.spec.strategy
    if strategy.type == "OnDelete" or desired.spec.kind not in ROLLED_OUT:
        return 1 << 30
    return min(strategy.partition, desired.replicas) if desired.spec.kind == "StatefulSet" else 0


def with_new_template(workload: Workload) -> Workload:
    """Return the workload with a changed template, without a change that matters to scheduling."""
    written = written_template(workload)
    kept = {"metadata": written.get("metadata")} if isinstance(written, dict) else {}  # webhooks choose by it
    return replace(workload, template={**kept, "of": workload.template, "changed": True})
