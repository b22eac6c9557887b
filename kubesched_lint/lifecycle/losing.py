"""The loss of nodes and their pods: pods go all at once if the order does not matter, else one after another.

The pods of a lost node are deleted one by one, in any order, and controllers act in between
(``pkg/controller/podgc/gc_controller.go``, gcOrphaned). A StatefulSet that loses its second pod first has two waiting
pods in the end, else one. A Deployment in a rollout depends on the number of available pods.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kubesched_lint.lifecycle.hints import wakes_on_delete, wakes_on_node_change
from kubesched_lint.lifecycle.states import State, Step, queued, with_leaving
from kubesched_lint.lifecycle.transitions import Move, Transitions, overlooked
from kubesched_lint.model.pod import Pod


class Loss:
    """The loss of all nodes except the ``kept`` positions of ``before``; ``after`` has only the kept nodes."""

    def __init__(self, before: Transitions, after: Transitions, kept: Sequence[int]) -> None:
        self._before = before
        self._after = after
        self._kept = kept
        nodes = range(len(before.oracle.index))
        self._lost = sorted(set(nodes).difference(kept))

    def enter(self, state: State) -> Iterator[State]:
        """Yield the states after the loss; DaemonSet pods that wait for a lost node stay until the next sync."""
        transitions, oracle, later = self._before, self._before.oracle, self._after.oracle
        here = [held for p in self._lost for held in state.bound[p]]
        leaving = frozenset(slot for slot, _ in here if self._go_one_by_one(slot, state))
        gone = [(slot, count) for slot, count in here if slot not in leaving]
        pods = [oracle.pod(slot) for slot, _ in gone]
        labels = [oracle.index.nodes[p].labels for p in self._lost]

        def wakes(pod: Pod, by: frozenset[str]) -> bool:
            return any(wakes_on_delete(pod, by, g, oracle.cluster) for g in pods) or any(
                wakes_on_node_change(pod, by, keys) for keys in labels
            )

        after = self._without_nodes(state)
        for slot, count in here:
            after = with_leaving(after, slot, count) if slot in leaving else transitions.remade(after, slot, count)
            after = after if slot in leaving else transitions.synced(after, slot)
        after = transitions.looked_at(state, after, wakes)
        if later.may_miss():
            yield from overlooked(oracle, state, later, after, wakes, self._kept)
        else:
            yield after

    def _without_nodes(self, state: State) -> State:
        orphans = state.orphans
        for p in self._lost:
            for slot, status, count in state.pinned[p]:
                orphans = queued(orphans, slot, status, count)
        return state._replace(
            bound=tuple(state.bound[p] for p in self._kept),
            pinned=tuple(state.pinned[p] for p in self._kept),
            orphans=orphans,
        )

    def _go_one_by_one(self, slot: int, state: State) -> bool:
        """Whether the order in which the workload's pods are deleted can matter to its controller."""
        pod_types, number = self._before.pod_types, self._before.pod_types.slots[slot].workload
        workload = pod_types.revisions[number][-1]
        if workload.kind == "StatefulSet" and workload.pod_management != "Parallel":
            return True
        if workload.kind not in ("StatefulSet", "Deployment"):
            return False
        counts = self._before.counts(state)
        present = (s for s in (*counts.bound, *counts.waiting) if pod_types.slots[s].workload == number)
        return len({pod_types.slots[s].revision for s in present}) > 1

    def moves(self, state: State) -> Iterator[Move]:
        """Yield each deletion of a remaining pod of the lost nodes."""
        transitions = self._after
        for slot, _ in state.leaving:
            before = transitions.remade(state, slot)
            for woken in transitions.woken(before, with_leaving(before, slot, -1), (slot,)):
                yield Step("lose", slot), transitions.settle(woken, slot)
