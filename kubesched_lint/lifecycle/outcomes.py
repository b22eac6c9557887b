"""The outcome of a final state for a workload, in numbers of pods, and ranges over many states."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from kubesched_lint.lifecycle.motion import Motion
from kubesched_lint.lifecycle.world import State, Wish


class Outcome(NamedTuple):
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


def outcome(motion: Motion, wish: Wish, state: State) -> Outcome:
    cast = motion.cast
    standing, waiting = motion.counts(state)
    bound = pending = new = unready = 0
    for slot in cast.slots_of.get(wish.workload, ()):
        here, there = standing.get(slot, 0), waiting.get(slot, 0)
        bound += here
        pending += there
        unready += here * cast.unready[slot]
        new += (here + there) * (cast.slots[slot].revision == wish.revision)
    return Outcome(bound, pending, new, bound + pending - new, motion.desired(wish), unready)


def outcomes(motion: Motion, states: Iterable[State]) -> list[dict[int, Outcome]]:
    """Return, per state, number of a workload → its outcome, without duplicates."""
    found: dict[tuple[Outcome, ...], None] = {}
    for state in states:
        found[tuple(outcome(motion, wish, state) for wish in motion.wishes)] = None
    return [{w.workload: o for w, o in zip(motion.wishes, each, strict=True)} for each in found]
