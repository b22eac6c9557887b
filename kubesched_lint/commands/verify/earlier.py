"""Find the moment of a message: some of the pods that were made meanwhile were not bound yet when it was written.

A record has where the pods stood in the end. A local search takes pods away and puts them back on their nodes, until
the model has the recorded message.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from random import Random

from kubesched_lint.engine.cluster.pods.pod_scheduled import SchedulerMessage, said
from kubesched_lint.engine.cluster.state import ClusterState, Placement
from kubesched_lint.engine.model.pod import Pod
from kubesched_lint.engine.scheduler.framework import diagnose, message
from kubesched_lint.engine.scheduler.preemption.preemption import preempt

_STARTS, _LOOKS = 8, 700
"""Starts, each with fewer pods than the one before, and looks at the message from each."""
_AT_ONCE = 6
_FAR = 1_000


def moment_of(recorded: str, pod: Pod, state: ClusterState, made: Iterable[Placement]) -> int | None:
    """Return how many of the pods ``made`` were bound when the message was written; None if no such moment is found."""
    search = _Search(said(recorded), pod, state, list(made))
    with state.undone():
        return next((moment for start in range(_STARTS) if (moment := search.run(start)) is not None), None)


class _Search:
    def __init__(self, sought: SchedulerMessage, pod: Pod, state: ClusterState, made: Sequence[Placement]) -> None:
        self._sought = sought
        self._pod = pod
        self._state = state
        self._all = made
        self._there = [True] * len(made)

    def run(self, start: int) -> int | None:
        """Return the number of bound pods at the moment that a walk from one start finds; None if it finds none."""
        random = Random(start)
        self._toggle([n for n, there in enumerate(self._there) if there != (random.random() >= start / _STARTS)])
        distance = self._distance()
        for _ in range(_LOOKS if self._all else 0):
            if not distance:
                break
            count = 1 if random.random() < 0.7 else random.randint(2, _AT_ONCE)
            chosen = list({random.randrange(len(self._all)) for _ in range(count)})
            self._toggle(chosen)
            if (now := self._distance()) <= distance:
                distance = now
            else:
                self._toggle(chosen)
        return None if distance else sum(self._there)

    def _toggle(self, numbers: Iterable[int]) -> None:
        for number in numbers:
            change = self._state.set_aside if self._there[number] else self._state.restore
            change(self._all[number])
            self._there[number] = not self._there[number]

    def _distance(self) -> int:
        """Return in how many nodes the model's message differs from the one that is sought."""
        diagnosis = diagnose(self._pod, self._state)
        if diagnosis.feasible:
            return _FAR + diagnosis.feasible.bit_count()
        ours, sought = said(message(diagnosis, preempt(self._pod, diagnosis, self._state).message)), self._sought
        if (ours.nodes, ours.rest) != (sought.nodes, sought.rest):
            return _FAR
        return _apart(ours.filters, sought.filters) + _apart(ours.preemption, sought.preemption)


def _apart(reasons: Iterable[tuple[str, int]], other: Iterable[tuple[str, int]]) -> int:
    counts = Counter(dict(reasons))
    counts.subtract(dict(other))
    return sum(map(abs, counts.values()))
