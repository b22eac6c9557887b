"""The nodes that a plan of growth chooses from: offers with their spare nodes, in groups of alike ones."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Hashable, Iterable, Mapping, Sequence
from operator import attrgetter

from kubesched_lint.engine.base.identity import Itself
from kubesched_lint.engine.cluster.nodepools.label_demand import topology_keys
from kubesched_lint.engine.cluster.nodepools.templates import fits_limits
from kubesched_lint.engine.cluster.nodeset import EMPTY, NodeSet, holds, lowest, of, only
from kubesched_lint.engine.cluster.state import ClusterState
from kubesched_lint.engine.model.nodes.node import HOSTNAME, Node
from kubesched_lint.engine.model.pod import Pod
from kubesched_lint.engine.placing.placing import Copies, Placing
from kubesched_lint.engine.scenario.pools.offers import NodeOffer
from kubesched_lint.engine.scheduler.capacity import copies
from kubesched_lint.engine.scheduler.framework import diagnose

FIRST = 2
"""Initial number of spare nodes per offer; with only one, every added node would force a rebuild of the state."""


class NodeCandidates:
    """An offer with its spare nodes: how many were added, and where in the state the free ones are."""

    __slots__ = ("added", "free", "is_full", "machine", "made", "offer", "pool", "rank", "size", "wanted")

    def __init__(self, offer: NodeOffer, machine: int, number: int) -> None:
        self.offer = offer
        self.machine = machine
        """Number of the kind of machine: its nodes have the same room, whatever their pools."""
        self.pool = offer.template.pool
        self.size = offer.size
        self.rank = (self.size, not self.pool.sees_empty_zones, number)
        """The order of preference among offers for which nothing else decides."""
        self.added = 0
        self.wanted = FIRST
        """Number of spare nodes to hold."""
        self.free = range(0)
        """Positions of the spare nodes in the state."""
        self.is_full = False
        """Whether the pool's limits allow no more of its nodes."""
        self.made: list[Node] = []

    def spares(self) -> Sequence[Node]:
        """Spare nodes without pods; their DaemonSet pods are placed later, so that their ports and terms count too."""
        template, most = self.offer.template, self.added + self.wanted
        if len(self.made) < most:
            stem, offered = template.stem, template.offered
            self.made += (template.named(f"{stem}-{n}", offered) for n in range(len(self.made) + 1, most + 1))
        return self.made[self.added : most]


def stocks_of(offers: Iterable[NodeOffer]) -> Sequence[NodeCandidates]:
    """Return a stock of each offer, in their order, with machines numbered from 0."""
    machines: dict[tuple[object, ...], int] = {}
    stocks = []
    for number, offer in enumerate(offers):
        room = (Itself(offer.template.shape), *offer.daemons)
        stocks.append(NodeCandidates(offer, machines.setdefault(room, len(machines)), number))
    return stocks


class Group:
    """Stocks that differ only in the machine, and in labels that the pool may choose; the smallest first."""

    __slots__ = ("has_full", "is_blind", "is_sized", "nodes", "pool", "stocks")

    def __init__(self, stocks: Iterable[NodeCandidates]) -> None:
        self.stocks: Sequence[NodeCandidates] = sorted(stocks, key=attrgetter("rank"))
        self.pool = self.stocks[0].pool
        self.is_blind = not self.pool.sees_empty_zones
        """Whether the autoscaler does not count empty zones as domains."""
        self.is_sized = self.stocks[0].offer.template.shape.allocatable is not None
        """Whether the sizes of the machines are known."""
        self.nodes: NodeSet = EMPTY
        """The spare nodes in the state, and those that were added since it was built."""
        self.has_full = False

    def note_full(self, left: Mapping[str, int]) -> None:
        """Note which nodes the pool's limits, of which this is left, no longer allow."""
        for stock in self.stocks:
            stock.is_full = fits_limits(stock.offer.template, left) == 0
        self.has_full = any(stock.is_full for stock in self.stocks)


def groups_of(stocks: Iterable[NodeCandidates]) -> Sequence[Group]:
    """Return the groups of stocks, in the order of their first ones."""
    alike: dict[Hashable, list[NodeCandidates]] = {}
    for stock in stocks:
        template = stock.offer.template
        kind = (stock.pool.name, template.zone, template.taints, template.shape.allocatable is None)
        alike.setdefault(kind, []).append(stock)
    return [Group(members) for members in alike.values()]


def fullest(
    pod: Pod,
    most: int,
    groups: Sequence[Sequence[NodeCandidates]],
    machines: Sequence[NodeCandidates],
    state: ClusterState,
) -> NodeCandidates:
    """Return the stock of which an empty node holds most pods like this one, up to ``most``, by every filter.

    A smaller machine never holds more pods, so only the largest of each group is tried with all filters; the others are
    counted. ``machines``: a stock of each kind of machine.
    """
    kinds: Iterable[int] = range(len(machines))
    if sum(map(len, groups)) < len(machines):
        kinds = {stock.machine for stocks in groups for stock in stocks}
    empty = {kind: machines[kind].free[0] for kind in kinds}
    rooms = dict(copies(pod, state, of(empty.values()), most))
    room = {kind: max(1, rooms[position]) for kind, position in empty.items()}
    largest = [stocks[bisect_left(stocks, stocks[-1].size, key=attrgetter("size"))] for stocks in groups]
    held = _held(pod, [(stock, room[stock.machine]) for stock in largest], state)
    most = max(held)
    return min(
        (
            next((s for s in stocks if room[s.machine] >= most), stock)
            for stocks, stock, count in zip(groups, largest, held, strict=True)
            if count == most
        ),
        key=attrgetter("rank"),
    )


def _held(pod: Pod, stocks: Iterable[tuple[NodeCandidates, int]], state: ClusterState) -> Sequence[int]:
    """Return how many pods, of at most so many, an empty node of each stock holds; 1 also if it holds none.

    Nodes that the pod cannot distinguish hold as many: only one of them is tried.
    """
    feasible = diagnose(pod, state).feasible
    keys = {*topology_keys(pod), *state.classes.repelling.topology_keys}
    has_claims = bool(pod.volumes) or state.may_serve(pod)
    if not (keys or has_claims):  # only room limits the pods after the first, and room is counted
        return [most if holds(feasible, stock.free[0]) else 1 for stock, most in stocks]
    keys.discard(HOSTNAME)
    known: dict[Hashable, int] = {}
    pods_each = []
    for stock, most in stocks:
        position = stock.free[0]
        labels = state.index.nodes[position].labels
        look = stock if has_claims else (stock.machine, *map(labels.get, keys))
        kind = look, holds(feasible, position)
        if kind not in known:
            copies_of_it = Copies(pod, None, most)
            with state.undone():
                Placing([copies_of_it], state, choose=lowest, among=only(position)).run()
            known[kind] = max(most - copies_of_it.left, 1)
        pods_each.append(known[kind])
    return pods_each
