"""A drain in progress: which pods of the node the eviction API allows to evict next."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kubesched_lint.controllers.bounds import allowed_disruptions, covers, lets_unready_go
from kubesched_lint.lifecycle.states import State, Step, with_bound
from kubesched_lint.lifecycle.transitions import Move, Transitions
from kubesched_lint.model.policy import DisruptionBudget


class Drain:
    """A drain in progress: one pod at a time, in any order; it gives up when budgets protect all remaining pods.

    kubectl evicts all pods at once and retries where a budget refuses, so a refused pod does not delay the others
    (evictPods of ``k8s.io/kubectl/pkg/drain/drain.go``).
    """

    def __init__(self, transitions: Transitions, position: int, budgets: Sequence[DisruptionBudget]) -> None:
        self._transitions = transitions
        self._position = position
        self._budgets = budgets

    def moves(self, state: State) -> Iterator[Move]:
        if not state.draining:
            return
        pod_types = self._transitions.pod_types
        evicted = left = False
        for slot, _ in state.bound[self._position]:
            if pod_types.kind(slot) == "DaemonSet":
                continue
            left = True
            if not self._allowed(slot, state):
                continue
            evicted = True
            before = self._transitions.remade(state, slot)
            after = with_bound(before, self._position, slot, -1)
            for woken in self._transitions.woken(before, after, (slot,)):
                yield Step("evict", slot, self._position), self._transitions.settle(woken, slot)
        if not evicted:
            yield Step("give up" if left else "stop"), state._replace(draining=False)

    def _allowed(self, slot: int, state: State) -> bool:
        """Whether a pod may be evicted: no budget selects it, or one that allows it; two budgets are an error."""
        transitions = self._transitions
        pod = transitions.oracle.pod(slot)
        ours = [b for b in self._budgets if covers(b, pod.namespace, pod.labels)]
        if len(ours) > 1:
            return False  # "This pod has more than one PodDisruptionBudget" (eviction.go)
        counts = [(b, *self._counted(b, state)) for b in ours]
        if transitions.pod_types.unready[slot] and all(lets_unready_go(b, *here) for b, *here in counts):
            return True
        return all(allowed_disruptions(b, *here) > 0 for b, *here in counts)

    def _counted(self, budget: DisruptionBudget, state: State) -> tuple[int, int]:
        """Return (expected, healthy): numbers of pods that the budget selects in this state."""
        transitions, pod_types = self._transitions, self._transitions.pod_types
        counts = transitions.counts(state)
        healthy = total = 0
        owners = set()
        for which, numbers in enumerate(counts):
            for slot, count in numbers.items():
                pod = pod_types.pods[pod_types.slots[slot].workload][pod_types.slots[slot].revision]
                if covers(budget, pod.namespace, pod.labels):
                    healthy += count * (which == 0 and not pod_types.unready[slot])
                    total += count
                    owners.add(pod_types.slots[slot].workload)
        expected = total
        if not isinstance(budget.min_available, int):
            expected = sum(transitions.replicas_of(w) for w in transitions.desired_states if w.workload in owners)
        return expected, healthy
