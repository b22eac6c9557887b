"""The moves of seeded courses that often meet in the same state: what may follow from it is found once."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import TYPE_CHECKING, Any

from kubesched_lint.engine.events.states.pods_by_node import Nothing
from kubesched_lint.engine.events.states.states import DesiredState, State
from kubesched_lint.engine.events.transitions.placement_model import PlacementModel
from kubesched_lint.engine.events.transitions.transitions import Move, Transitions, Way

if TYPE_CHECKING:
    from random import Random


class KnownMoves(Transitions):
    """Transitions that remember. They need memory for each state, so they serve few workloads on few nodes."""

    def __init__(self, model: PlacementModel, desired_states: Iterable[DesiredState]) -> None:
        super().__init__(model, desired_states)
        self._found: dict[State, dict[Hashable, Any]] = {}
        """State → workload → whether it may delete pods; other keys → the moves that were taken."""
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

    def _any_way(self, desired: DesiredState, state: State, random: Random) -> Way | None:
        if self._here.get(desired.workload) is False:
            return None
        way = super()._any_way(desired, state, random)
        self._here[desired.workload] = way is not None
        return way

    def settle(self, state: State, slot: int = -1) -> State:
        key = state, slot
        if key not in self._settled:
            self._settled[key] = super().settle(state, slot)
        return self._settled[key]
