"""DynamicResources prefers nodes that can give the earlier alternatives of ``firstAvailable``.

Mirrors computeScore of ``pkg/scheduler/framework/plugins/dynamicresources/dynamicresources.go`` (v1.36).
"""

from __future__ import annotations

from collections.abc import Iterable

from kubesched_lint.engine.cluster.nodeset import EMPTY, NodeSet
from kubesched_lint.engine.cluster.state import ClusterState
from kubesched_lint.engine.model.devices.devices import ALTERNATIVES_OF_A_REQUEST, DeviceClaim
from kubesched_lint.engine.model.pod import DEVICES_PLUGIN, Pod
from kubesched_lint.engine.scheduler.plugins.dynamic_resources import attempt_of
from kubesched_lint.engine.scheduler.scores.levels import Levels, scaled


class DynamicResources:
    name = DEVICES_PLUGIN

    def __init__(self, pod: Pod, state: ClusterState) -> None:
        self._attempt = attempt_of(pod, state)

    def levels(self, feasible: NodeSet) -> Levels | None:
        """Return the scores; None for a pod without claims, which has zeros. Raises UndecidedError."""
        attempt = self._attempt
        if attempt is None:
            return None
        allocated = [claim for claim in attempt.held if claim.allocation is not None]
        by_score: dict[int, NodeSet] = {}
        for nodes, given in attempt.groups(feasible):
            score = _score((*allocated, *given.claims)) if given.claims else 0
            by_score[score] = by_score.get(score, EMPTY) | nodes
        return scaled(by_score)


def _score(claims: Iterable[DeviceClaim]) -> int:
    """Return 8 for each request met by its first alternative, 7 for the second, and so on."""
    score = 0
    for claim in claims:
        met = {held.request for held in claim.allocation.devices} if claim.allocation is not None else set()
        for request in claim.requests:
            for i, each in enumerate(request.alternatives):
                if f"{request.name}/{each.name}" in met:
                    score += ALTERNATIVES_OF_A_REQUEST - i
    return score
