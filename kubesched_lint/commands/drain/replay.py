"""Play waves of a drain in the lifecycle model, and tell good ends from bad ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from typing import NamedTuple

from msgspec import Struct

from kubesched_lint.commands.drain.nodes import replacement
from kubesched_lint.engine.base.steps import at
from kubesched_lint.engine.events.search.events import Phase, Timeline
from kubesched_lint.engine.events.search.node_events import evict, join, lose, uncordon
from kubesched_lint.engine.events.states.states import State
from kubesched_lint.engine.model.nodes.node import Node

Wave = tuple[str, ...]
Waves = tuple[Wave, ...]


class Rules(Struct, frozen=True):
    """How nodes are drained, as the user says."""

    surge: int = 0
    """Nodes that join before their wave. Then every drained node is replaced by a new one."""
    remove: bool = False
    """Drained nodes do not come back."""
    force: bool = False
    """Bare pods are deleted too, as with ``kubectl drain --force``."""
    at_once: int = 0
    """The most nodes of a wave; 0: any number."""


class Played(NamedTuple):
    """The ends of a wave, and the timeline that goes on from the good ones, with the nodes back or replaced."""

    timeline: Timeline
    drain: Timeline
    """The timeline at the end of the drain, before the nodes come back."""
    good: tuple[State, ...]
    bad: tuple[State, ...]
    is_sound: bool
    """Whether these are all ends, over every order of events."""

    @property
    def phase(self) -> Phase:
        return self.drain.phases[-1]

    @property
    def always_ends_well(self) -> bool:
        """Whether there is an end, and every known one is good."""
        return bool(self.good) and not self.bad

    @property
    def never_ends_well(self) -> bool:
        return self.is_sound and not self.good


class Replay:
    """Timelines of one kind (any scheduler, the default scheduler, or random traces), one for each series of waves."""

    def __init__(self, begin: Callable[[], Timeline], rules: Rules) -> None:
        self.rules = rules
        self.start = begin()
        self.least_bound = _least_bound(self.start)
        """Number of a workload → its pods that have a node before anything is drained; DaemonSets are left out."""
        self._played: dict[Waves, Played] = {}
        self._refused: set[Waves] = set()
        """The waves that were played up to their first bad end only."""

    @property
    def spared(self) -> frozenset[int]:
        """The workloads whose pods nobody evicts: bare pods, unless forced."""
        if self.rules.force:
            return frozenset()
        return frozenset(n for n, desired in self.start.desired_states.items() if desired.spec.kind == "Pod")

    def play(self, waves: Waves) -> Played:
        """Return the result of the last wave; it starts from the good ends of those before."""
        if waves not in self._played or waves in self._refused:
            self._played[waves] = self._play(waves)
            self._refused.discard(waves)
        return self._played[waves]

    def tried(self, waves: Waves) -> Played:
        """Return the result of the last wave; where traces are followed, those after the first bad end are left out."""
        if waves not in self._played:
            played = self._played[waves] = self._play(waves, up_to_bad=True)
            if played.bad and played.timeline.runs:
                self._refused.add(waves)
        return self._played[waves]

    def longest_failed(self) -> list[Waves]:
        """Return the played plans that drain the most nodes of those whose last wave never ends well."""
        by_size: dict[int, list[Waves]] = {}
        for waves, played in self._played.items():
            if played.bad:
                by_size.setdefault(sum(map(len, waves)), []).append(waves)
        each = ([waves for waves in by_size[size] if not self.play(waves).good] for size in sorted(by_size)[::-1])
        return next(filter(None, each), [])

    def _play(self, waves: Waves, *, up_to_bad: bool = False) -> Played:
        at(f"wave {len(waves)}")
        before, wave = self.play(waves[:-1]).timeline if len(waves) > 1 else self.start, waves[-1]
        timeline = before.fork()
        old = {node.name: node for node in timeline.nodes if node.name in wave}
        new = [replacement(old[name]) for name in wave]
        if self.rules.surge:
            join(timeline, new[: self.rules.surge])
        is_good = Judge(timeline, wave, self.least_bound).is_good
        if up_to_bad:
            timeline.is_last = lambda state: not is_good(state)
        evict(timeline, wave, self.spared)
        timeline.is_last = before.is_last
        drain = copy(timeline)
        drain.phases = list(timeline.phases)
        good = tuple(state for state in timeline.states if is_good(state))
        bad = tuple(state for state in timeline.states if not is_good(state))
        timeline.states = good
        is_sound, timeline.sound = timeline.sound, True
        if good:
            self._go_on(timeline, wave, new)
        return Played(timeline, drain, good, bad, is_sound and not timeline.runs)

    def _go_on(self, timeline: Timeline, wave: Wave, new: Sequence[Node]) -> None:
        if self.rules.remove or self.rules.surge:
            lose(timeline, wave)
        else:
            uncordon(timeline, wave)
        if self.rules.surge and len(new) > self.rules.surge:
            join(timeline, new[self.rules.surge :])


class Judge:
    """Good ends of a drain: its nodes are empty, and each workload has as many pods on nodes as before."""

    def __init__(self, timeline: Timeline, wave: Wave, least_bound: Mapping[int, int]) -> None:
        self._timeline = timeline
        self._least = least_bound
        self._positions = [p for p, node in enumerate(timeline.nodes) if node.name in wave]

    def is_good(self, state: State) -> bool:
        return not self.left(state) and not self.lacking(state)

    def left(self, state: State) -> list[tuple[int, int]]:
        """Return (slot, position) of the pods that are still on the nodes."""
        kind = self._timeline.pod_types.kind
        return [(slot, p) for p in self._positions for slot, _ in state.bound[p] if kind(slot) != "DaemonSet"]

    def lacking(self, state: State) -> dict[int, int]:
        """Return number of a workload → how many more of its pods have no node than at the start."""
        bound_pods = self._timeline.pod_types.bound_by_workload(state)
        return {n: least - bound_pods.get(n, 0) for n, least in self._least.items() if bound_pods.get(n, 0) < least}


def _least_bound(timeline: Timeline) -> dict[int, int]:
    """Return the fewest pods with a node over the timeline's states, by workload that makes lost pods again.

    A timeline that takes too many steps to be followed has no state.
    """
    every = [timeline.pod_types.bound_by_workload(state) for state in timeline.states]
    staying = [n for n, desired in timeline.desired_states.items() if desired.spec.kind not in ("DaemonSet", "Pod")]
    return {number: min((bound_pods.get(number, 0) for bound_pods in every), default=0) for number in staying}
