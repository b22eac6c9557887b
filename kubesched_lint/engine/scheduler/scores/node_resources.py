"""Scores by the used resources of a node; only nodes whose numbers changed are scored again."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import lru_cache, partial, reduce
from itertools import compress, count, repeat
from math import floor, sqrt
from operator import add, ne
from typing import cast

from msgspec.structs import replace

from kubesched_lint.engine.base import work
from kubesched_lint.engine.base.identity import while_it_lives
from kubesched_lint.engine.cluster.limits import MOST_KEPT
from kubesched_lint.engine.cluster.nodeset import EMPTY, NodeSet, grouped, only
from kubesched_lint.engine.cluster.state import ClusterState
from kubesched_lint.engine.model.pod import BY_RATIO, MOST_ALLOCATED, Container, Pod, ScoringStrategy, profile_of
from kubesched_lint.engine.model.resources import DEFAULT_MEMORY, DEFAULT_MILLI_CPU, effective_requests
from kubesched_lint.engine.scheduler.scores.levels import MAX_NODE_SCORE, Levels, among


class NodeResourcesFit:
    """Score by the used share of each resource of the profile's strategy, weighted; by default free cpu and memory.

    Mirrors ``pkg/scheduler/framework/plugins/noderesources/resource_allocation.go`` and the files of the three
    strategies beside it (v1.36).
    """

    name = "NodeResourcesFit"

    def __init__(self, pod: Pod, state: ClusterState) -> None:
        strategy = profile_of(pod).strategy
        cpu, memory = scoring_requests(pod)
        requests = {**pod.requests, "cpu": cpu, "memory": memory}
        names = [name for name in strategy.resources if _counts(name, requests)]
        self._asked = [(requests.get(name, 0), strategy.resources[name]) for name in names]
        self._share = _share(strategy)
        # Only RequestedToCapacityRatio passes over a resource that scores 0, and rounds to the nearest.
        self._is_ratio = strategy.type == BY_RATIO
        taken = {"cpu": state.nonzero_cpu, "memory": state.nonzero_memory}
        kind = (self.name, *names, *self._asked, strategy.type, strategy.shape)
        self._nodes = _shared(kind, state, lambda: PerNode(names, taken, self._score, state))

    def levels(self, feasible: NodeSet) -> Levels:
        return self._nodes.levels(feasible)

    def _score(self, capacities: Sequence[float], taken: Sequence[int]) -> int:
        """Return the weighted mean over the resources that the node has; each term is rounded down."""
        total = weights = 0
        for (asked, weight), capacity, used in zip(self._asked, capacities, taken, strict=True):
            if capacity:
                share = self._share(asked + used, capacity)
                if share or not self._is_ratio:
                    total += share * weight
                    weights += weight
        if not weights:
            return 0
        return floor(total / weights + 0.5) if self._is_ratio else total // weights


def _counts(resource: str, requests: Mapping[str, int]) -> bool:
    """Return whether a resource is scored: an extended one only if the pod requests it."""
    return resource in _NATIVE or bool(requests.get(resource))


_NATIVE = ("cpu", "memory", "ephemeral-storage")

Share = Callable[[int, float], int]
"""Requested amount and capacity (infinite if unknown) → score, 0 to 100."""


def _share(strategy: ScoringStrategy) -> Share:
    if strategy.type == MOST_ALLOCATED:
        return most_requested_score
    if strategy.type == BY_RATIO:
        return partial(ratio_score, [(at, 10 * score) for at, score in strategy.shape])
    return least_requested_score


def least_requested_score(requested: int, capacity: float) -> int:
    """Return the unused share of ``capacity`` in hundredths; 100 for unknown capacity, which is infinite here."""
    if requested > capacity:
        return 0
    if isinstance(capacity, float):
        return MAX_NODE_SCORE
    return (capacity - requested) * MAX_NODE_SCORE // capacity


def most_requested_score(requested: int, capacity: float) -> int:
    """Return the used share of ``capacity`` in hundredths; 0 for unknown capacity."""
    if isinstance(capacity, float):
        return 0
    return min(requested, capacity) * MAX_NODE_SCORE // capacity


def ratio_score(points: Sequence[tuple[int, int]], requested: int, capacity: float) -> int:
    """Return the value at the utilization, linear between the points and rounded towards zero."""
    if requested > capacity:
        use = 100
    else:
        use = 0 if isinstance(capacity, float) else requested * 100 // capacity
    before = None
    for at, score in points:
        if use <= at:
            if before is None:
                return score
            rise = (score - before[1]) * (use - before[0])
            return before[1] + (abs(rise) // (at - before[0])) * (1 if rise > 0 else -1)
        before = at, score
    return points[-1][1]


@while_it_lives
def scoring_requests(pod: Pod) -> tuple[int, int]:
    """Return (millicores, bytes) of the pod to score, with 100m and 200Mi for what a container does not request.

    Pod-level requests do not change these defaults (calculatePodResourceRequest), unlike for pods on a node
    (``engine.model.resources.nonzero_requests``).
    """
    missing = {"cpu": DEFAULT_MILLI_CPU, "memory": DEFAULT_MEMORY}

    def filled(containers: tuple[Container, ...]) -> tuple[Container, ...]:
        return tuple(replace(c, requests={**missing, **c.requests}) for c in containers)

    total = effective_requests(filled(pod.containers), filled(pod.init_containers), pod.pod_requests, pod.overhead)
    return total.get("cpu", 0), total.get("memory", 0)


class NodeResourcesBalancedAllocation:
    """Score by how much a pod improves its node's balance of cpu and memory use, or of the profile's resources.

    Mirrors ``pkg/scheduler/framework/plugins/noderesources/balanced_allocation.go`` (v1.36), with floats where it has
    them.
    """

    name = "NodeResourcesBalancedAllocation"

    def __init__(self, pod: Pod, state: ClusterState) -> None:
        names = [name for name in profile_of(pod).balanced_resources if _counts(name, pod.requests)]
        self._asked = tuple(pod.requests.get(name, 0) for name in names)
        kind = (self.name, *names, *self._asked)
        self._nodes = _shared(kind, state, lambda: PerNode(names, {}, self._score, state))

    def levels(self, feasible: NodeSet) -> Levels | None:
        """Return None for a pod that requests none of the resources: it is not scored."""
        return self._nodes.levels(feasible) if any(self._asked) else None

    def _score(self, capacities: Sequence[float], taken: Sequence[int]) -> int:
        return _improvement(self._asked, tuple(taken), tuple(capacities))


@lru_cache(maxsize=4_096)
def _improvement(asked: tuple[int, ...], taken: tuple[int, ...], capacities: tuple[float, ...]) -> int:
    """Return about 75 if the balance hardly changes, up to 100 if it improves, down to 50 if it gets worse.

    Two of three questions were asked before: after each event of a trace, most nodes are as after another.
    """
    after = balance([used + more for used, more in zip(taken, asked, strict=True)], capacities)
    return MAX_NODE_SCORE // 2 + (MAX_NODE_SCORE // 2 + after - balance(taken, capacities)) // 2


def balance(used: Sequence[int], capacities: Sequence[float]) -> int:
    """Return 100 if all resources of the node are used to the same share, 50 if one is full and another unused."""
    shares = [min(amount / capacity, 1.0) for amount, capacity in zip(used, capacities, strict=True) if capacity]
    deviation = 0.0  # with a single resource there is nothing to balance
    if len(shares) == 2:
        deviation = abs((shares[0] - shares[1]) / 2)
    elif len(shares) > 2:
        mean = reduce(add, shares, 0.0) / len(shares)  # in this order, as upstream adds: sum() compensates since 3.12
        deviation = sqrt(reduce(add, ((share - mean) * (share - mean) for share in shares), 0.0) / len(shares))
    return int((1 - deviation) * MAX_NODE_SCORE)


Score = Callable[[Sequence[float], Sequence[int]], int]
"""Allocatable amounts (infinite if unknown), then the used amounts of the same resources → the node's score."""


def _shared(kind: Hashable, state: ClusterState, make: Callable[[], PerNode]) -> PerNode:
    """Return the levels of a kind of pods; pods of one kind have the same levels in every state."""
    per_node: PerNode | None = state.scored.get(kind)
    if per_node is None:
        if len(state.scored) >= MOST_KEPT:
            state.scored.pop(next(iter(state.scored)))
        per_node = state.scored[kind] = make()
    return per_node


class PerNode:
    """Levels of one score for all nodes, counted anew when a number of any of them has changed."""

    def __init__(self, names: Sequence[str], taken: Mapping[str, list[int]], score: Score, state: ClusterState) -> None:
        """``taken``: the used amounts of some of the resources ``names``; the others are what pods requested."""
        allocatable = (state.index.stated(name) for name in names)
        self._rows: tuple[Sequence[float], ...] = (
            *allocatable,
            *(taken.get(name) or state.ledger.requested(name) for name in names),
        )
        self._score = score
        self._known: dict[tuple[float, ...], int] = {}
        self._numbers: list[tuple[float, ...]] = []
        self._levels: dict[int, NodeSet] = {}

    def levels(self, nodes: NodeSet) -> Levels:
        numbers = list(zip(*self._rows, strict=True))
        if numbers != self._numbers:
            self._count(numbers)
        return among(self._levels, nodes)

    def _count(self, numbers: list[tuple[float, ...]]) -> None:
        changed = [*compress(count(), map(ne, numbers, self._numbers or repeat(None)))]
        new = {numbers[position] for position in changed}.difference(self._known)
        work.spend(len(numbers) // 16 + work.LOOK * len(new))
        for different in new:
            self._known[different] = self._scored(different)
        if not self._numbers or len(changed) > 8 + len(numbers) // 8:  # else it is faster to move these alone
            self._levels = grouped(enumerate(map(self._known.__getitem__, numbers)))
        else:
            for position in changed:
                self._move(position, self._known[self._numbers[position]], self._known[numbers[position]])
        self._numbers = numbers

    def _move(self, position: int, before: int, after: int) -> None:
        """Give a node another value."""
        if after == before:
            return
        node = only(position)
        self._levels[after] = self._levels.get(after, EMPTY) | node
        self._levels[before] &= ~node
        if not self._levels[before]:
            del self._levels[before]

    def _scored(self, numbers: tuple[float, ...]) -> int:
        half = len(numbers) // 2
        return self._score(numbers[:half], cast("Sequence[int]", numbers[half:]))
