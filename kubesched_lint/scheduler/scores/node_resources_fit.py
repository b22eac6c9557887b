"""LeastAllocated over cpu and memory: the less of a node is requested, the higher its score.

Mirrors ``pkg/scheduler/framework/plugins/noderesources/least_allocated.go`` and ``resource_allocation.go`` (v1.36).
"""

from __future__ import annotations

from kubesched_lint.cluster.nodeset import NodeSet
from kubesched_lint.cluster.state import ClusterState
from kubesched_lint.model.pod import Container, Pod
from kubesched_lint.model.resources import DEFAULT_MEMORY, DEFAULT_MILLI_CPU, effective_requests
from kubesched_lint.record import replace
from kubesched_lint.scheduler.scores.levels import MAX_NODE_SCORE, Levels
from kubesched_lint.scheduler.scores.per_node import PerNode

NAME = "NodeResourcesFit"
WEIGHT = 1


class NodeResourcesFit:
    name = NAME
    weight = WEIGHT

    def __init__(self, pod: Pod, state: ClusterState) -> None:
        self._asked_cpu, self._asked_memory = scoring_requests(pod)
        index = state.index
        self._nodes = PerNode(
            (index.allocatable("cpu"), index.allocatable("memory")),
            (state.nonzero_cpu, state.nonzero_memory),
            self._score,
            state.touched,
        )

    def levels(self, feasible: NodeSet) -> Levels:
        return self._nodes.levels(feasible)

    def _score(self, cpu: float, memory: float, taken_cpu: int, taken_memory: int) -> int:
        """Return the mean over the resources that the node has, rounded down; each term is rounded down too."""
        total = count = 0
        for capacity, asked in ((cpu, taken_cpu + self._asked_cpu), (memory, taken_memory + self._asked_memory)):
            if capacity:
                total += least_requested_score(asked, capacity)
                count += 1
        return total // count if count else 0


def least_requested_score(requested: int, capacity: float) -> int:
    """Return the unused share of ``capacity`` in hundredths; 100 for unknown capacity, which is infinite here."""
    if requested > capacity:
        return 0
    if isinstance(capacity, float):
        return MAX_NODE_SCORE
    return (capacity - requested) * MAX_NODE_SCORE // capacity


def scoring_requests(pod: Pod) -> tuple[int, int]:
    """Return (millicores, bytes) of the pod to score, with 100m and 200Mi for what a container does not request.

    Pod-level requests do not change these defaults (calculatePodResourceRequest), unlike for pods on a node
    (``model.resources.nonzero_requests``).
    """
    missing = {"cpu": DEFAULT_MILLI_CPU, "memory": DEFAULT_MEMORY}

    def filled(containers: tuple[Container, ...]) -> tuple[Container, ...]:
        return tuple(replace(c, requests={**missing, **c.requests}) for c in containers)

    total = effective_requests(filled(pod.containers), filled(pod.init_containers), pod.pod_requests, pod.overhead)
    return total.get("cpu", 0), total.get("memory", 0)
