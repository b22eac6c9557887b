"""VolumeBinding prefers nodes by the share of a volume, or of the published capacity, that the pod's claims use.

Mirrors Score of ``pkg/scheduler/framework/plugins/volumebinding/volume_binding.go`` and ``scorer.go`` (v1.36) with the
gate StorageCapacityScoring. Of several published capacities with enough room, the scheduler takes any; here the first.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kubesched_lint.engine.cluster.nodeset import EMPTY, NodeSet
from kubesched_lint.engine.cluster.state import ClusterState
from kubesched_lint.engine.model.pod import Pod, profile_of
from kubesched_lint.engine.scheduler.plugins.volume_binding import NAME, Choice, capacity_for, choices, pod_claims
from kubesched_lint.engine.scheduler.scores.levels import Levels
from kubesched_lint.engine.scheduler.scores.node_resources import ratio_score

_Use = tuple[str, int, int]
"""A StorageClass, and the requested bytes and the capacity of one of its claims."""


class VolumeBinding:
    name = NAME

    def __init__(self, pod: Pod, state: ClusterState) -> None:
        self._pod = pod
        self._state = state
        self._points = [(at, 10 * score) for at, score in profile_of(pod).capacity_shape]

    def levels(self, feasible: NodeSet) -> Levels | None:
        """Return the scores, which are not normalised; None for a pod without claims to bind, which has zeros."""
        delayed = pod_claims(self._pod, self._state.storage).delayed
        if not delayed:
            return None
        by_score: dict[int, NodeSet] = {}
        for nodes, choice in choices(delayed, self._state, feasible):
            score = self._score(choice, nodes) if isinstance(choice, Choice) else 0
            by_score[score] = by_score.get(score, EMPTY) | nodes
        return by_score

    def _score(self, choice: Choice, nodes: NodeSet) -> int:
        """Return the mean over the classes, rounded half up: that of static bindings if there are any."""
        uses = _bound(choice) if choice.static else self._provisioned(choice, nodes)
        classes: dict[str, tuple[int, int]] = {}
        for name, requested, capacity in uses:
            before = classes.get(name, (0, 0))
            # Volumes add up; claims of one class are provisioned from one capacity.
            classes[name] = before[0] + requested, before[1] + capacity if choice.static else capacity
        scores = [self._of(requested, capacity) for requested, capacity in classes.values()]
        return (2 * sum(scores) + len(scores)) // (2 * len(scores)) if scores else 0

    def _of(self, requested: int, capacity: int) -> int:
        return ratio_score(self._points, requested, capacity) if capacity else ratio_score(self._points, 1, 0)

    def _provisioned(self, choice: Choice, nodes: NodeSet) -> Iterator[_Use]:
        for claim in choice.provision:
            storage_class = self._state.storage.class_of(claim)
            if storage_class is None:
                continue
            there = capacity_for(claim, storage_class, self._state, nodes)
            if there is not None:
                yield storage_class.name, claim.request, there.capacity or 0


def _bound(choice: Choice) -> Iterable[_Use]:
    return ((volume.storage_class, claim.request, volume.capacity) for claim, volume in choice.static)
