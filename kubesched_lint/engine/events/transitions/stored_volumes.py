"""The claims and volumes of one state after another: most have those of the state before, and one volume more."""

from __future__ import annotations

from kubesched_lint.engine.base import work
from kubesched_lint.engine.cluster.storage.storage import Storage
from kubesched_lint.engine.controllers.statefulset import claims_of
from kubesched_lint.engine.events.states.states import PodTypes, State
from kubesched_lint.engine.model.storage import Claim
from kubesched_lint.engine.scheduler.binding import bound_claim

_NONE: frozenset[tuple[str, str, int]] = frozenset()


class StoredVolumes:
    """What a cluster stores when a state is shown, beside what it has ``before`` anything is made."""

    def __init__(self, pod_types: PodTypes, before: Storage) -> None:
        self._pod_types = pod_types
        self._before = self._unbound = before
        """What is there, and the same with the claims of the first ``_slots`` slots."""
        self._slots = 0
        self._claims: dict[tuple[str, str], Claim] = {}
        """Claims of these slots that are not there before."""
        self._last = _NONE, before
        """The volumes of the last state, and the storage with them."""
        self._bound: dict[tuple[Claim, int], Claim] = {}
        """(claim, volume) → the claim, bound to the volume; thousands of states ask for the same ones."""

    def of(self, state: State) -> Storage:
        """Return the storage of a state."""
        self._claim()
        there, storage = self._last
        wanted = frozenset(state.volumes)
        if not there <= wanted:
            there, storage = _NONE, self._unbound
        if there != wanted:
            fresh = [volume for volume in state.volumes if volume not in there]
            work.spend((len(storage.claims) + len(storage.volumes)) // 8 + 2 * len(fresh))  # all of them are copied
            bound = [self._claim_of(storage.claims[namespace, name], n) for namespace, name, n in fresh]
            storage = storage.with_objects(bound, [self._pod_types.volumes[n] for _, _, n in fresh])
        self._last = wanted, storage
        return storage

    def _claim(self) -> None:
        """Add the claims of the slots that came since."""
        slots = self._pod_types.slots
        if self._slots == len(slots):
            return
        known = self._pod_types.claims_of_slots
        for slot in range(self._slots, len(slots)):
            workload, revision, ordinal = slots[slot]
            if slot not in known:
                made = claims_of(self._pod_types.revisions[workload][revision], ordinal) if ordinal >= 0 else ()
                known[slot] = made
            claims_by_name = (((claim.namespace, claim.name), claim) for claim in known[slot])
            self._claims.update((key, claim) for key, claim in claims_by_name if key not in self._before.claims)
        self._slots = len(slots)
        self._unbound = self._before.with_objects(claims=self._claims.values()) if self._claims else self._before
        self._last = _NONE, self._unbound

    def _claim_of(self, claim: Claim, volume: int) -> Claim:
        if (claim, volume) not in self._bound:
            self._bound[claim, volume] = bound_claim(claim, self._pod_types.volumes[volume])
        return self._bound[claim, volume]
