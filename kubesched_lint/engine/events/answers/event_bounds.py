"""What counting says of one event for one workload."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from kubesched_lint.engine.cluster.nodeset import EMPTY, NodeSet
from kubesched_lint.engine.model.workloads.workload import Workload

NO_NODE = "no node that it may use"

PORTS = "host ports"
"""What is short in place of a resource, where the ports of nodes are taken."""


MORE_PODS = "more pods"
"""The premise that no other pods run than those that are known: affinity may lead to them, and a spread counts them."""
GATES = "gates"
"""The premise that no controller removes the scheduling gates of its pods."""
NO_POD_NEAR = "there is no pod that its affinity"
"""How the reason begins for pods that must be near a pod which nobody makes: no node helps."""
ON_ALL = frozenset([MORE_PODS, GATES])
ON_NOTHING: frozenset[str] = frozenset()


class Bound(NamedTuple):
    """A number of pods, the reason in words, and the premises on which it rests."""

    pods: int
    why: str
    resource: str = ""
    """The resource of nodes that has no more room, or ``PORTS``; empty for any other reason."""
    rests_on: frozenset[str] = ON_ALL
    """Of the premises that may not be known: those without which fewer pods may be missing."""
    near: tuple[Workload | str, ...] = ()
    """Whom the pods must be near, workloads or names of pods, if it counts the domains of these."""


class Meanwhile(NamedTuple):
    """What may happen to nodes and pods while the pods of a workload are counted."""

    lost: NodeSet = EMPTY
    """Nodes that are lost, or cordoned."""
    fewer: int = 0
    """Number of further nodes, whichever these are, that are lost or cordoned."""
    cordoned: bool = False
    """The further nodes are cordoned, and a pod there may run until its replacement is made."""
    own_stay: bool = False
    """No event deletes pods of the workload, so none waits for the node of a bound claim."""
    others_stay: bool = False
    """No event deletes pods of others."""
    hosts_move: bool = False
    """Each pod that its affinity selects may have gone to another domain, while pods stay in both."""
    whole_nodes: bool = False
    """The event removes whole nodes: where a domain is one node, all its pods go together."""
    mixed: bool = False
    """Some of the pods are of another revision, which some selectors do not match."""


NOTHING_ELSE = Meanwhile()
OTHERS_STAY = Meanwhile(others_stay=True)
FRESH = Meanwhile(own_stay=True, others_stay=True)
"""Pods are made, and none is deleted."""
ROLLING = Meanwhile(others_stay=True, mixed=True)
"""Pods of two revisions run."""


class EventBounds:
    """Least and most pods bound after an event, of ``wanted``, and whether a rollout or drain is sure to end.

    ``least`` may be a function that counts them, ``is_sure`` one that says whether the event is sure to end: they cost
    more than all else, and are not asked for where the most pods are too few.
    """

    __slots__ = ("_is_sure", "_least", "_never_stuck", "always_stuck", "most", "wanted")

    def __init__(
        self,
        wanted: int,
        least: Bound | Callable[[], Bound],
        most: Bound,
        is_sure: Callable[[], bool] | None = None,
    ) -> None:
        self.wanted = wanted
        self._least = least
        self._is_sure = is_sure
        self._never_stuck: bool | None = None
        self.most = most
        self.always_stuck = False
        """For a drain: stuck on each node that has pods of the workload."""

    @property
    def least(self) -> Bound:
        if not isinstance(self._least, Bound):
            self._least = self._least()
        return self._least

    @least.setter
    def least(self, least: Bound) -> None:
        self._never_stuck = self.never_stuck
        self._least = least

    @property
    def never_stuck(self) -> bool:
        """Whether the event is sure to end; if nobody says so, whether the least pods were enough at first."""
        if self._never_stuck is None:
            self._never_stuck = self.least.pods >= self.wanted if self._is_sure is None else self._is_sure()
        return self._never_stuck

    @never_stuck.setter
    def never_stuck(self, is_sure: bool) -> None:
        self._never_stuck = is_sure

    def leave_least_out(self) -> None:
        """Say that none is sure to run if the end is bad anyhow, and nobody has counted the least pods already."""
        if self.is_bad and not isinstance(self._least, Bound):
            self._least, self._never_stuck = Bound(0, "not counted"), bool(self._never_stuck)

    @property
    def is_fine(self) -> bool:
        return self.most.pods >= self.wanted and self.never_stuck and self.least.pods >= self.wanted

    @property
    def may_be_bad(self) -> bool:
        """Whether every course ends badly, unless the least pods say that it ends well."""
        return self.always_stuck or self.most.pods < self.wanted

    @property
    def is_bad(self) -> bool:
        """Whether every course ends badly: pods stay missing, or the rollout or drain never ends."""
        return self.may_be_bad and not self.is_fine
