"""The moves of one DaemonSet: its controller's syncs, applied to states."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.controllers import daemonset
from kubesched_lint.controllers.bounds import daemon_bounds
from kubesched_lint.lifecycle.stage import Stage
from kubesched_lint.lifecycle.world import FRESH, Cast, State, Step, Wish, with_bound, with_pinned

Change = tuple[Step, State, tuple[int, ...]]
"""What happened, the state after, and the slots of the bound pods that went."""


def synced(cast: Cast, state: State, slot: int) -> State:
    """An event of a DaemonSet's pod makes its controller look: waiting pods of lost nodes go."""
    if not state.orphans:
        return state
    workload = cast.slots[slot].workload
    return state._replace(orphans=tuple(q for q in state.orphans if cast.slots[q[0]].workload != workload))


class Daemons:
    """One DaemonSet on one set of nodes."""

    def __init__(self, stage: Stage, wish: Wish) -> None:
        self._stage = stage
        self._cast = stage.cast
        self._wish = wish
        self._slot = stage.cast.slot(wish.workload, wish.revision, unready=wish.unready)
        self.run, self._stay = daemonset.targets(self._cast.pods[wish.workload][wish.revision], stage.index)

    def created(self, state: State) -> State:
        """The state after the pods that a sync surely creates."""
        strategy = self._wish.spec.strategy
        nodes = self._nodes(state)
        create = daemonset.manage(nodes, self.run, self._stay, strategy).create
        create += daemonset.update(nodes, self.run, strategy)[0].create
        for position in create:
            state = with_pinned(state, position, self._slot, FRESH, 1)
        return state

    def deletions(self, state: State) -> Iterator[Change]:
        """Everything else that a sync may do: what it surely deletes, then one of its candidates at a time."""
        strategy = self._wish.spec.strategy
        nodes = self._nodes(state)
        sure, candidates, most = daemonset.update(nodes, self.run, strategy)
        nobody: tuple[int, ...] = ()
        doomed = dict.fromkeys((*daemonset.manage(nodes, self.run, self._stay, strategy).delete, *sure.delete))
        if doomed:
            after, gone = state, nobody
            for position, which in doomed:
                after, gone = self._without(position, which, after, gone)
            yield Step("delete", self._slot), synced(self._cast, after, self._slot), gone
        if not most:
            return
        surging = bool(daemon_bounds(strategy, self.run.bit_count())[0])
        for position in self._stage.symmetry.distinct(state, candidates):
            if surging:
                after, gone = with_pinned(state, position, self._slot, FRESH, 1), nobody
            else:
                after, gone = self._without(position, "old", state, nobody)
            step = Step("surge" if surging else "delete", self._slot, position)
            yield step, synced(self._cast, after, self._slot), gone

    def _nodes(self, state: State) -> dict[int, daemonset.OnNode]:
        found = {}
        for position in range(len(self._stage.index)):
            old = new = old_waiting = new_waiting = 0
            for slot, count in state.bound[position]:
                owner, revision, _ = self._cast.slots[slot]
                if owner == self._wish.workload and not self._cast.unready[slot]:
                    new, old = (new + count, old) if revision == self._wish.revision else (new, old + count)
            # To the controller a pod that runs and is not ready is as unavailable as one that waits.
            unready = [(slot, count) for slot, count in state.bound[position] if self._cast.unready[slot]]
            for slot, count in (*unready, *((s, n) for s, _, n in state.pinned[position])):
                owner, revision, _ = self._cast.slots[slot]
                if owner == self._wish.workload:
                    if revision == self._wish.revision:
                        new_waiting += count
                    else:
                        old_waiting += count
            if self.run >> position & 1 or old or old_waiting or new or new_waiting:
                found[position] = daemonset.OnNode(old, old_waiting, new, new_waiting)
        return found

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
        owner, revision, _ = self._cast.slots[slot]
        return owner == self._wish.workload and (which == "all" or revision != self._wish.revision)
