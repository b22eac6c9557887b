"""Choose nodes for pods of one kind one after another, each one that the scheduler could choose.

On large clusters the scheduler scores only some of the feasible nodes.
Mirrors schedulePod, numFeasibleNodesToFind and selectHost of ``pkg/scheduler/schedule_one.go`` (v1.36).
"""

from __future__ import annotations

from functools import cached_property
from random import Random

from kubesched_lint.engine.cluster.nodeset import EMPTY, NodeSet, first, nth
from kubesched_lint.engine.cluster.state import ClusterState
from kubesched_lint.engine.model.labels import Selector
from kubesched_lint.engine.model.pod import Pod
from kubesched_lint.engine.scheduler.framework import Diagnosis, diagnose
from kubesched_lint.engine.scheduler.scoring import Scoring


class Placer:
    """Choose nodes for copies of one admitted pod; data for scoring is kept between copies.

    Other pods may come and go in ``state`` in between. ``owner`` is the selector of the pods' controller (see
    ``scoring.owner_selector``). Equal seeds over equal states give equal choices.
    """

    def __init__(self, pod: Pod, state: ClusterState, owner: Selector | None = None, *, seed: int = 0) -> None:
        self.pod = pod
        self.state = state
        self._scoring = Scoring(pod, state, owner)
        self._seed = seed

    @cached_property
    def _random(self) -> Random:
        return Random(self._seed)

    def diagnosis(self, placement: NodeSet | None = None) -> Diagnosis:
        """Return the result of every filter for the next copy; ``placement`` as in ``diagnose``."""
        return diagnose(self.pod, self.state, placement)

    def options(self, diagnosis: Diagnosis | None = None) -> NodeSet:
        """Return every node that the scheduler may choose for the next copy: those of the highest total.

        If more nodes fit than the scheduler scores, any of them may be among the scored ones and win.
        """
        diagnosed = diagnosis or self.diagnosis()
        return diagnosed.feasible if is_sampled(diagnosed) else self._best(diagnosed.feasible)

    def choose(self, diagnosis: Diagnosis | None = None) -> int | None:
        """Return the position of one node, chosen at random as the scheduler does; None if no node fits.

        First a large enough sample from a random start, then one of the best nodes of the sample.
        """
        diagnosed = diagnosis or self.diagnosis()
        feasible = diagnosed.feasible
        if is_sampled(diagnosed):
            width = len(self.state.index)
            most = _nodes_to_find_of(diagnosed)
            feasible = in_turn(feasible, self._random.randrange(width), most)
        best = self._best(feasible)
        return nth(best, self._random.randrange(best.bit_count())) if best else None

    def _best(self, feasible: NodeSet) -> NodeSet:
        if not feasible & (feasible - 1):  # none or one: nothing to compare
            return feasible
        return self._scoring.scores(feasible).best


def in_turn(nodes: NodeSet, start: int, most: int) -> NodeSet:
    """Return the first ``most`` of ``nodes`` from position ``start`` on, then from 0 on."""
    above = nodes >> start << start
    missing = most - above.bit_count()
    if missing > 0:
        return above | _first_members(nodes ^ above, missing)
    return _first_members(above, most)


def _first_members(nodes: NodeSet, most: int) -> NodeSet:
    """Return the ``most`` lowest members."""
    if most <= 0:
        return EMPTY
    return nodes & first(nth(nodes, most - 1) + 1) if most < nodes.bit_count() else nodes


# --- Which nodes the scheduler may choose: on large clusters it scores only some of the feasible ones -----------------

FEASIBLE_NODES_TO_FIND = 100
PERCENTAGE_TO_FIND = 5


def nodes_to_find(looked_at: int, percentage: int = 0) -> int:
    """Return the number of feasible nodes, out of ``looked_at``, after which the search stops.

    ``percentage`` is percentageOfNodesToScore; 0 is its default: 50 minus one per 125 nodes, at least 5.
    """
    if looked_at < FEASIBLE_NODES_TO_FIND:
        return looked_at
    if percentage == 0:
        percentage = max(50 - looked_at // 125, PERCENTAGE_TO_FIND)
    return max(looked_at * percentage // 100, FEASIBLE_NODES_TO_FIND)


def is_sampled(diagnosis: Diagnosis) -> bool:
    """Return whether some feasible nodes are not scored; which ones depends on where the last search stopped.

    Then the pod may land on every feasible node, not only on those of the highest total: scores are normalised over the
    sample, so even the order of two nodes can depend on the other nodes in it.
    """
    return diagnosis.feasible.bit_count() > _nodes_to_find_of(diagnosis)


def _nodes_to_find_of(diagnosis: Diagnosis) -> int:
    looked_at = diagnosis.total - diagnosis.outside.bit_count()
    return nodes_to_find(looked_at, diagnosis.percentage_of_nodes_to_score)
