"""Score by how much a pod improves its node's balance of cpu and memory use.

Mirrors ``pkg/scheduler/framework/plugins/noderesources/balanced_allocation.go`` (v1.36), with floats where it has them.
"""

from __future__ import annotations

from kubesched_lint.cluster.nodeset import NodeSet
from kubesched_lint.cluster.state import ClusterState
from kubesched_lint.model.pod import Pod
from kubesched_lint.scheduler.scores.levels import MAX_NODE_SCORE, Levels
from kubesched_lint.scheduler.scores.per_node import PerNode

NAME = "NodeResourcesBalancedAllocation"
WEIGHT = 1


class NodeResourcesBalancedAllocation:
    name = NAME
    weight = WEIGHT

    def __init__(self, pod: Pod, state: ClusterState) -> None:
        self._asked_cpu, self._asked_memory = pod.requests.get("cpu", 0), pod.requests.get("memory", 0)
        index, ledger = state.index, state.ledger
        self._nodes = PerNode(
            (index.allocatable("cpu"), index.allocatable("memory")),
            (ledger.requested("cpu"), ledger.requested("memory")),
            self._score,
            state.touched,
        )

    def levels(self, feasible: NodeSet) -> Levels | None:
        """Return None for a pod that requests neither: it is not scored."""
        if not (self._asked_cpu or self._asked_memory):
            return None
        return self._nodes.levels(feasible)

    def _score(self, cpu: float, memory: float, taken_cpu: int, taken_memory: int) -> int:
        """Return about 75 if the balance hardly changes, up to 100 if it improves, down to 50 if it gets worse."""
        after = balance(taken_cpu + self._asked_cpu, taken_memory + self._asked_memory, cpu, memory)
        before = balance(taken_cpu, taken_memory, cpu, memory)
        return MAX_NODE_SCORE // 2 + (MAX_NODE_SCORE // 2 + after - before) // 2


def balance(used_cpu: int, used_memory: int, cpu: float, memory: float) -> int:
    """Return 100 if cpu and memory are used to the same share, 50 if one is full and the other unused."""
    if not (cpu and memory):  # with a single resource there is nothing to balance
        return MAX_NODE_SCORE
    deviation = abs((min(used_cpu / cpu, 1.0) - min(used_memory / memory, 1.0)) / 2)
    return int((1 - deviation) * MAX_NODE_SCORE)
