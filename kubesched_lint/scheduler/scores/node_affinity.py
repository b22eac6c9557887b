"""A node scores the sum of the weights of the pod's preferred node terms that it matches.

Mirrors ``pkg/scheduler/framework/plugins/nodeaffinity/node_affinity.go`` (v1.36) and PreferredSchedulingTerms of
``component-helpers/scheduling/corev1/nodeaffinity/nodeaffinity.go``, where an empty term matches nothing.
"""

from __future__ import annotations

from kubesched_lint.cluster.nodeset import NodeSet
from kubesched_lint.cluster.state import ClusterState
from kubesched_lint.model.pod import Pod
from kubesched_lint.scheduler.scores.levels import Levels, among, level, raised, scaled

NAME = "NodeAffinity"
WEIGHT = 2


class NodeAffinity:
    name = NAME
    weight = WEIGHT

    def __init__(self, pod: Pod, state: ClusterState) -> None:
        self._is_skipped = not pod.preferred_node_terms
        self._raw = level(0, state.index.all)
        for preferred in pod.preferred_node_terms:
            self._raw = raised(self._raw, state.index.matching_term(preferred.term), preferred.weight)

    def levels(self, feasible: NodeSet) -> Levels | None:
        return None if self._is_skipped else scaled(among(self._raw, feasible))
