"""The answer of ``drain``: waves with the pods that move, or the obstacles, and how sure it is."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from kubesched_lint.engine.base.places import Location, ObjectRef
from kubesched_lint.findings import InputError

POSSIBLE, IMPOSSIBLE, DEPENDS, UNKNOWN = "possible", "impossible", "depends", "unknown"
PROVEN = "proven"
"""For every order of events and any scheduler that respects the filters."""
BY_DEFAULT = "default scheduler"
"""For every order of events with the scores of the default scheduler."""
TODAY = "today's nodes"
"""For every order of events and any scheduler, unless an autoscaler adds nodes."""
SIMULATED = "simulated"
"""In every random trace of the default scheduler that was followed."""


class Move(Struct, frozen=True):
    """Equal pods that leave the nodes of a wave, in one trace; ``to`` has a node for each that found one."""

    workload: ObjectRef
    pods: int
    origin: str
    to: Mapping[str, int]
    """Node → number of pods."""


class Tight(Struct, frozen=True):
    """The least room on the nodes that stay open, at the end of a wave, in one trace."""

    where: str
    """A zone; empty: all open nodes."""
    resource: str
    used: int
    allocatable: int

    @property
    def share(self) -> float:
        return self.used / self.allocatable if self.allocatable else 1.0


class Wave(Struct, frozen=True):
    """Nodes that are cordoned and drained at the same time."""

    nodes: tuple[str, ...]
    new: tuple[str, ...] = ()
    """Nodes that join before the wave, so that pods have more room."""
    moves: tuple[Move, ...] = ()
    tight: Tight | None = None

    @property
    def pods(self) -> int:
        return sum(move.pods for move in self.moves)


class Obstacle(Struct, frozen=True):
    """One thing that keeps nodes from being drained: without it, and the others listed with it, the drain ends."""

    kind: str
    """One of ``relaxing``, ``no-node``, or the plugin of kube-scheduler that refuses."""
    of: ObjectRef
    """The object to change."""
    why: str
    nodes: tuple[str, ...]
    message: str = ""
    """The message of Kubernetes or kubectl."""
    at: Location | None = None
    missing: Mapping[str, int] | None = None
    """Resource → how much more one node needs to be free; None unless resources are missing."""
    help: str = ""
    """What to change, where that does not follow from the reason."""


class DrainPlan(Struct, frozen=True):
    """``waves`` of a plan that is possible or depends; ``obstacles`` otherwise."""

    verdict: str
    evidence: str
    """``proven``, ``default scheduler``, ``today's nodes`` or ``simulated``; empty if the verdict is unknown."""
    targets: tuple[str, ...]
    waves: tuple[Wave, ...] = ()
    is_fewest: bool = False
    """Whether every plan with fewer waves was refuted."""
    obstacles: tuple[Obstacle, ...] = ()
    is_smallest: bool = False
    """Whether without them some order of events ends well, and no smaller set is enough."""
    why: str = ""
    worst: tuple[str, ...] = ()
    """A course of events that ends badly, one line per phase."""
    missing: tuple[str, ...] = ()
    """Facts without which no answer is established."""
    assumes: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    errors: tuple[InputError, ...] = ()

    @property
    def exit_code(self) -> int:
        """0: possible; 1: proven impossible; 2: an input could not be read; 3: not established."""
        if self.errors:
            return 2
        if self.verdict == POSSIBLE:
            return 0
        return 1 if self.verdict == IMPOSSIBLE and self.evidence == PROVEN else 3
