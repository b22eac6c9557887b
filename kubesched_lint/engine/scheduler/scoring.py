"""Score the feasible nodes: the weighted sum of the score plugins of the pod's profile.

Mirrors RunScorePlugins of ``pkg/scheduler/framework/runtime/framework.go`` (v1.36). Other versions are scored like
1.36, apart from rows of ``quirks``: their differences change preferences, not which nodes fit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Protocol

from msgspec import Struct

from kubesched_lint.engine.base.quirks import STORAGE_CAPACITY_SCORES, has
from kubesched_lint.engine.cluster.nodes.index import NodeIndex
from kubesched_lint.engine.cluster.nodeset import NodeSet
from kubesched_lint.engine.cluster.state import ClusterState
from kubesched_lint.engine.model.labels import Selector
from kubesched_lint.engine.model.pod import Pod, profile_of
from kubesched_lint.engine.scheduler.scores.dynamic_resources import DynamicResources
from kubesched_lint.engine.scheduler.scores.inter_pod_affinity import InterPodAffinity
from kubesched_lint.engine.scheduler.scores.levels import Levels, by_position, highest, level, plus, times
from kubesched_lint.engine.scheduler.scores.node_resources import NodeResourcesBalancedAllocation, NodeResourcesFit
from kubesched_lint.engine.scheduler.scores.pod_topology_spread import PodTopologySpread
from kubesched_lint.engine.scheduler.scores.single_node import ImageLocality, NodeAffinity, TaintToleration
from kubesched_lint.engine.scheduler.scores.volume_binding import VolumeBinding


class Scorer(Protocol):
    """One score plugin for one pod. It reads the state at each call, and caches only data that cannot change."""

    @property
    def name(self) -> str: ...

    def levels(self, feasible: NodeSet) -> Levels | None:
        """Return normalised scores, 0 to 100, of the nodes that passed all filters.

        None if the plugin skips the pod.
        """
        ...


class Scores(Struct, frozen=True):
    """The score of each feasible node by each plugin, normalised and multiplied by the plugin's weight."""

    index: NodeIndex
    feasible: NodeSet
    levels: Mapping[str, Levels]
    """Plugin → weighted scores. A plugin that skipped the pod is absent, which equals zeros."""

    @property
    def by_plugin(self) -> dict[str, dict[str, int]]:
        """Plugin → node name → score."""
        return {plugin: _named(self.index, levels) for plugin, levels in self.levels.items()}

    @property
    def total_levels(self) -> Levels:
        total = level(0, self.feasible)
        for levels in self.levels.values():
            total = plus(total, levels)
        return total

    @property
    def total(self) -> dict[str, int]:
        """Node name → sum over the plugins, in the order of the nodes."""
        return _named(self.index, self.total_levels)

    @property
    def best(self) -> NodeSet:
        """The nodes of the highest total; the scheduler draws one of them."""
        return highest([*self.levels.values()], self.feasible)[1]


def score(pod: Pod, state: ClusterState, feasible: NodeSet, owner: Selector | None = None) -> Scores:
    """Return the scores of the nodes that passed all filters, as the scheduler computes them in this state.

    ``owner`` is the selector of the pod's controller (see ``owner_selector``): with the Services of ``state.objects``
    it decides whether the system's default spread constraints apply. The scheduler itself scores only if two or more
    nodes are feasible.
    """
    return Scoring(pod, state, owner).scores(feasible)


class Scoring:
    """The score plugins of one pod's profile, reusable while pods come and go in ``state``."""

    def __init__(self, pod: Pod, state: ClusterState, owner: Selector | None = None) -> None:
        self._index = state.index
        self._weights = profile_of(pod).weights
        self._scorers = [_scorer(name, pod, state, owner) for name in self._weights]
        weight = profile_of(pod).devices_weight
        if weight and state.devices is not None:
            self._weights = {**self._weights, DynamicResources.name: weight}
            self._scorers.append(DynamicResources(pod, state))
        weight = profile_of(pod).capacity_weight
        if weight and pod.volumes and has(state.kubernetes_version, STORAGE_CAPACITY_SCORES):
            self._weights = {**self._weights, VolumeBinding.name: weight}
            self._scorers.append(VolumeBinding(pod, state))

    def scores(self, feasible: NodeSet) -> Scores:
        return Scores(self._index, feasible, dict(self._weighted(feasible)))

    def _weighted(self, feasible: NodeSet) -> Iterator[tuple[str, Levels]]:
        for scorer in self._scorers:
            levels = scorer.levels(feasible)
            if levels is not None:
                yield scorer.name, times(levels, self._weights[scorer.name])


def _scorer(name: str, pod: Pod, state: ClusterState, owner: Selector | None) -> Scorer:
    return PodTopologySpread(pod, state, owner) if name == PodTopologySpread.name else _SCORERS[name](pod, state)


_SCORERS: Mapping[str, Callable[[Pod, ClusterState], Scorer]] = {
    made.name: made
    for made in (
        TaintToleration,
        NodeAffinity,
        NodeResourcesFit,
        InterPodAffinity,
        NodeResourcesBalancedAllocation,
        ImageLocality,
    )
}


def _named(index: NodeIndex, levels: Levels) -> dict[str, int]:
    """Return scores by node name, in the order of the nodes."""
    return {index.names[position]: value for position, value in sorted(by_position(levels))}
