"""What PodDisruptionBudgets allow in one state: the eviction API asks them, and preemption ranks nodes by them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

from kubesched_lint.engine.base.identity import Itself
from kubesched_lint.engine.controllers.bounds import allowed_disruptions, covers
from kubesched_lint.engine.events.states.states import DesiredState, PodCounts, PodTypes, State
from kubesched_lint.engine.events.transitions.placement_model import PlacementModel
from kubesched_lint.engine.model.policy import DisruptionBudget


class Phase(Protocol):
    """What ``transitions.Transitions`` knows of a phase."""

    model: PlacementModel
    pod_types: PodTypes
    desired_states: tuple[DesiredState, ...]

    def counts(self, state: State) -> PodCounts: ...

    def replicas_of(self, desired: DesiredState) -> int: ...


class BudgetCounts:
    """Budgets that select no pod of a phase take no room: a set may have thousands of them, and many phases."""

    def __init__(self, transitions: Phase, budgets: Sequence[DisruptionBudget]) -> None:
        self._transitions = transitions
        self.budgets = budgets
        self._guards, self._guarded = transitions.pod_types.guards.setdefault(Itself(budgets), ([], {}))

    def guards(self, slot: int) -> tuple[DisruptionBudget, ...]:
        """Return the budgets that select the pods of a slot."""
        self._learn()
        return self._guards[slot] if self.budgets else ()

    def counted(self, budget: DisruptionBudget, state: State) -> tuple[int, int]:
        """Return (expected, healthy): numbers of pods that the budget selects in this state."""
        self._learn()
        return self._counted(budget, self._guarded.get(budget, ()), self._transitions.counts(state))

    def allowed(self, state: State) -> Iterator[tuple[DisruptionBudget, int]]:
        """Yield each budget that selects pods, with the number of them that may be evicted in this state."""
        self._learn()
        counts = self._transitions.counts(state)
        for budget, slots in self._guarded.items():
            yield budget, allowed_disruptions(budget, *self._counted(budget, slots, counts))

    def _counted(self, budget: DisruptionBudget, slots: Iterable[int], counts: PodCounts) -> tuple[int, int]:
        transitions, pod_types = self._transitions, self._transitions.pod_types
        bound, waiting = counts
        total, healthy, owners = 0, 0, set[int]()
        for slot in slots:
            have = bound.get(slot, 0)
            pods = have + waiting.get(slot, 0)
            if pods:
                total += pods
                healthy += 0 if pod_types.unready[slot] else have
                owners.add(pod_types.slots[slot].workload)
        ours = (w for w in transitions.desired_states if w.workload in owners)
        return budget.expected(total, ((w.spec.kind, transitions.replicas_of(w)) for w in ours)), healthy

    def _learn(self) -> None:
        """Find the budgets of the slots that are new since the last question."""
        every = len(self._transitions.pod_types.slots) if self.budgets else 0
        for slot in range(len(self._guards), every):
            pod = self._transitions.model.pod(slot)
            guards = tuple(b for b in self.budgets if covers(b, pod.namespace, pod.labels))
            self._guards.append(guards)
            for budget in guards:
                self._guarded.setdefault(budget, []).append(slot)
