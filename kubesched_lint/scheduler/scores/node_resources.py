"""Scores by the free cpu and memory of a node; only nodes whose numbers changed are scored again."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kubesched_lint import work
from kubesched_lint.cluster.nodeset import EMPTY, NodeSet, of, only
from kubesched_lint.cluster.state import ClusterState, Touched
from kubesched_lint.model.pod import Container, Pod
from kubesched_lint.model.resources import DEFAULT_MEMORY, DEFAULT_MILLI_CPU, effective_requests
from kubesched_lint.record import replace
from kubesched_lint.scheduler.scores.levels import MAX_NODE_SCORE, Levels, among


class NodeResourcesFit:
    """LeastAllocated over cpu and memory: the less of a node is requested, the higher its score.

    Mirrors ``pkg/scheduler/framework/plugins/noderesources/least_allocated.go`` and ``resource_allocation.go`` (v1.36).
    """

    name = "NodeResourcesFit"
    weight = 1

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


class NodeResourcesBalancedAllocation:
    """Score by how much a pod improves its node's balance of cpu and memory use.

    Mirrors ``pkg/scheduler/framework/plugins/noderesources/balanced_allocation.go`` (v1.36), with floats where it has
    them.
    """

    name = "NodeResourcesBalancedAllocation"
    weight = 1

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


Score = Callable[[float, float, int, int], int]
"""Allocatable cpu and memory (infinite if unknown), then the used amounts of both → the node's score."""


class PerNode:
    """Levels of one score for all nodes, updated from the log of touched nodes."""

    def __init__(
        self, allocatable: Sequence[Sequence[float]], taken: Sequence[list[int]], score: Score, touched: Touched
    ) -> None:
        self._cpu, self._memory = allocatable
        self._taken = taken
        self._score = score
        self._touched = touched
        self._epoch = -1
        self._at = 0
        self._known: dict[tuple[float, float, int, int], int] = {}
        self._values: list[int] = []
        self._levels: dict[int, NodeSet] = {}

    def levels(self, nodes: NodeSet) -> Levels:
        self._look()
        return among(self._levels, nodes)

    def _look(self) -> None:
        touched = self._touched
        if touched.epoch == self._epoch:
            for position in touched.positions[self._at :]:
                self._move(position)
        else:
            work.spend(len(self._cpu))
            self._values = [
                self._value(*numbers) for numbers in zip(self._cpu, self._memory, *self._taken, strict=True)
            ]
            members: dict[int, list[int]] = {}
            for position, value in enumerate(self._values):
                members.setdefault(value, []).append(position)
            self._levels = {value: of(at) for value, at in members.items()}
            self._epoch = touched.epoch
        self._at = len(touched.positions)

    def _move(self, position: int) -> None:
        cpu, memory = self._taken
        numbers = self._cpu[position], self._memory[position], cpu[position], memory[position]
        before, after = self._values[position], self._value(*numbers)
        if before == after:
            return
        bit = only(position)
        left = self._levels[before] ^ bit
        if left:
            self._levels[before] = left
        else:
            del self._levels[before]
        self._levels[after] = self._levels.get(after, EMPTY) | bit
        self._values[position] = after

    def _value(self, *numbers: *tuple[float, float, int, int]) -> int:
        value = self._known.get(numbers)
        if value is None:
            value = self._known[numbers] = self._score(*numbers)
        return value
