"""Compare the placements of a pod group: how many of its pods each one takes, and how full its nodes get.

Mirrors findBestPlacement of ``pkg/scheduler/schedule_one_podgroup.go``, ``plugins/podgrouppodscount`` and
scorePlacement of ``plugins/noderesources/resource_allocation.go`` (v1.36).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from kubesched_lint.engine.cluster.nodeset import NodeSet, positions
from kubesched_lint.engine.cluster.state import ClusterState
from kubesched_lint.engine.model.pod import Pod, profile_of
from kubesched_lint.engine.scheduler.scores.levels import MAX_NODE_SCORE
from kubesched_lint.engine.scheduler.scores.node_resources import most_requested_score, scoring_requests

_FIT = "NodeResourcesFit"


class Standing(NamedTuple):
    """The scores of one result in one placement."""

    pods: int
    """Pods of the group on nodes, earlier ones included."""
    fullness: int
    """The weighted share of the placement's resources in use afterwards, 0 to 100 times the plugin's weight."""

    def total(self, most: int) -> int:
        """Return the total if ``most`` pods is the highest count of all placements."""
        return self.pods * MAX_NODE_SCORE // most + self.fullness


def standing(state: ClusterState, placement: NodeSet, placed: Sequence[Pod], members: int) -> Standing:
    """Return the scores of a result that puts the pods ``placed`` into a placement; ``state`` is without them."""
    profile = profile_of(placed[0])
    total = weights = 0
    for resource, weight in profile.strategy.resources.items():
        asked = sum(_asked(pod, resource) for pod in placed)
        if resource not in ("cpu", "memory", "ephemeral-storage") and not asked:
            continue
        taken = _taken(state, resource)
        allocatable = state.index.stated(resource)
        capacity = sum(allocatable[position] for position in positions(placement))
        used = sum(taken[position] for position in positions(placement) if allocatable[position])
        if capacity:
            total += most_requested_score(asked + used, capacity) * weight
            weights += weight
    share = total // weights if weights else 0
    return Standing(members + len(placed), share * profile.weights.get(_FIT, 0))


def _asked(pod: Pod, resource: str) -> int:
    cpu, memory = scoring_requests(pod)
    return {"cpu": cpu, "memory": memory}.get(resource, pod.requests.get(resource, 0))


def _taken(state: ClusterState, resource: str) -> Sequence[int]:
    known = {"cpu": state.nonzero_cpu, "memory": state.nonzero_memory}
    return known.get(resource) or state.ledger.requested(resource)


def may_win(own: Standing, others: Sequence[Sequence[Standing | None]]) -> bool:
    """Return whether a result may be the best, if every other placement has one of its results; None: it failed.

    Each placement's result is drawn independently; equal totals are drawn as well.
    """
    numbers = {own.pods} | {other.pods for results in others for other in results if other is not None}
    return any(_wins(own, others, most) for most in numbers if most >= own.pods)


def _wins(own: Standing, others: Sequence[Sequence[Standing | None]], most: int) -> bool:
    """Return whether it may win while ``most`` is the highest count."""
    beaten = [
        [other for other in results if other is None or (other.pods <= most and other.total(most) <= own.total(most))]
        for results in others
    ]
    reached = own.pods == most or any(other is not None and other.pods == most for r in beaten for other in r)
    return reached and all(beaten)
