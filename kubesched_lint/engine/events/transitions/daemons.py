"""The moves of one DaemonSet: its controller's syncs, applied to states."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from kubesched_lint.engine.cluster.nodes.index import NodeIndex
from kubesched_lint.engine.cluster.nodeset import EMPTY, NodeSet, positions
from kubesched_lint.engine.controllers import daemonset
from kubesched_lint.engine.controllers.bounds import daemon_bounds
from kubesched_lint.engine.events.states.pods_by_node import differing
from kubesched_lint.engine.events.states.states import (
    FRESH,
    DesiredState,
    Held,
    PodTypes,
    Queue,
    State,
    Step,
    empty,
    with_bound,
    with_each_pinned,
    with_pinned,
)
from kubesched_lint.engine.events.states.symmetry import Symmetry

Change = tuple[Step, State, tuple[int, ...]]
"""(the step, the state after it, the slots of the deleted bound pods)."""
_NOBODY = daemonset.OnNode()


class Excess(NamedTuple):
    """A pod on a node with too many; ``status`` is None if it is bound."""

    position: int
    slot: int
    status: int | None


Option = int | Excess | tuple[tuple[int, str], ...]
"""One node that the controller may choose, or (position, which pod) for all pods that it is sure to delete."""


def synced(pod_types: PodTypes, state: State, slot: int) -> State:
    """Return the state after the sync that an event of a DaemonSet's pod triggers: waiting pods of lost nodes go."""
    return without_orphans(pod_types, state, pod_types.slots[slot].workload) if state.orphans else state


def without_orphans(pod_types: PodTypes, state: State, number: int) -> State:
    """Return the state without a workload's waiting pods of lost nodes (getUnscheduledPodsWithoutNode)."""
    return state._replace(orphans=tuple(q for q in state.orphans if pod_types.slots[q[0]].workload != number))


class Daemons:
    """One DaemonSet on one set of nodes: results depend on the arguments only, inside it is mutable."""

    def __init__(
        self,
        pod_types: PodTypes,
        index: NodeIndex,
        symmetry: Symmetry,
        desired: DesiredState,
        unreachable: NodeSet = EMPTY,
    ) -> None:
        """On nodes that are ``unreachable``, pods stay, and none is wanted."""
        self._pod_types = pod_types
        self._symmetry = symmetry
        self.desired = desired
        self._slot = pod_types.slot(desired.workload, desired.revision, unready=desired.unready)
        run, self._stay = daemonset.targets(pod_types.pods[desired.workload][desired.revision], index)
        self.run = run & ~unreachable
        self._shown = empty(len(index))
        self._pods = [_NOBODY] * len(index)
        """Per node: the pods of the DaemonSet."""
        self._found: dict[daemonset.OnNode, NodeSet] = {_NOBODY: self.run}

    def created(self, state: State) -> State:
        """Return the state with the pods that a sync is sure to create."""
        strategy = self.desired.spec.strategy
        nodes = self._nodes(state)
        create = daemonset.manage(nodes, self.run, self._stay, strategy).create
        create += daemonset.update(nodes, self.run, strategy)[0].create
        return with_each_pinned(state, create, self._slot) if create else state

    def options(self, state: State) -> Iterator[Option]:
        """Yield every other change that a sync may make: the pods that are sure to go, then each candidate alone.

        Before all these, of too many pods on a node all but the oldest go; their ages are unknown.
        """
        strategy = self.desired.spec.strategy
        nodes = self._nodes(state)
        crowded = daemonset.excess(nodes, self._stay, strategy)
        if crowded:
            for position in self._symmetry.distinct(state, positions(crowded)):
                yield from self._excess(state, position)
            return
        sure, candidates, most = daemonset.update(nodes, self.run, strategy)
        doomed = dict.fromkeys((*daemonset.manage(nodes, self.run, self._stay, strategy).delete, *sure.delete))
        if doomed:
            yield tuple(doomed)
        if most:
            yield from self._symmetry.distinct(state, positions(candidates))

    def deleted(self, state: State, option: Option) -> Change:
        """Return the change that one option makes."""
        after, gone = state, tuple[int, ...]()
        if isinstance(option, Excess):
            step = Step("delete", option.slot, option.position)
            if option.status is None:
                after, gone = with_bound(state, option.position, option.slot, -1), (option.slot,)
            else:
                after = with_pinned(state, option.position, option.slot, option.status, -1)
        elif not isinstance(option, int):
            step = Step("delete", self._slot)
            for position, which in option:
                after, gone = self._without(position, which, after, gone)
        elif daemon_bounds(self.desired.spec.strategy, self.run.bit_count())[0]:
            step = Step("surge", self._slot, option)
            after = with_pinned(state, option, self._slot, FRESH, 1)
        else:
            step = Step("delete", self._slot, option)
            after, gone = self._without(option, "old", state, gone)
        return step, synced(self._pod_types, after, self._slot), gone

    def _excess(self, state: State, position: int) -> Iterator[Excess]:
        """Yield each pod that may go from a node with too many: one that waits, as long as another one is bound."""
        surges = bool(daemon_bounds(self.desired.spec.strategy, self.run.bit_count())[0])
        own = self._pod_types.slots_of[self.desired.workload]
        for is_new in (False, True) if surges else (None,):
            slots = {s for s in own if is_new in (None, self._pod_types.slots[s].revision == self.desired.revision)}
            bound = [(slot, count) for slot, count in state.bound[position] if slot in slots]
            waiting = [(slot, status, count) for slot, status, count in state.pinned[position] if slot in slots]
            if sum(count for _, count in bound) + sum(count for _, _, count in waiting) < 2:
                continue
            yield from (Excess(position, slot, status) for slot, status, _ in waiting)
            if not waiting:
                yield from (Excess(position, slot, None) for slot, _ in bound)

    def _nodes(self, state: State) -> daemonset.Nodes:
        """Return the pods by node of the state, updated by the difference from the last state."""
        before, nodes = self._shown, self._found
        for position in {*differing(before.bound, state.bound), *differing(before.pinned, state.pinned)}:
            on_node = self._on_node(state.bound[position], state.pinned[position])
            there, node = self._pods[position], 1 << position
            if on_node != there:
                self._pods[position] = on_node
                nodes[there] = nodes.get(there, EMPTY) & ~node
                if on_node != _NOBODY or self.run & node:
                    nodes[on_node] = nodes.get(on_node, EMPTY) | node
        self._shown = state
        return nodes

    def _on_node(self, held: Held, queue: Queue) -> daemonset.OnNode:
        """Return the pods on one node; an unready pod counts as waiting, because both are unavailable."""
        slots, unready, workload = self._pod_types.slots, self._pod_types.unready, self.desired.workload
        own = [(slot, count, not unready[slot]) for slot, count in held if slots[slot].workload == workload]
        own += [(slot, count, False) for slot, _, count in queue if slots[slot].workload == workload]
        if not own:
            return _NOBODY
        old = new = old_waiting = new_waiting = 0
        for slot, count, runs in own:
            if slots[slot].revision == self.desired.revision:
                new, new_waiting = new + count * runs, new_waiting + count * (not runs)
            else:
                old, old_waiting = old + count * runs, old_waiting + count * (not runs)
        return daemonset.OnNode(old, old_waiting, new, new_waiting)

    def _without(self, position: int, which: str, state: State, gone: tuple[int, ...]) -> tuple[State, tuple[int, ...]]:
        for slot, count in state.bound[position]:
            if self._goes(slot, which):
                state = with_bound(state, position, slot, -count)
                gone = (*gone, slot)
        for slot, status, count in state.pinned[position]:
            if self._goes(slot, which):
                state = with_pinned(state, position, slot, status, -count)
        return state, gone

    def _goes(self, slot: int, which: str) -> bool:
        owner, revision, _ = self._pod_types.slots[slot]
        return owner == self.desired.workload and (which == "all" or revision != self.desired.revision)
