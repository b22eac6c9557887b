"""Upper bounds on how many more pods of one kind a node can hold, true for every scheduling order.

Only necessary conditions are counted (requests, the pod limit, host ports, hostname anti-affinity to itself), so the
real number may be smaller, never larger.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from functools import reduce
from itertools import repeat
from operator import floordiv, or_
from typing import NamedTuple

from msgspec import Struct

from kubesched_lint.engine.cluster.ledger import PODS
from kubesched_lint.engine.cluster.nodes.index import NodeIndex
from kubesched_lint.engine.cluster.nodeset import EMPTY, NodeSet, grouped, positions
from kubesched_lint.engine.cluster.state import ClusterState
from kubesched_lint.engine.model.pod import Pod, PodAffinityTerm, profile_of
from kubesched_lint.engine.scheduler.framework import with_enforced_constraints


class Shortage(Struct, frozen=True):
    """A resource that no node has enough of; ``largest`` is the amount on the best node, ``node``."""

    resource: str
    wanted: int
    largest: int
    node: str


def shortage(pod: Pod, index: NodeIndex, among: NodeSet) -> Shortage | None:
    """Return the resource that excludes the most nodes, by bare allocatable; None if each resource fits on some node.

    Of two resources that exclude as many, it is the one that some node has; of two such, the one written first.
    """
    pod = with_enforced_constraints(pod)
    worst: tuple[int, bool] | None = None
    scarcest = ""
    for resource, amount in pod.requests.items():
        barred = among & index.short_of(resource, amount) if amount > 0 else 0
        if barred:
            rank = barred.bit_count(), bool(among & ~index.short_of(resource, 1))
            if worst is None or rank > worst:
                worst, scarcest = rank, resource
    return _shortage_of(scarcest, pod, index, among) if scarcest else None


def shortages(pod: Pod, index: NodeIndex, among: NodeSet) -> Iterator[Shortage]:
    """Yield each resource that none of ``among`` has enough of, by bare allocatable."""
    pod = with_enforced_constraints(pod)
    for resource, amount in pod.requests.items():
        if amount > 0 and not among & ~index.short_of(resource, amount):
            yield _shortage_of(resource, pod, index, among)


def _shortage_of(resource: str, pod: Pod, index: NodeIndex, among: NodeSet) -> Shortage:
    best = index.largest(resource, among)
    return Shortage(resource, pod.requests[resource], int(index.allocatable(resource)[best]), index.names[best])


def too_small(pod: Pod, index: NodeIndex, among: NodeSet) -> Iterator[tuple[Shortage, NodeSet]]:
    """Yield the nodes of ``among`` whose bare allocatable never holds the pod, grouped by the lacking resource."""
    while (short := shortage(pod, index, among)) is not None:
        lacking = among & index.short_of(short.resource, short.wanted)
        yield _shortage_of(short.resource, pod, index, lacking), lacking
        among &= ~lacking


def copies(pod: Pod, state: ClusterState, among: NodeSet, most: int) -> Iterator[tuple[int, int]]:
    """Return position and upper bound (0 to ``most``) of further pods like this one, per node of ``among``."""
    pod = with_enforced_constraints(pod)
    limits = [(state.ledger.free(PODS), 1)] if "NodeResourcesFit" in profile_of(pod).filters else []
    limits += [(state.ledger.free(name), amount) for name, amount in pod.requests.items() if amount > 0]
    taken = 0
    for port in pod.host_ports:
        taken |= state.port_conflicts(port)
    cap = min(most, 1) if stands_alone(pod, state.index, among) else most
    at = list(positions(among))
    # Infinite // amount is not a number, and no less than the cap: a node that does not state a resource has no limit.
    left = [map(floordiv, map(free.__getitem__, at), repeat(amount)) for free, amount in limits]
    room: Iterator[int] = map(max, map(min, repeat(cap), repeat(cap), *left), repeat(0))
    if taken:
        room = (0 if taken >> position & 1 else free_copies for position, free_copies in zip(at, room, strict=False))
    return zip(at, room, strict=False)


def copies_key(pod: Pod) -> Hashable:
    """Return all that ``copies`` reads of a pod: on equal nodes, another pod of the kind has room as often."""
    pod = with_enforced_constraints(pod)
    keys = (t.topology_key for t in pod.required_anti_affinity if _surely_selects_its_own(t, pod))
    return pod.profile, frozenset(pod.requests.items()), pod.host_ports, frozenset(keys)


def stands_alone(pod: Pod, index: NodeIndex, among: NodeSet) -> bool:
    """Return whether no two pods like this one share a node of ``among``, because of host ports or anti-affinity.

    A term counts only if it selects its own pods whatever the labels of their namespace are.
    """
    pod = with_enforced_constraints(pod)
    return bool(pod.host_ports) or any(
        not among & ~index.with_key(term.topology_key) and _surely_selects_its_own(term, pod)
        for term in pod.required_anti_affinity
    )


def _surely_selects_its_own(term: PodAffinityTerm, pod: Pod) -> bool:
    selector, space = term.selector, term.namespace_selector
    named = pod.namespace in term.namespaces if term.namespaces else space is None
    return (
        selector is not None
        and selector.surely_matches(pod.labels, pod.varying)
        and (named or (space is not None and space.is_empty))
    )


class Apart(NamedTuple):
    """The room of nodes for pods that each need a domain of a key of their own."""

    domains: int
    """Domains with an open node: each takes one pod."""
    loose: int
    """The room of the nodes without the key, which are in no domain."""

    @property
    def total(self) -> int:
        return self.domains + self.loose


class Room:
    """The room of nodes for equal pods, up to some number on each: a set of nodes for each number, not one by one."""

    def __init__(self, on: Iterable[tuple[int, int]]) -> None:
        """``on``: each node once, as its position and the pods that it takes."""
        self._nodes = grouped(on)
        """Pods → the nodes with room for so many."""
        self.open_ = reduce(or_, (nodes for room, nodes in self._nodes.items() if room), EMPTY)
        """Nodes with room for at least one pod."""

    def by_position(self) -> dict[int, int]:
        """Return position of a node → pods."""
        return {position: room for room, nodes in self._nodes.items() for position in positions(nodes)}

    def within(self, among: NodeSet, most: int) -> int:
        """Return how many pods the nodes of ``among`` take, at most ``most`` each."""
        return sum(min(room, most) * (nodes & among).bit_count() for room, nodes in self._nodes.items())

    def apart(self, key: str, index: NodeIndex, among: NodeSet, most: int) -> Apart:
        """Return the same for pods that repel each other over a key."""
        return Apart(index.domains_of(key, self.open_ & among), self.within(among & ~index.with_key(key), most))

    def within_apart(self, terms: Iterable[PodAffinityTerm], index: NodeIndex, among: NodeSet, most: int) -> int:
        """Return the same for pods that repel each other by each of ``terms``."""
        each = (self.apart(term.topology_key, index, among, most).total for term in terms)
        return min([self.within(among, most), *each])


def total_copies(pod: Pod, state: ClusterState, among: NodeSet, most: int) -> int:
    """Return the upper bound over all nodes of ``among``, at most ``most``."""
    total = 0
    for _, room in copies(pod, state, among, most):
        total += room
        if total >= most:
            return most
    return total


def tightest_resource(pod: Pod, state: ClusterState, among: NodeSet) -> str:
    """Return the resource that limits pods like this one on ``among`` most; ``pods`` if it requests nothing."""
    pod = with_enforced_constraints(pod)
    free = {PODS: sum(max(0, state.ledger.free(PODS)[i]) for i in positions(among))}
    for name, amount in pod.requests.items():
        if amount > 0:
            free[name] = sum(max(0, state.ledger.free(name)[i] // amount) for i in positions(among))
    return min(free, key=lambda name: free[name])
