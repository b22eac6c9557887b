"""The outcome of a final state for a workload, in numbers of pods, and ranges over many states."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from kubesched_lint.lifecycle.states import DesiredState, State
from kubesched_lint.lifecycle.transitions import Transitions


class EventOutcome(NamedTuple):
    """Numbers of pods. Pods of every revision, surge included, count as bound or pending."""

    bound: int
    pending: int
    new: int
    """Pods of the newest revision, bound or not."""
    old: int
    wanted: int
    unready: int = 0
    """Bound pods that never become ready."""

    @property
    def ready(self) -> int:
        return self.bound - self.unready

    @property
    def created(self) -> int:
        return self.bound + self.pending

    @property
    def complete(self) -> bool:
        """Whether all replicas are of the new revision and available, and no pod is old."""
        return self.old == 0 and self.pending == 0 and self.new == self.ready == self.wanted


class Range(NamedTuple):
    """Least and most pods, and their source: closed-form, search or bound."""

    least: int
    most: int
    by: str

    @property
    def is_single(self) -> bool:
        return self.least == self.most

    def __str__(self) -> str:
        return str(self.least) if self.is_single else f"{self.least}–{self.most}"


def outcome(transitions: Transitions, desired: DesiredState, state: State) -> EventOutcome:
    pod_types = transitions.pod_types
    standing, waiting = transitions.counts(state)
    bound = pending = new = unready = 0
    for slot in pod_types.slots_of.get(desired.workload, ()):
        here, there = standing.get(slot, 0), waiting.get(slot, 0)
        bound += here
        pending += there
        unready += here * pod_types.unready[slot]
        new += (here + there) * (pod_types.slots[slot].revision == desired.revision)
    return EventOutcome(bound, pending, new, bound + pending - new, transitions.replicas_of(desired), unready)


def outcomes(transitions: Transitions, states: Iterable[State]) -> list[dict[int, EventOutcome]]:
    """Return, per state, number of a workload → its outcome, without duplicates."""
    found: dict[tuple[EventOutcome, ...], None] = {}
    for state in states:
        found[tuple(outcome(transitions, desired, state) for desired in transitions.desired_states)] = None
    return [{w.workload: o for w, o in zip(transitions.desired_states, each, strict=True)} for each in found]
