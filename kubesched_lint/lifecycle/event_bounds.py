"""What counting says of one event for one workload."""

from __future__ import annotations

from typing import NamedTuple

NO_NODE = "no node that it may use"

PORTS = "host ports"
"""What is short in place of a resource, where the ports of nodes are taken."""


class Counted(NamedTuple):
    """A number of pods, and the reason in words."""

    pods: int
    why: str
    resource: str = ""
    """The resource of nodes that has no more room, or ``PORTS``; empty for any other reason."""


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
        """Whether every course ends badly: pods stay missing, or the rollout or drain never ends."""
        return not self.is_fine and (self.always_stuck or self.most.pods < self.wanted)
