"""Pods leave a node: nodes are lost with their pods, or get taints that evict pods, or are drained by the eviction API.

Lost pods go all at once if the order does not matter, else one after another. The pods of a lost node are deleted one
by one, in any order, and controllers act in between (``pkg/controller/podgc/gc_controller.go``, gcOrphaned). A
StatefulSet that loses its second pod first has two waiting pods in the end, else one. A Deployment in a rollout depends
on the number of available pods.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import compress
from typing import TYPE_CHECKING, TypeVar

from kubesched_lint.engine.controllers.bounds import allowed_disruptions, lets_unready_go
from kubesched_lint.engine.events.search.hypotheses import NodeChange
from kubesched_lint.engine.events.states.states import (
    LEAVING,
    Held,
    State,
    Step,
    queued,
    with_bound,
    with_hold,
    with_leaving,
)
from kubesched_lint.engine.events.transitions.budget_counts import BudgetCounts
from kubesched_lint.engine.events.transitions.hints import (
    wakes_on_delete,
    wakes_on_lost_label,
    wakes_on_new_node,
    wakes_on_node_change,
)
from kubesched_lint.engine.events.transitions.requeueing import not_requeued
from kubesched_lint.engine.events.transitions.transitions import Move, Transitions
from kubesched_lint.engine.model.pod import Pod
from kubesched_lint.engine.model.policy import DisruptionBudget

if TYPE_CHECKING:
    from random import Random

T = TypeVar("T")


class NodeEvent:
    """A change of the nodes of ``before``; ``after`` has the nodes as they are then, and the new desired states."""

    def __init__(self, before: Transitions, after: Transitions, change: NodeChange) -> None:
        self._before = before
        self._after = after
        self._change = change
        at, index = before.model.index.positions, after.model.index
        self._unreachable = sorted(at[name] for name in change.unreachable if name in at)
        """Positions before the change."""
        self._later = {p: index.positions[before.model.index.names[p]] for p in self._unreachable}
        """The same → their positions afterwards."""
        came = {newcomer.node.name for newcomer in change.added}
        self._touched = sorted(at[name] for name in change.touched if name in at)
        at = at if not came else {name: -1 if name in came else at[name] for name in index.names}
        self._origin = [*map(at.__getitem__, index.names)]
        """Per position afterwards: the position before, -1 for a new node."""

    def enter(self, state: State) -> Iterator[State]:
        """Yield the states after the change; DaemonSet pods that wait for a lost node stay until the next sync."""
        transitions, model, later = self._before, self._before.model, self._after.model
        apart = frozenset(
            s for p in self._unreachable for s, _ in state.bound[p] if self._are_replaced_in_turn(s, state)
        )
        on_touched = [
            (slot, n)
            for p in self._touched
            if p not in self._unreachable
            for slot, n in state.bound[p]
            if self._must_go(slot, p)
        ]
        leaving = frozenset(slot for slot, _ in on_touched if self._go_one_by_one(slot, state))
        gone = [model.pod(slot) for slot, _ in on_touched if slot not in leaving]

        def wakes(pod: Pod, by: frozenset[str]) -> bool:
            return self._wakes(pod, by) or any(wakes_on_delete(pod, by, g, model.cluster) for g in gone)

        after = self._with_holdings(self._on_later_nodes(state), state, leaving)
        for slot, count in on_touched:
            after = with_leaving(after, slot, count) if slot in leaving else transitions.remade(after, slot, count)
            after = after if slot in leaving else transitions.synced(after, slot)
        after = self._ended(after, state, apart)
        after = transitions.looked_at(state, after, wakes)
        if later.may_miss():
            yield from not_requeued(model, state, later, after, wakes, self._origin)
        else:
            yield after

    def _ended(self, after: State, before: State, apart: Collection[int]) -> State:
        """Return the state with the pods of nodes that are unreachable terminating, or not ready where they may stay.

        Their controllers replace those that terminate. The pods of the slots ``apart`` follow one by one.
        """
        pod_types, later = self._before.pod_types, self._later
        for p in self._unreachable:
            for slot, count in before.bound[p]:
                goes = self._must_go(slot, p)
                if pod_types.kind(slot) == "DaemonSet" or (goes and slot in apart) or pod_types.terminating[slot]:
                    continue
                ended = pod_types.stranded(slot, terminating=goes)
                after = with_bound(with_bound(after, later[p], slot, -count), later[p], ended, count)
                after = self._before.remade(after, slot, count) if goes else after
        return after

    def _must_go(self, slot: int, position: int) -> bool:
        model = self._before.model
        return self._change.evicts(model.pod(slot), model.index.names[position])

    def _wakes(self, pod: Pod, rejected_by: frozenset[str]) -> bool:
        """Whether the change of the nodes itself requeues a waiting pod."""
        nodes, change = self._before.model.index.nodes, self._change
        dropped = {key for _, key in change.unlabelled}
        return (
            any(wakes_on_new_node(pod, rejected_by, newcomer.node.labels) for newcomer in change.added)
            or any(wakes_on_node_change(pod, rejected_by, nodes[p].labels) for p in self._touched)
            or (bool(dropped) and wakes_on_lost_label(pod, rejected_by, dropped))
        )

    def _on_later_nodes(self, state: State) -> State:
        orphans = state.orphans
        for p in set(compress(range(len(state.pinned)), state.pinned)).difference(self._origin):
            for slot, status, count in state.pinned[p]:
                orphans = queued(orphans, slot, status, count)
        names, later = self._before.model.index.names, self._after.model.index.positions
        bound = self._moved(state.bound)
        for p in self._touched:
            if names[p] in later:
                stays = p in self._unreachable
                bound[later[names[p]]] = tuple(h for h in state.bound[p] if stays or not self._must_go(h[0], p))
        return state._replace(bound=tuple(bound), pinned=tuple(self._moved(state.pinned)), orphans=orphans)

    def _moved(self, by_position: Sequence[tuple[T, ...]]) -> list[tuple[T, ...]]:
        """Return what is by position before the change by position afterwards; nothing for new nodes."""
        return [*map((*by_position, ()).__getitem__, self._origin)]  # -1 is the last one

    def _with_holdings(self, after: State, before: State, leaving: Collection[int]) -> State:
        """Return the state with the devices of all pods; those that still have to be deleted hold theirs until then."""
        if not before.holds:
            return after
        slots, touched = [each.slot for each in self._before.pod_types.holdings], frozenset(self._touched)

        def stays(number: int, position: int) -> bool:
            return (
                position not in touched or position in self._unreachable or not self._must_go(slots[number], position)
            )

        kept = (tuple(h for h in before.holds[p] if stays(h[0], p)) if p >= 0 else () for p in self._origin)
        after = after._replace(holds=tuple(kept))
        for position in self._touched:
            for number, count in before.holds[position]:
                if slots[number] in leaving and not stays(number, position):
                    after = with_hold(after, LEAVING, number, count)
        return after

    def _go_one_by_one(self, slot: int, state: State) -> bool:
        """Whether the order in which the workload's pods are deleted can matter to its controller."""
        pod_types, number = self._before.pod_types, self._before.pod_types.slots[slot].workload
        workload = pod_types.revisions[number][-1]
        if workload.kind == "StatefulSet" and workload.pod_management != "Parallel":
            return True
        return workload.kind in ("StatefulSet", "Deployment") and self._has_several_revisions(number, state)

    def _are_replaced_in_turn(self, slot: int, state: State) -> bool:
        """Whether the order in which a workload's pods start to terminate can matter: no StatefulSet replaces them."""
        pod_types, number = self._before.pod_types, self._before.pod_types.slots[slot].workload
        return pod_types.kind(slot) == "Deployment" and self._has_several_revisions(number, state)

    def _has_several_revisions(self, number: int, state: State) -> bool:
        pod_types = self._before.pod_types
        counts = self._before.counts(state)
        present = (s for s in (*counts.bound, *counts.waiting) if pod_types.slots[s].workload == number)
        return len({pod_types.slots[s].revision for s in present}) > 1

    def _must_terminate(self, slot: int, position: int) -> bool:
        """Whether pods of a slot on a node that is unreachable (its position afterwards) have still to be deleted."""
        pod_types, model = self._after.pod_types, self._after.model
        if pod_types.ended[slot] or pod_types.kind(slot) == "DaemonSet":
            return False
        return self._change.evicts(model.pod(slot), model.index.names[position])

    def moves(self, state: State) -> Iterator[Move]:
        """Yield each deletion of a remaining pod of the lost nodes, before controllers create pods."""
        transitions = self._after
        for p in map(self._later.__getitem__, self._unreachable):
            for slot, _ in state.bound[p]:
                if self._must_terminate(slot, p):
                    ended = transitions.pod_types.stranded(slot, terminating=True)
                    before = transitions.remade(state, slot)
                    after = with_bound(with_bound(before, p, slot, -1), p, ended, 1)
                    yield Step("terminate", slot, p), after
        for slot, _ in state.leaving:
            before = transitions.remade(state, slot)
            for woken in transitions.woken(before, with_leaving(before, slot, -1), (slot,)):
                yield Step("lose" if self._change.lost else "taint", slot), woken


# --- A drain in progress: which pods of the nodes the eviction API allows to evict next -------------------------------


class Evictions:
    """The evictions that the eviction API allows from some nodes; pods of DaemonSets stay.

    kubectl evicts all pods at once and retries where a budget refuses, so a refused pod does not delay the others
    (evictPods of ``k8s.io/kubectl/pkg/drain/drain.go``). ``spared`` are workloads whose pods nobody evicts.
    """

    def __init__(
        self,
        transitions: Transitions,
        positions: Sequence[int],
        budgets: Sequence[DisruptionBudget],
        spared: Collection[int] = (),
    ) -> None:
        self._transitions = transitions
        self._positions = positions
        self._budgets = BudgetCounts(transitions, budgets)
        self._spared = spared
        self._stays: dict[int, bool] = {}
        """Slot → whether nobody evicts its pods."""
        self._leaving: dict[Held, tuple[int, ...]] = {}
        """Pods of a node → the slots of those that a drain evicts."""

    def moves(self, state: State) -> Iterator[Move]:
        """Yield every eviction that is possible next, before controllers create pods."""
        for position in self._positions:
            for slot in self.leaving(state, position):
                if self.is_allowed(slot, state):
                    yield from self._evicted(slot, position, state)

    def any_move(self, state: State, random: Random) -> Move | None:
        """Return a random eviction; None if there is none."""
        positions, refused = self._positions, set[int]()
        first = random.randrange(len(positions)) if positions else 0
        for number in range(len(positions)):
            position = positions[number - first]
            there = self._leaving_pods(state, position)
            if not there:
                continue
            random.shuffle(there)
            for slot in dict.fromkeys(there):
                if slot not in refused and self.is_allowed(slot, state):
                    step, after = random.choice(list(self._evicted(slot, position, state)))
                    return step, self._transitions.settle(after, slot)
                refused.add(slot)
        return None

    def _leaving_pods(self, state: State, position: int) -> list[int]:
        """Return the slot of each pod on a node that a drain evicts: many nodes hold the same, and most none soon."""
        held = state.bound[position]
        leaving = self._leaving.get(held)
        if leaving is None:
            slots = frozenset(self.leaving(state, position))
            leaving = self._leaving[held] = tuple(slot for slot, count in held if slot in slots for _ in range(count))
        return [*leaving]

    def leaving(self, state: State, position: int) -> Iterator[int]:
        """Yield the slots of the pods on a node that a drain evicts."""
        stays = self._stays
        for slot, _ in state.bound[position]:
            if (stays[slot] if slot in stays else self._does_stay(slot)) is False:
                yield slot

    def _does_stay(self, slot: int) -> bool:
        pod_types = self._transitions.pod_types
        stays = pod_types.kind(slot) == "DaemonSet" or pod_types.slots[slot].workload in self._spared
        self._stays[slot] = stays
        return stays

    def _evicted(self, slot: int, position: int, state: State) -> Iterator[Move]:
        before = self._transitions.remade(state, slot)
        after = with_bound(before, position, slot, -1)
        for woken in self._transitions.woken(before, after, (slot,)):
            yield Step("evict", slot, position), woken

    def is_allowed(self, slot: int, state: State) -> bool:
        """Whether a pod may be evicted: no budget selects it, or one that allows it; two budgets are an error."""
        ours = self._budgets.guards(slot)
        if len(ours) > 1:
            return False  # "This pod has more than one PodDisruptionBudget" (eviction.go)
        counts = [(b, *self._budgets.counted(b, state)) for b in ours]
        if self._transitions.pod_types.unready[slot] and all(lets_unready_go(b, *counted) for b, *counted in counts):
            return True
        return all(allowed_disruptions(b, *counted) > 0 for b, *counted in counts)


class Drain(Evictions):
    """The drain of one node, one pod at a time, in any order.

    It gives up when budgets protect all remaining pods and nothing else can move: kubectl tries again until then.
    """

    def moves(self, state: State) -> Iterator[Move]:
        if not state.draining:
            return
        evicted = False
        for move in super().moves(state):
            evicted = True
            yield move
        if not evicted:
            left = any(True for position in self._positions for _ in self.leaving(state, position))
            if not left or next(self._transitions.moves(state), None) is None:
                yield Step("give up" if left else "stop"), state._replace(draining=False)
