"""What PodDisruptionBudgets allow in one state: the eviction API asks them, and preemption ranks nodes by them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from kubesched_lint.controllers.bounds import allowed_disruptions, covers
from kubesched_lint.lifecycle.oracle import Oracle
from kubesched_lint.lifecycle.states import DesiredState, PodCounts, PodTypes, State
from kubesched_lint.model.policy import DisruptionBudget


class Phase(Protocol):
    """What ``transitions.Transitions`` knows of a phase."""

    oracle: Oracle
    pod_types: PodTypes
    desired_states: tuple[DesiredState, ...]

    def counts(self, state: State) -> PodCounts: ...

    def replicas_of(self, desired: DesiredState) -> int: ...


class BudgetCounts:
    def __init__(self, transitions: Phase, budgets: Sequence[DisruptionBudget]) -> None:
        self._transitions = transitions
        self.budgets = budgets
        self._guards: dict[int, tuple[DisruptionBudget, ...]] = {}
        """Slot → the budgets that select its pods."""
        self._guarded: dict[DisruptionBudget, tuple[int, list[int]]] = {}
        """A budget → the slots that it selects among the first ones, and how many those are."""

    def guards(self, slot: int) -> tuple[DisruptionBudget, ...]:
        """Return the budgets that select the pods of a slot."""
        found = self._guards.get(slot)
        if found is None:
            pod = self._transitions.oracle.pod(slot)
            found = self._guards[slot] = tuple(b for b in self.budgets if covers(b, pod.namespace, pod.labels))
        return found

    def counted(self, budget: DisruptionBudget, state: State) -> tuple[int, int]:
        """Return (expected, healthy): numbers of pods that the budget selects in this state."""
        transitions, pod_types = self._transitions, self._transitions.pod_types
        bound, waiting = transitions.counts(state)
        slots = self._slots_of(budget)
        healthy = sum(bound.get(slot, 0) for slot in slots if not pod_types.unready[slot])
        total = sum(bound.get(slot, 0) + waiting.get(slot, 0) for slot in slots)
        owners = {pod_types.slots[slot].workload for slot in slots if slot in bound or slot in waiting}
        ours = (w for w in transitions.desired_states if w.workload in owners)
        return budget.expected(total, ((w.spec.kind, transitions.replicas_of(w)) for w in ours)), healthy

    def allowed(self, state: State) -> Iterator[tuple[DisruptionBudget, int]]:
        """Yield each budget with the number of its pods that may be evicted in this state."""
        for budget in self.budgets:
            yield budget, allowed_disruptions(budget, *self.counted(budget, state))

    def _slots_of(self, budget: DisruptionBudget) -> list[int]:
        known, found = self._guarded.get(budget, (0, list[int]()))
        every = len(self._transitions.pod_types.slots)
        if known < every:
            found += [slot for slot in range(known, every) if budget in self.guards(slot)]
            self._guarded[budget] = every, found
        return found
