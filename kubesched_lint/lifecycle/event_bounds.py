"""What counting says of one event for one workload."""

from __future__ import annotations

from kubesched_lint.record import NamedTuple


class Counted(NamedTuple):
    """A number of pods, and the reason in words."""

    pods: int
    why: str
    whatever_runs: bool = False
    """Whether it is a most that further pods of others cannot raise."""


class EventBounds:
    """Least and most pods bound after an event, of ``wanted``, and whether a rollout or drain is sure to end."""

    __slots__ = ("always_stuck", "least", "most", "never_stuck", "wanted")

    def __init__(self, wanted: int, least: Counted, most: Counted) -> None:
        self.wanted = wanted
        self.least = least
        self.most = most
        self.never_stuck = least.pods >= wanted
        self.always_stuck = False
        """For a drain: stuck on each node that has pods of the workload."""

    @property
    def is_fine(self) -> bool:
        return self.never_stuck and self.least.pods >= self.wanted

    @property
    def is_bad(self) -> bool:
        return self.always_stuck or self.most.pods < self.wanted
