"""What all pods of a set may ask of some nodes together, whoever may use which of them.

It is summed once for each set of nodes, so that the demand beside one workload, without its own pods, costs no look at
all others.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import accumulate

from kubesched_lint.engine.bounds.competition.contention import Competitor, contention_of
from kubesched_lint.engine.bounds.competition.rivals import CompetingPods
from kubesched_lint.engine.cluster.limits import MOST_KEPT
from kubesched_lint.engine.cluster.nodeset import NodeSet, lowest
from kubesched_lint.engine.events.start.simulated_set import SimulatedSet, once_per_set
from kubesched_lint.engine.model.pod import Pod


class Demand:
    """The pods of a set that may run on nodes of ``among``, and the free resources of these nodes."""

    def __init__(self, simulated: SimulatedSet, among: NodeSet) -> None:
        contention = contention_of(simulated)
        self._simulated, self._among = simulated, among
        self.kinds = [(kind, common) for kind, nodes in enumerate(contention.kinds) if (common := nodes & among)]
        """(place in the contention, nodes of the kind)"""
        self._near = [(alike[0][1], len(alike)) for alike in contention.groups() if alike[0][1].nodes & among]
        self._times = sum(times for _, times in self._near)
        self._asked: dict[str, tuple[int, int]] = {}
        self._free: dict[str, _Free] = {}

    def contenders(self, rivals: CompetingPods) -> int:
        """Return the number of rivals that may use one of the nodes."""
        return self._times + sum(sign for r, sign in _own(rivals) if r.nodes & self._among)

    def most_filled(self, rivals: CompetingPods, resource: str, want: int) -> int:
        """Return the most nodes on which rivals can leave less than ``want``, the cheapest first."""
        if resource not in self._free:
            self._asked[resource] = self._sums(resource, self._near)
            self._free[resource] = _Free(self._simulated, resource, [nodes for _, nodes in self.kinds])
        both = self._asked[resource], self._sums(resource, _own(rivals))
        everywhere, choosing = map(sum, zip(*both, strict=True))
        return self._free[resource].bought(choosing, want - 1 + everywhere)

    def _sums(self, resource: str, contenders: Iterable[tuple[Competitor, int]]) -> tuple[int, int]:
        """Return the requests on one node of those that are everywhere, and all requests of those that choose nodes."""
        everywhere = choosing = 0
        for r, times in contenders:
            each = times * taken(r.pod, resource)
            reachable = (r.nodes & self._among).bit_count() if each else 0
            if r.everywhere:
                everywhere += each * r.on_each if reachable else 0
            else:
                choosing += each * min(r.count, r.on_each * reachable)
        return everywhere, choosing


class _Free:
    """What is free of a resource on nodes, in an order in which a demand fills the most of them."""

    def __init__(self, simulated: SimulatedSet, resource: str, kinds: Sequence[NodeSet]) -> None:
        free = simulated.cluster.ledger.free(resource)
        free_and_size = sorted((free[lowest(nodes)], nodes.bit_count()) for nodes in kinds)
        self._amounts = [amount for amount, _ in free_and_size]
        self._nodes = [0, *accumulate(nodes for _, nodes in free_and_size)]
        self._sums = [0, *accumulate(amount * nodes for amount, nodes in free_and_size)]

    def bought(self, left: float, less: float) -> int:
        """Return how many nodes ``left`` fills, each with ``less`` than what is free on it."""
        free = bisect_right(self._amounts, less)

        def price(place: int) -> float:
            """Return what it costs to fill the nodes before a place of the order."""
            return self._sums[place] - self._sums[free] - less * (self._nodes[place] - self._nodes[free])

        last = bisect_right(range(free, len(self._amounts) + 1), left, key=price) + free - 1
        bought = self._nodes[last]
        if last < len(self._amounts):
            bought += int((left - price(last)) // (self._amounts[last] - less))
        return bought


def demand_of(simulated: SimulatedSet, among: NodeSet) -> Demand:
    """Return the demand for some nodes, which workloads that may use the same nodes share."""
    known = _known(simulated)
    demand = known.get(among)
    if demand is None:
        if len(known) >= MOST_KEPT:
            known.clear()
        demand = known[among] = Demand(simulated, among)
    return demand


@once_per_set
def _known(simulated: SimulatedSet) -> dict[NodeSet, Demand]:
    """Return the cache of demands, by nodes."""
    return {}


def _own(rivals: CompetingPods) -> Iterable[tuple[Competitor, int]]:
    """Return what a workload's rivals have beside those of all others, and, negative, what they lack of them."""
    return [*((r, -1) for r in rivals.without), *((r, 1) for r in rivals.own)]


def taken(pod: Pod, resource: str) -> int:
    """Return how much of a resource a pod takes on its node."""
    return 1 if resource == "pods" else pod.requests.get(resource, 0)
