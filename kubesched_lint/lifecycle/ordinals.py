"""The pods of a StatefulSet in a State, by ordinal."""

from __future__ import annotations

from kubesched_lint.controllers.statefulset import OrdinalPod
from kubesched_lint.lifecycle.states import PodTypes, State, Step, with_bound, with_leaving, with_waiting


def members(pod_types: PodTypes, workload: int, state: State) -> dict[int, OrdinalPod]:
    """Return ordinal → pod of a StatefulSet."""
    found = {}
    for held in (*state.bound, state.leaving):
        for slot, _ in held:
            owner, revision, ordinal = pod_types.slots[slot]
            if owner == workload:
                found[ordinal] = OrdinalPod(revision, not pod_types.unready[slot])
    for slot, _, _ in state.waiting:
        owner, revision, ordinal = pod_types.slots[slot]
        if owner == workload:
            found[ordinal] = OrdinalPod(revision, False)
    return found


def without(pod_types: PodTypes, workload: int, ordinal: int, state: State) -> tuple[Step, State, tuple[int, ...]]:
    """Return the deletion of one pod: ``(step, state after, slots of the deleted bound pods)``."""

    def is_it(slot: int) -> bool:
        return pod_types.slots[slot].workload == workload and pod_types.slots[slot].ordinal == ordinal

    for position, held in enumerate(state.bound):
        for slot, _ in held:
            if is_it(slot):
                return Step("delete", slot, position), with_bound(state, position, slot, -1), (slot,)
    for slot, _ in state.leaving:
        if is_it(slot):
            return Step("delete", slot), with_leaving(state, slot, -1), (slot,)
    slot, status, _ = next(q for q in state.waiting if is_it(q[0]))
    return Step("delete", slot), with_waiting(state, slot, status, -1), ()
