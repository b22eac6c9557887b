"""The moves of seeded courses that often meet in the same state: what may follow from it is found once."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from random import Random

from kubesched_lint.hints import Any
from kubesched_lint.lifecycle.oracle import Oracle
from kubesched_lint.lifecycle.standing import Nothing
from kubesched_lint.lifecycle.states import DesiredState, State, Step
from kubesched_lint.lifecycle.transitions import Move, Transitions, Way


class KnownMoves(Transitions):
    """Transitions that remember. They need memory for each state, so they serve few workloads on few nodes."""

    def __init__(self, oracle: Oracle, desired_states: Iterable[DesiredState]) -> None:
        super().__init__(oracle, desired_states)
        self._found: dict[State, dict[Hashable, Any]] = {}
        """State → workload → the ways in which it may delete pods; other keys → the moves that were taken."""
        self._here: dict[Hashable, Any] = {}
        """Those of the state from which a move is drawn."""
        self._settled: dict[tuple[State, int], State] = {}

    def any_move(self, state: State, random: Random) -> Move | None:
        self._here = self._found.setdefault(state, {})
        return super().any_move(state, random)

    def _bound_to(self, state: State, slot: int, status: int, position: int, *, pinned: bool) -> Move:
        key = slot, status, position, pinned
        if key not in self._here:
            self._here[key] = super()._bound_to(state, slot, status, position, pinned=pinned)
        move: Move = self._here[key]
        return move

    def _idle(self, state: State) -> Nothing:
        return {} if self._here.keys() >= self._desired.keys() else super()._idle(state)

    def _some_ways(self, desired: DesiredState, state: State) -> Sequence[Way]:
        if desired.workload not in self._here:
            self._here[desired.workload] = super()._some_ways(desired, state)
        ways: Sequence[Way] = self._here[desired.workload]
        return ways

    def _deleted(self, state: State, way: Way) -> tuple[Step, Sequence[State]]:
        if way not in self._here:
            self._here[way] = super()._deleted(state, way)
        found: tuple[Step, Sequence[State]] = self._here[way]
        return found

    def settle(self, state: State, slot: int = -1) -> State:
        key = state, slot
        if key not in self._settled:
            self._settled[key] = super().settle(state, slot)
        return self._settled[key]
