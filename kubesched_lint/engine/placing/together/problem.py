"""The problem of joint placement: how many pods of each workload may use which classes of nodes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from functools import cached_property, reduce
from math import inf
from operator import or_
from typing import cast

from msgspec import Struct

from kubesched_lint.engine.cluster.ledger import PODS
from kubesched_lint.engine.cluster.nodeset import EMPTY, NodeSet, grouped, popcount, positions
from kubesched_lint.engine.model.pod import Pod
from kubesched_lint.engine.model.workload import Workload
from kubesched_lint.engine.placing.together.devices import DeviceAmounts
from kubesched_lint.engine.scenario.others.returning import returning_beside_set
from kubesched_lint.engine.scenario.others.staying import staying_beside_set
from kubesched_lint.engine.scenario.scenario import Scenario
from kubesched_lint.engine.scheduler.capacity import stands_alone


class Demand(Struct, frozen=True, eq=False):
    """``count`` pods like ``pod``, each of which may use ``nodes``."""

    workload: Workload
    pod: Pod
    count: int
    nodes: NodeSet

    @property
    def one_a_node(self) -> bool:
        """Whether its controller makes one pod per node."""
        return self.workload.kind == "DaemonSet"


class NodeClass(Struct, frozen=True):
    """Nodes that are equal for every demand: same room, same domains, usable by the same workloads."""

    nodes: NodeSet
    size: int
    room: tuple[int, ...]
    """Free amount per resource of ``Problem.resources``, on each node."""


class Problem:
    """Demands on classes of nodes; conditions are grouped, so that a proof can leave groups out."""

    def __init__(self, scenario: Scenario, demands: Sequence[Demand]) -> None:
        self.scenario = scenario
        self.demands = tuple(demands)
        named = {name for d in demands for name, amount in d.pod.requests.items() if amount > 0}
        self._devices = DeviceAmounts(scenario, (d.pod for d in self.demands))
        self.resources = (PODS, *sorted(named), *self._devices.names)
        self._requests = {d: self._request(d) for d in self.demands}
        self.classes = tuple(self._classes())

    def _classes(self) -> Iterator[NodeClass]:
        index, state = self.scenario.index, staying_beside_set(self.scenario).state
        free = [*(state.ledger.free(name) for name in self._countable), *self._devices.free]
        every = sorted({key for d in self.demands for key in _keys(d.pod)})
        keys = [key for key in every if not index.one_node_each(key)]
        sets = dict.fromkeys(d.nodes for d in self.demands)
        used = reduce(or_, sets, EMPTY)
        # Position → the sets that it is in, of those that have most nodes the ones that it is not in.
        users: dict[int, list[int]] = {}
        for number, nodes in enumerate(sets):
            for position in positions(min(nodes, used & ~nodes, key=popcount)):
                users.setdefault(position, []).append(number)
        rooms = list(zip(*map(_finite, free), strict=True))

        def kind(position: int) -> tuple[tuple[int, ...], object, object, object]:
            labels = index.nodes[position].labels
            lacking = tuple(k for k in every if k not in labels)
            return rooms[position], tuple(users.get(position, ())), tuple(map(labels.get, keys)), lacking

        for (room, *_), nodes in grouped((position, kind(position)) for position in positions(used)).items():
            yield NodeClass(nodes, nodes.bit_count(), room)

    def request(self, demand: Demand) -> tuple[int, ...]:
        """The request of one pod, per resource of ``resources``."""
        return self._requests[demand]

    def _request(self, demand: Demand) -> tuple[int, ...]:
        wanted = demand.pod.requests
        return (1, *[wanted.get(name, 0) for name in self._countable[1:]], *self._devices.request(demand.pod))

    @property
    def _countable(self) -> Sequence[str]:
        """Return those of ``resources`` that nodes state."""
        return self.resources[: len(self.resources) - len(self._devices.names)]

    def returning(self, nodes: NodeSet) -> Sequence[int]:
        """Return what preempted pods of others, which come back, surely take of these nodes, per resource."""
        taken = [0] * len(self.resources)
        for one in returning_beside_set(self.scenario):
            if not one.nodes & ~nodes:
                amounts = (1, *(one.pod.requests.get(name, 0) for name in self._countable[1:]))
                for r, amount in enumerate(amounts):
                    taken[r] += amount * one.number
        return taken

    def without(self, demand: Demand) -> Problem:
        """The same problem without one demand."""
        less = copy(self)
        less.demands = tuple(d for d in self.demands if d is not demand)
        less.totals = {nodes: list(total) for nodes, total in self.totals.items()}
        for r, amount in enumerate(self.request(demand)):
            less.totals[demand.nodes][r] -= amount * demand.count
        return less

    @cached_property
    def totals(self) -> dict[NodeSet, list[int]]:
        """Set of nodes → sum of requests, per resource, of the demands that may use exactly this set."""
        found: dict[NodeSet, list[int]] = {}
        for demand in self.demands:
            total = found.setdefault(demand.nodes, [0] * len(self.resources))
            for r, amount in enumerate(self._requests[demand]):
                if amount:
                    total[r] += amount * demand.count
        return found

    def limit(self, demand: Demand, place: NodeClass) -> int:
        """Return the most pods of one demand that all nodes of a class can take."""
        if not demand.nodes & place.nodes:
            return 0
        each = demand.count
        for amount, room in zip(self.request(demand), place.room, strict=True):
            if amount > 0:
                each = min(each, max(room, 0) // amount)
        if demand.one_a_node or stands_alone(demand.pod, self.scenario.index, demand.nodes):
            each = min(each, 1)
        return min(demand.count, each * place.size)


def _keys(pod: Pod) -> Iterator[str]:
    for term in (*pod.required_affinity, *pod.required_anti_affinity):
        yield term.topology_key
    for constraint in pod.spread:
        if constraint.is_hard:
            yield constraint.topology_key


def _finite(amounts: Sequence[float]) -> Sequence[int]:
    """Return the amounts of a resource by position as integers, which all but unknown ones are."""
    if inf not in amounts:
        return cast("Sequence[int]", amounts)
    return [1 << 62 if amount == inf else int(amount) for amount in amounts]
