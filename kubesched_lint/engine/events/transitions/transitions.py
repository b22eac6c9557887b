"""What may happen next in a State: the scheduler binds a waiting pod, or a controller acts.

Pods are created at once, because an existing pod may still wait any length of time. Each deletion is a separate move.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from itertools import islice
from typing import TYPE_CHECKING

from kubesched_lint.engine.controllers import deployment
from kubesched_lint.engine.controllers.replicaset import Draws, draws, one_draw
from kubesched_lint.engine.events.limits import MOST_FOLLOWED
from kubesched_lint.engine.events.states.pods_by_node import Nothing
from kubesched_lint.engine.events.states.states import (
    FRESH,
    DesiredState,
    PodCounts,
    State,
    Step,
    with_bound,
    with_pinned,
    with_waiting,
)
from kubesched_lint.engine.events.transitions import resizing
from kubesched_lint.engine.events.transitions import statefulset_pods as stateful
from kubesched_lint.engine.events.transitions.budget_counts import BudgetCounts
from kubesched_lint.engine.events.transitions.daemons import synced
from kubesched_lint.engine.events.transitions.hints import wakes_on_bind, wakes_on_delete
from kubesched_lint.engine.events.transitions.placement_model import PlacementModel
from kubesched_lint.engine.events.transitions.preempting import Preemption
from kubesched_lint.engine.events.transitions.requeueing import Wakes, not_requeued
from kubesched_lint.engine.events.transitions.resizing import Deletion
from kubesched_lint.engine.events.transitions.scheduling_queue import SchedulingQueue
from kubesched_lint.engine.model.pod import Pod
from kubesched_lint.engine.model.policy import DisruptionBudget
from kubesched_lint.engine.model.workloads.workload import Strategy

if TYPE_CHECKING:
    from random import Random

Move = tuple[Step, State]
Way = Callable[[], Deletion]
"""Returns a deletion that a controller may make: most are never asked for."""
_REMAKING = frozenset(["Deployment", "ReplicaSet", "ReplicationController", "Job"])
"""Kinds whose controller recreates a pod before the deleted one has terminated."""


@lru_cache(maxsize=4_096)
def _synced(
    strategy: Strategy, replicas: int, newest: int, sets: tuple[deployment.ReplicaSetSize, ...]
) -> Mapping[int, int]:
    """Return ``deployment.sync``: the courses of a run ask it about few different sizes."""
    return deployment.sync(strategy, replicas, newest, sets)


class Transitions:
    """The moves of one phase: fixed nodes, fixed desired states."""

    def __init__(
        self,
        model: PlacementModel,
        desired_states: Iterable[DesiredState],
        precedence: Mapping[int, int] | None = None,
    ) -> None:
        """``precedence``: random courses try pods of the workloads with the lowest value first."""
        self.model = model
        self.pod_types = model.pod_types
        self._queue = SchedulingQueue(model.pod_types, precedence or {}, len(model.index))
        self._budgets = BudgetCounts(self, model.objects.budgets)
        self._version = model.cluster.kubernetes_version
        self.desired_states = tuple(desired_states)
        self._desired = {w.workload: w for w in self.desired_states}
        self.may_miss = model.may_miss()
        self._daemons = {w.workload: model.daemons(w) for w in self.desired_states if w.spec.kind == "DaemonSet"}

    def replicas_of(self, desired: DesiredState) -> int:
        """Return how many pods a workload wants: for a DaemonSet, the number of nodes it targets."""
        if desired.workload in self._daemons:
            return self._daemons[desired.workload].run.bit_count()
        return desired.replicas

    def elsewhere(self, desired: DesiredState, state: State) -> int:
        """Return how many bound pods of a DaemonSet are on nodes where it wants none."""
        if desired.workload not in self._daemons:
            return 0
        run, slots = self._daemons[desired.workload].run, self.pod_types.slots
        outside = (held for p, held in enumerate(state.bound) if not run >> p & 1)
        return sum(count for held in outside for slot, count in held if slots[slot].workload == desired.workload)

    # --- all moves --------------------------------------------------------------------------------------------------

    def moves(self, state: State) -> Iterator[Move]:
        """Yield every possible next move. ``state`` must be a result of ``settle``."""
        yield from self.bindings(state)
        for desired in self.desired_states:
            for way in self._ways(desired, state):
                step, after, gone = way()
                for woken in self.woken(state, after, gone):
                    yield step, self.settle(woken, step.slot)

    def any_move(self, state: State, random: Random) -> Move | None:
        """Return a random move, bindings before deletions as with a fast scheduler; None if nothing can move."""
        move = self._any_binding(state, random)
        if move is not None:
            return move
        desired_states = list(self.desired_states)
        random.shuffle(desired_states)
        idle = self._idle(state)
        for desired in desired_states:
            way = None if idle.get(desired.workload) is desired else self._any_way(desired, state, random)
            if way is not None:
                step, woken = self._deleted(state, way)
                return step, self.settle(random.choice(woken), step.slot)
        return None

    def _idle(self, state: State) -> Nothing:
        """Return the workloads that are known to delete no pod; it grows until another state is shown."""
        self.counts(state)
        return self.model.standing.nothing_to_delete

    def _any_way(self, desired: DesiredState, state: State, random: Random) -> Way | None:
        """Return a random way in which a controller may delete pods: of equal pods, each is as likely as the others."""
        ways = list(islice(self._ways(desired, state, one_draw(random)), MOST_FOLLOWED))
        return random.choice(ways) if ways else None

    def _deleted(self, state: State, way: Way) -> tuple[Step, Sequence[State]]:
        """Return the step of a way to delete pods, and the states after it, before controllers create pods."""
        step, after, gone = way()
        return step, list(self.woken(state, after, gone))

    def _any_binding(self, state: State, random: Random) -> Move | None:
        for slot, status, position in self._queue.in_turn(state, random):
            candidate_nodes = self.model.candidate_nodes(state, slot, position)
            if candidate_nodes:
                chosen = self.model.symmetry.first_alike(state, random.choice(candidate_nodes))
                return self._bound_to(state, slot, status, chosen, pinned=position >= 0)
            eviction = self.model.any_eviction(state, slot, position, partial(self._allowed, state), random)
            if eviction is not None:
                return random.choice(list(self._preempt(state, slot, status, eviction, pinned=position >= 0)))
        return None

    def _allowed(self, state: State) -> Sequence[tuple[DisruptionBudget, int]]:
        return tuple(self._budgets.allowed(state))

    def _bound_to(self, state: State, slot: int, status: int, position: int, *, pinned: bool) -> Move:
        return next(self._bind(state, slot, status, position, pinned=pinned))

    def settle(self, state: State, slot: int = -1) -> State:
        """Return the state after controllers created pods; with ``slot``, only that of its workload, which changed."""
        desired_states = self.desired_states if slot < 0 else (self._desired[self.pod_types.slots[slot].workload],)
        standing = self.model.standing
        nothing = standing.nothing_to_create
        before = None
        while before is not state:
            before = state
            counts = standing.show(before)
            for desired in desired_states:  # controllers create independently
                if nothing.get(desired.workload) is not desired:
                    after = self._created(desired, state, counts)
                    if after is state:
                        nothing[desired.workload] = desired
                    state = after
        return state

    # --- the scheduler ----------------------------------------------------------------------------------------------

    def bindings(self, state: State) -> Iterator[Move]:
        model = self.model
        done = set()
        for slot, status, _ in sorted(state.waiting, key=lambda q: q[1] != FRESH):
            if status > FRESH or slot in done:
                continue
            done.add(slot)
            candidate_nodes = model.candidate_nodes(state, slot)
            for position in model.symmetry.distinct(state, candidate_nodes):
                yield from self._bind(state, slot, status, position, pinned=False)
            if model.preempting and not candidate_nodes:
                yield from self._preemptions(state, slot, status)
        symmetric = model.symmetry.distinct(state, (p for p, q in enumerate(state.pinned) if q))
        for position in symmetric:
            for slot, status, _ in state.pinned[position]:
                if status <= FRESH and model.candidate_nodes(state, slot, position):
                    yield from self._bind(state, slot, status, position, pinned=True)
                elif status <= FRESH and model.preempting:
                    yield from self._preemptions(state, slot, status, position)

    def _preemptions(self, state: State, slot: int, status: int, pinned: int = -1) -> Iterator[Move]:
        """Yield the moves in which the pod takes the place of victims, whose controllers recreate them."""
        preemptions = self.model.evictions(state, slot, pinned)
        distinct = frozenset(self.model.symmetry.distinct(state, dict.fromkeys(e.position for e in preemptions)))
        for eviction in preemptions:
            if eviction.position in distinct:
                yield from self._preempt(state, slot, status, eviction, pinned=pinned >= 0)

    def _preempt(self, state: State, slot: int, status: int, eviction: Preemption, *, pinned: bool) -> Iterator[Move]:
        """Yield the preemption once per result: the victims' deletion requeues waiting pods, or they miss it."""
        after = state
        for victim, count in eviction.victims:
            after = self.remade(after, victim, count)
            after = self.synced(with_bound(after, eviction.position, victim, -count), victim)
        for _, bound in self._bind(after, slot, status, eviction.position, pinned=pinned):
            for woken in self.woken(state, bound, tuple(victim for victim, _ in eviction.victims)):
                yield Step("preempt", slot, eviction.position), self.settle(woken)

    def _bind(self, state: State, slot: int, status: int, position: int, *, pinned: bool) -> Iterator[Move]:
        """Yield the binding once for each choice of devices that the search knows; a course knows one."""
        there = slot
        if self.model.unreachable >> position & 1 and not pinned:
            there = self.pod_types.stranded(slot, terminating=False)
        after = with_bound(state, position, there, 1)
        if pinned:
            after = self.synced(with_pinned(after, position, slot, status, -1), slot)
        else:
            volumes = self.model.volumes_after(state, slot, position)
            after = with_waiting(after, slot, status, -1)
            after = after if volumes is after.volumes else after._replace(volumes=volumes)
        for known in self.model.devices.settled(after):
            yield self._bound(state, known, slot, position)

    def looked_at(self, before: State, after: State, wakes: Wakes) -> State:
        """Return ``after`` with DaemonSets synced: a pod that is retried gets a new status, which triggers the sync."""
        if not after.orphans:
            return after
        for position, queue in enumerate(before.pinned):
            for slot, _, _ in queue:
                if wakes(self.model.pod(slot, position), self.model.diagnosis(before, slot, position).rejected_by):
                    after = self.synced(after, slot)
        return after

    def _bound(self, before: State, after: State, slot: int, position: int) -> Move:
        if after.orphans:
            come = self.model.pod(slot)
            after = self.looked_at(before, after, lambda pod, by: wakes_on_bind(pod, by, come, self.model.cluster))
        if self.may_miss:
            come = self.model.pod(slot)
            self.model.show(after)
            after = self._with_statuses(after, lambda pod, by: wakes_on_bind(pod, by, come, self.model.cluster))
        return Step("bind", slot, position), self.settle(after, slot) if self._may_follow(slot) else after

    def _may_follow(self, slot: int) -> bool:
        """Whether a controller may create pods because one of a slot was bound: the next ordinal, or in a rollout."""
        kind = self.pod_types.kind(slot)
        has_rollout = len(self.pod_types.revisions[self.pod_types.slots[slot].workload]) > 1
        return kind == "StatefulSet" or (kind == "Deployment" and has_rollout)

    def synced(self, state: State, slot: int) -> State:
        return synced(self.pod_types, state, slot)

    # --- waking -----------------------------------------------------------------------------------------------------

    def woken(self, before: State, after: State, gone: tuple[int, ...]) -> Iterator[State]:
        """Yield the states after the deletion of bound pods (slots ``gone``): waiting pods are requeued, or miss it."""
        pods = [self.model.pod(slot) for slot in gone]
        cluster = self.model.cluster

        def wakes(pod: Pod, by: frozenset[str]) -> bool:
            return any(wakes_on_delete(pod, by, g, cluster) for g in pods)

        if gone and after.orphans:
            after = self.looked_at(before, after, wakes)
        for known in self.model.devices.settled(after):
            if gone and self.may_miss:
                yield from not_requeued(self.model, before, self.model, self._with_statuses(known, wakes), wakes)
            else:
                yield known

    def _with_statuses(self, state: State, wakes: Wakes) -> State:
        """Return the state in which pods that missed an earlier event, and are requeued now, are fresh again."""
        if not self.pod_types.reasons:  # none missed any
            return state
        for slot, status, count in state.waiting:
            if status > FRESH and wakes(self.model.pod(slot), self.pod_types.reasons[status - 2]):
                state = with_waiting(with_waiting(state, slot, status, -count), slot, FRESH, count)
        for position, queue in enumerate(state.pinned):
            for slot, status, count in queue:
                if status > FRESH and wakes(self.model.pod(slot, position), self.pod_types.reasons[status - 2]):
                    state = with_pinned(state, position, slot, status, -count)
                    state = with_pinned(state, position, slot, FRESH, count)
        return state

    # --- replacing --------------------------------------------------------------------------------------------------

    def remade(self, state: State, slot: int, count: int = 1) -> State:
        """Return the state with the pods that a ReplicaSet creates to replace ``count`` deleted ones.

        A ReplicaSet keeps its size with pods of its own template, so its Deployment need not act, even during a
        rollout (``replicaset/replica_set.go``, manageReplicas). It does not wait for the old pods to terminate: the
        scheduler may try the new pods before that.
        """
        workload, revision, _ = self.pod_types.slots[slot]
        desired = self._desired[workload]
        if desired.spec.kind not in _REMAKING or desired.made or desired.spec.replaces_late:
            return state
        newest = revision if desired.spec.kind == "Deployment" else desired.revision
        return with_waiting(state, self.pod_types.slot(workload, newest, unready=desired.unready), FRESH, count)

    # --- creating ---------------------------------------------------------------------------------------------------

    def counts(self, state: State) -> PodCounts:
        """Return the bound and waiting pods per slot; valid until the next call with another state."""
        return self.model.standing.show(state)

    def _created(self, desired: DesiredState, state: State, counts: PodCounts) -> State:
        """Return the state after one controller created its pods; it reads only its own pods from ``counts``."""
        kind = desired.spec.kind
        if kind == "DaemonSet":
            return self._daemons[desired.workload].created(state)
        if kind == "StatefulSet" and stateful.is_pooled(desired):
            return stateful.created(self.pod_types, desired, state)
        if kind == "StatefulSet":
            for ordinal in stateful.synced(self.pod_types, desired, counts, self._version).create:
                revision = desired.revision_of(ordinal)
                slot = self.pod_types.slot(desired.workload, revision, ordinal, unready=desired.unready)
                state = with_waiting(state, slot, FRESH, 1)
            return state
        if desired.made:
            return state
        slot = self.pod_types.slot(desired.workload, desired.revision, unready=desired.unready)
        sets = self.replica_sets(desired.workload, counts)
        have = next((s.size for s in sets if s.revision == desired.revision), 0)
        wanted = self._sizes(desired, counts, sets).get(desired.revision, have)
        return with_waiting(state, slot, FRESH, wanted - have) if wanted > have else state

    def _sizes(
        self, desired: DesiredState, counts: PodCounts, sets: Sequence[deployment.ReplicaSetSize]
    ) -> Mapping[int, int]:
        """Return new sizes by revision, of a Deployment's ReplicaSets or of a kind that only keeps a number of pods."""
        if desired.spec.kind == "Deployment":
            if len(sets) == 1 and sets[0].revision == desired.revision and sets[0].size == desired.replicas:
                return {}  # as ``deployment.sync`` says of most that a course asks about
            return _synced(desired.spec.strategy, desired.replicas, desired.revision, tuple(sets))
        have = sum(s.size for s in sets) + self._not_ended(desired, counts)
        newest = sum(s.size for s in sets if s.revision == desired.revision)
        return {desired.revision: newest + desired.replicas - have} if have != desired.replicas else {}

    def _not_ended(self, desired: DesiredState, counts: PodCounts) -> int:
        """Return how many terminating pods a Job waits for before it replaces them."""
        if not desired.spec.replaces_late:
            return 0
        slots, terminating = self.pod_types.slots_of.get(desired.workload, ()), self.pod_types.terminating
        return sum(counts.bound.get(slot, 0) for slot in slots if terminating[slot])

    def replica_sets(self, workload: int, counts: PodCounts) -> list[deployment.ReplicaSetSize]:
        sizes = []
        for revision in range(len(self.pod_types.revisions[workload])):
            slots, size = self.pod_types.twins(workload, revision), 0
            for slot in slots:
                size += counts.bound.get(slot, 0) + counts.waiting.get(slot, 0)
            if size:
                sizes.append(deployment.ReplicaSetSize(revision, size, counts.bound.get(slots[0], 0)))
        return sizes

    # --- deleting ---------------------------------------------------------------------------------------------------

    def _ways(self, desired: DesiredState, state: State, among: Draws = draws) -> Iterator[Way]:
        """Yield each way in which the controller may delete pods; ``among`` chooses between equal pods."""
        counts = self.counts(state)
        nothing = self.model.standing.nothing_to_delete
        if nothing.get(desired.workload) is desired:
            return
        acts = False
        for way in self._asked(desired, state, counts, among):
            acts = True
            yield way
        if not acts:
            nothing[desired.workload] = desired

    def _asked(self, desired: DesiredState, state: State, counts: PodCounts, among: Draws) -> Iterator[Way]:
        kind = desired.spec.kind
        if kind == "DaemonSet":
            daemons = self._daemons[desired.workload]
            yield from (partial(daemons.deleted, state, option) for option in daemons.options(state))
        elif kind == "StatefulSet":
            if (
                self.model.unreachable
                and stateful.is_pooled(desired)
                and stateful.is_torn_apart(self.pod_types, desired, state)
            ):
                self.model.gave_up = True  # which ordinals terminate is not known
            for deletion in stateful.deletions(self.pod_types, desired, state, counts, self._version, among):
                yield partial(_found, deletion)
        elif changes := self._resizing(desired, counts):
            for way in resizing.ways(self.pod_types, desired, changes, state, counts, among):
                yield partial(resizing.taken, self.pod_types, desired, changes, state, way)

    def _resizing(self, desired: DesiredState, counts: PodCounts) -> Sequence[resizing.Change]:
        """Return the sizes that a controller of ReplicaSets, or of a kind that only keeps a number of pods, wants."""
        if desired.spec.kind == "Deployment":
            return _changes(self._sizes(desired, counts, self.replica_sets(desired.workload, counts)))
        if desired.made or sum(s.size for s in self.replica_sets(desired.workload, counts)) <= desired.replicas:
            return ()
        return [(tuple(range(len(self.pod_types.revisions[desired.workload]))), desired.replicas)]

    def resized(
        self, workload: int, sizes: Mapping[int, int], state: State, among: Draws = draws
    ) -> Iterator[Deletion]:
        """Yield the deletions by which a Deployment's ReplicaSets may reach these sizes (by revision)."""
        desired, changes = self._desired[workload], _changes(sizes)
        for way in resizing.ways(self.pod_types, desired, changes, state, self.counts(state), among):
            yield resizing.taken(self.pod_types, desired, changes, state, way)


def _found(deletion: Deletion) -> Deletion:
    return deletion


def _changes(sizes: Mapping[int, int]) -> Sequence[resizing.Change]:
    return [((revision,), size) for revision, size in sizes.items()]
