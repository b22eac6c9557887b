"""The state of some workloads at one moment, as counts: identical pods have no identity and no age.

A *slot* is a class of identical pods: one revision of a workload, or one ordinal of it, and whether the pods become
ready after they are bound (they do unless a timeline says otherwise). A State holds, per node, how many pods of each
slot are bound there and how many DaemonSet pods wait for it, and, for no particular node, how many other pods wait.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from math import inf
from typing import Any, NamedTuple

from msgspec import Struct

from kubesched_lint.engine.base.identity import Itself
from kubesched_lint.engine.cluster.pods.running import ordinal_of
from kubesched_lint.engine.controllers.statefulset import OrdinalPod
from kubesched_lint.engine.model.labels import Selector
from kubesched_lint.engine.model.pod import BoundPod, NodeSelectorTerm, Pod
from kubesched_lint.engine.model.policy import DisruptionBudget
from kubesched_lint.engine.model.storage import Claim, PersistentVolume
from kubesched_lint.engine.model.workloads.workload import Workload

SETTLED = 0
"""Waiting: the scheduler tried it, and any event that lets it run will requeue it."""
FRESH = 1
"""Waiting: created in this phase; the scheduler may try it at any moment."""
# From 2 on: waiting, could run, but no event requeued it since it could (see ``transitions.hints``).

LEAVING = -1
"""The position of pods whose node is gone."""

Guards = tuple[list[tuple[DisruptionBudget, ...]], dict[DisruptionBudget, list[int]]]
"""By slot the budgets that select its pods, and for each budget that selects any pod the slots that it selects."""
Held = tuple[tuple[int, int], ...]
"""(slot, count) pairs, sorted by slot."""
Queue = tuple[tuple[int, int, int], ...]
"""(slot, status, count) triples, sorted by slot and status."""


class State(NamedTuple):
    bound: tuple[Held, ...]
    """Per node position."""
    pinned: tuple[Queue, ...]
    """Per node position: waiting DaemonSet pods that may run only there."""
    waiting: Queue
    """All other pods without a node."""
    orphans: Queue = ()
    """Waiting DaemonSet pods whose node is gone, until their controller syncs again."""
    volumes: tuple[tuple[str, str, int], ...] = ()
    """(namespace, claim, number of its volume in the PodTypes), for claims that were bound in this timeline."""
    draining: bool = False
    """Whether a drain is still evicting pods."""
    leaving: Held = ()
    """Pods of nodes that are gone: controllers count them until the pods are deleted too."""
    holds: tuple[Held, ...] = ()
    """Per node position, (number of a holding in the PodTypes, count) of pods with devices; empty: not followed."""
    lost_holds: Held = ()
    """The same of the pods in ``leaving``."""


class Slot(NamedTuple):
    workload: int
    revision: int
    ordinal: int
    """-1 if pods have no ordinal; below -1, a set of ordinals (see ``PodTypes.pool``)."""


class HeldClaim(NamedTuple):
    """A claim of a bound pod with its devices, in words that are the same on nodes that look alike."""

    shared: str
    """The name of a claim that pods may share; empty: the claim is the pod's own."""
    devices: tuple[Any, ...]
    terms: tuple[NodeSelectorTerm, ...] | None
    """The nodes that can use the devices; None: every node."""
    is_local: bool
    """Only the pod's node can use them, whatever ``terms`` say."""


class Holding(NamedTuple):
    """What a bound pod of a slot holds."""

    slot: int
    claims: tuple[HeldClaim, ...]


class Missing(Struct):
    """Whether a waiting pod may miss the event that would let it run. Each phase asks; nodes do not matter."""

    may: bool = False
    unseen: bool = False
    """Whether the anti-affinity of some pod may keep all pods waiting longer than it should."""
    asked: int = 0
    """Number of the pods that were asked about, as they joined."""


class PodTypes:
    """All workloads of a timeline and their revisions, append-only; a slot number is an index into ``slots``."""

    def __init__(self) -> None:
        self.revisions: list[list[Workload]] = []
        self.pods: list[list[Pod]] = []
        """The admitted pod of each revision."""
        self.joined: list[Pod] = []
        """The same pods in the order in which they were added."""
        self.lowest: float = inf
        """The lowest priority of all pods: who has no more preempts nobody."""
        self.missing = Missing()
        self.owners: list[list[Selector | None]] = []
        """The selector that default spread constraints use."""
        self.slots: list[Slot] = []
        self.pods_of_slots: dict[int, Pod] = {}
        """Slot → the pod that is made for it, if somebody asked."""
        self.claims_of_slots: dict[int, tuple[Claim, ...]] = {}
        """Slot → the claims that a StatefulSet makes for its pod, if somebody asked."""
        self.guards: dict[Itself[Sequence[DisruptionBudget]], Guards] = {}
        """Budgets → what they guard, as far as somebody asked."""
        self.volumes: list[PersistentVolume] = []
        """Volumes that claims were bound to, without duplicates."""
        self._volumes: dict[str, list[int]] = {}
        """Name → numbers of the volumes."""
        self.holdings: list[Holding] = []
        self._holdings: dict[Holding, int] = {}
        self.reasons: list[frozenset[str]] = []
        """Entry ``i``: the plugins that rejected the pods of status ``2 + i``."""
        self.unready: list[bool] = []
        """Per slot: whether its pods never become ready."""
        self.ended: list[bool] = []
        """Per slot: whether its pods are on a node that is unreachable, so that they run no more."""
        self.terminating: list[bool] = []
        """Per slot: whether these are deleted, too, and stay because no kubelet ends them. They count for inter-pod
        affinity, not for a spread; only the controller of a StatefulSet waits until they are gone."""
        self.slots_of: dict[int, list[int]] = {}
        """Workload → its slots."""
        self.ordinal_pods: dict[int, dict[int, tuple[int, OrdinalPod, OrdinalPod]]] = {}
        """Workload → slot → (ordinal, the pod if it is bound, the pod if it waits)."""
        self._numbers: dict[tuple[int, int, int, bool, bool, bool], int] = {}
        self._twins: dict[tuple[int, int], tuple[int, ...]] = {}
        self._pools: list[tuple[int, ...]] = []

    def join(self, workload: Workload, pod: Pod, owner: Selector | None) -> int:
        """Add a workload and return its number."""
        self.revisions.append([workload])
        self.pods.append([pod])
        self._note(pod)
        self.owners.append([owner])
        return len(self.revisions) - 1

    def revise(self, number: int, workload: Workload, pod: Pod, owner: Selector | None) -> int:
        """Add a revision to a workload and return the revision's number."""
        self.revisions[number].append(workload)
        self.pods[number].append(pod)
        self._note(pod)
        self.owners[number].append(owner)
        return len(self.revisions[number]) - 1

    def _note(self, pod: Pod) -> None:
        self.joined.append(pod)
        self.lowest = min(self.lowest, pod.priority or 0)

    def revision_of(self, number: int, workload: Workload, *, after: int) -> int | None:
        """Return the first revision ``after`` another that this object made; None without one."""
        later = self.revisions[number][after + 1 :]
        return next((after + 1 + i for i, known in enumerate(later) if known is workload), None)

    def slot(
        self,
        workload: int,
        revision: int,
        ordinal: int = -1,
        *,
        unready: bool = False,
        ended: bool = False,
        terminating: bool = False,
    ) -> int:
        key = (workload, revision, ordinal, unready, ended, terminating)
        slot_number = self._numbers.get(key)
        if slot_number is None:
            slot_number = self._numbers[key] = len(self.slots)
            self._twins.pop((workload, revision), None)
            self.slots.append(Slot(workload, revision, ordinal))
            self.slots_of.setdefault(workload, []).append(slot_number)
            bound = OrdinalPod(revision, not unready, terminating)
            waiting = OrdinalPod(revision, False)
            self.ordinal_pods.setdefault(workload, {})[slot_number] = ordinal, bound, waiting
            self.unready.append(unready)
            self.ended.append(ended)
            self.terminating.append(terminating)
        return slot_number

    def stranded(self, slot: int, *, terminating: bool) -> int:
        """Return the slot of the same pods on a node that is unreachable, where they may be ``terminating``."""
        return self.slot(*self.slots[slot], unready=True, ended=True, terminating=terminating)

    def twins(self, workload: int, revision: int) -> tuple[int, ...]:
        """Return the slots of pods without ordinals: of those that become ready, then of those that do not."""
        twins = self._twins.get((workload, revision))
        if twins is None:
            both = self.slot(workload, revision), self.slot(workload, revision, unready=True)
            kept = self._numbers.get((workload, revision, -1, True, True, False))
            twins = self._twins[workload, revision] = both if kept is None else (*both, kept)
        return twins

    def pool(self, workload: int, revision: int, ordinals: tuple[int, ...]) -> int:
        """Return the slot of pods that were created together, where it is unknown which pod has which ordinal."""
        if len(ordinals) == 1:
            return self.slot(workload, revision, ordinals[0])
        if ordinals not in self._pools:
            self._pools.append(ordinals)
        return self.slot(workload, revision, -2 - self._pools.index(ordinals))

    def ordinals(self, slot: int) -> tuple[int, ...]:
        """Return the ordinals that the pods of a slot have, ascending."""
        ordinal = self.slots[slot].ordinal
        if ordinal < -1:
            return self._pools[-2 - ordinal]
        return (ordinal,) if ordinal >= 0 else ()

    def volume(self, volume: PersistentVolume) -> int:
        """Return the number of a volume; add the volume if it is new."""
        known = self._volumes.setdefault(volume.name, [])
        for number in known:
            if self.volumes[number] == volume:
                return number
        known.append(len(self.volumes))
        self.volumes.append(volume)
        return known[-1]

    def holding(self, holding: Holding) -> int:
        """Return the number of a holding; add it if it is new."""
        if holding not in self._holdings:
            self._holdings[holding] = len(self.holdings)
            self.holdings.append(holding)
        return self._holdings[holding]

    def missed(self, rejected_by: frozenset[str]) -> int:
        """Return the status of waiting pods that these plugins rejected and that no event requeued."""
        if rejected_by not in self.reasons:
            self.reasons.append(rejected_by)
        return 2 + self.reasons.index(rejected_by)

    def kind(self, slot: int) -> str:
        return self.revisions[self.slots[slot].workload][0].kind

    def bound_by_workload(self, state: State) -> dict[int, int]:
        """Return number of a workload → its pods that have a node."""
        bound_pods: dict[int, int] = {}
        for held in state.bound:
            for slot, count in held:
                number = self.slots[slot].workload
                bound_pods[number] = bound_pods.get(number, 0) + count
        return bound_pods

    @property
    def size(self) -> int:
        """Number of revisions of all workloads so far."""
        return len(self.joined)


class DesiredState(NamedTuple):
    """What a controller wants in a phase."""

    workload: int
    revision: int
    """The newest."""
    replicas: int
    """Ignored by DaemonSets."""
    spec: Workload
    """The object as last applied, with its strategy, partition and claims."""
    unready: bool = False
    """Pods made from now on never become ready."""
    made: bool = False
    """Its pods exist already and no controller recreates them: bare pods."""
    each_known: bool = False
    """Each ordinal is tracked separately, because some pods may become ready and others not."""

    def revision_of(self, ordinal: int) -> int:
        """Return the revision at which a StatefulSet creates an ordinal: below its partition, the second newest.

        Mirrors newVersionedStatefulSetPod of ``pkg/controller/statefulset/stateful_set_utils.go`` (v1.36).
        """
        held_back = ordinal < self.spec.strategy.partition and self.spec.strategy.type == "RollingUpdate"
        return self.revision - 1 if held_back and self.revision else self.revision


class Step(NamedTuple):
    """One step of a trace."""

    what: str
    """``bind``, ``preempt``, ``delete``, ``surge``, ``evict``, ``lose``, ``taint``, ``give up`` or ``stop``."""
    slot: int = -1
    position: int = -1


class PodCounts(NamedTuple):
    """Counts over a whole state, by slot."""

    bound: dict[int, int]
    waiting: dict[int, int]


def tally(state: State) -> PodCounts:
    bound: dict[int, int] = {}
    waiting: dict[int, int] = {}
    for held in state.bound:
        for slot, count in held:
            bound[slot] = bound.get(slot, 0) + count
    for slot, count in state.leaving:
        bound[slot] = bound.get(slot, 0) + count
    for queue in (state.waiting, state.orphans, *state.pinned):
        for slot, _, count in queue:
            waiting[slot] = waiting.get(slot, 0) + count
    return PodCounts(bound, waiting)


def empty(nodes: int, *, names_devices: bool = False) -> State:
    nobody = ((),) * nodes
    return State(nobody, nobody, (), holds=nobody if names_devices else ())


# --- edits ----------------------------------------------------------------------------------------------------------


def with_bound(state: State, position: int, slot: int, change: int) -> State:
    bound = list(state.bound)
    bound[position] = _added(bound[position], slot, change)
    return State(tuple(bound), *state[1:])  # faster than ``_replace``, which each move of a course calls


def with_hold(state: State, position: int, number: int, change: int) -> State:
    """Return the state with ``change`` more holdings of a number; ``position`` may be ``LEAVING``."""
    if position == LEAVING:
        return state._replace(lost_holds=_added(state.lost_holds, number, change))
    holds = list(state.holds)
    holds[position] = _added(holds[position], number, change)
    return state._replace(holds=tuple(holds))


def with_leaving(state: State, slot: int, change: int) -> State:
    return State(*state[:6], _added(state.leaving, slot, change), *state[7:])


def with_waiting(state: State, slot: int, status: int, change: int) -> State:
    return State(state.bound, state.pinned, queued(state.waiting, slot, status, change), *state[3:])


def with_pinned(state: State, position: int, slot: int, status: int, change: int) -> State:
    pinned = list(state.pinned)
    pinned[position] = queued(pinned[position], slot, status, change)
    return State(state.bound, tuple(pinned), *state[2:])


def with_each_pinned(state: State, positions: Iterable[int], slot: int) -> State:
    """Return the state with one more fresh pod of a slot on each of some nodes."""
    pinned = list(state.pinned)
    for position in positions:
        pinned[position] = queued(pinned[position], slot, FRESH, 1)
    return State(state.bound, tuple(pinned), *state[2:])


_BELOW_THE_FIRST = 1 << 32
"""Offset for ordinals below ``spec.ordinals.start``: the controller deletes these like ordinals that are too high."""


def slot_of_running(pod_types: PodTypes, number: int, revision: int, bound: BoundPod, *, unready: bool) -> int:
    ordinal = -1
    if pod_types.revisions[number][0].kind == "StatefulSet":
        known = ordinal_of(bound)
        assert known is not None, "a StatefulSet has no other pods"
        ordinal = known - pod_types.revisions[number][0].first_ordinal
        ordinal += _BELOW_THE_FIRST * (ordinal < 0)
    return pod_types.slot(number, revision, ordinal, unready=unready)


def with_running(pod_types: PodTypes, state: State, slot: int, bound: BoundPod, position: int) -> State:
    """Return the state with one existing pod, bound or waiting; ``position`` is its node, -1 if it has none."""
    is_daemon = pod_types.kind(slot) == "DaemonSet"
    if position >= 0 and bound.node:
        return with_bound(state, position, slot, 1)
    if position >= 0 and is_daemon:
        return with_pinned(state, position, slot, SETTLED, 1)
    if is_daemon:  # made for a node that is gone or unknown
        return state._replace(orphans=queued(state.orphans, slot, SETTLED, 1))
    return with_waiting(state, slot, SETTLED, 1)


def without_waiting(state: State, slot: int, count: int) -> State:
    """Return the state without ``count`` waiting pods of a slot, the newest first."""
    for _, status, waiting in sorted((q for q in state.waiting if q[0] == slot), key=lambda q: -q[1]):
        gone = min(waiting, count)
        if gone:
            state = with_waiting(state, slot, status, -gone)
            count -= gone
    return state


def _added(held: Held, slot: int, change: int) -> Held:
    at = bisect_left(held, (slot,))
    is_held = at < len(held) and held[at][0] == slot
    number = change + (held[at][1] if is_held else 0)
    return (*held[:at], *(((slot, number),) if number else ()), *held[at + is_held :])


def queued(queue: Queue, slot: int, status: int, change: int) -> Queue:
    """Return the queue with ``change`` more pods; its other entries stay the same objects (see ``pods_by_node``)."""
    at = bisect_left(queue, (slot, status))
    is_queued = at < len(queue) and queue[at][:2] == (slot, status)
    number = change + (queue[at][2] if is_queued else 0)
    return (*queue[:at], *(((slot, status, number),) if number else ()), *queue[at + is_queued :])


def settled(state: State) -> State:
    """Return the state after all fresh pods were tried; pods that missed an event keep their status."""
    pinned = tuple(queue and _settled(queue) for queue in state.pinned) if any(state.pinned) else state.pinned
    return state._replace(waiting=_settled(state.waiting), pinned=pinned, orphans=_settled(state.orphans))


def _settled(queue: Queue) -> Queue:
    if not any(status == FRESH for _, status, _ in queue):
        return queue
    counts: dict[tuple[int, int], int] = {}
    for slot, status, count in queue:
        key = (slot, SETTLED if status == FRESH else status)
        counts[key] = counts.get(key, 0) + count
    return tuple(sorted((s, t, n) for (s, t), n in counts.items()))
