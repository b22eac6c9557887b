"""Upper bounds on the nodes that other pods of a set can fill, so that one more pod of a workload has no room there.

To fill a node takes enough pods: no more than exist, only of workloads that may use the node, and one per node if they
exclude each other. If the pods cannot fill more than n nodes, all other nodes stay open, whatever the order and
whatever the scheduler prefers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from functools import reduce
from math import inf
from operator import mul, or_
from sys import maxsize
from typing import NamedTuple

from kubesched_lint.engine.bounds.competition.contention import Competitor, contention_of
from kubesched_lint.engine.bounds.competition.demand import demand_of, taken
from kubesched_lint.engine.bounds.competition.filling import Filler, Filling, Group
from kubesched_lint.engine.bounds.competition.rivals import CompetingPods, SameRoom, rivals_of, same_room_of
from kubesched_lint.engine.cluster.nodeset import NodeSet, lowest
from kubesched_lint.engine.controllers.bounds import daemon_bounds
from kubesched_lint.engine.events.limits import FEW_RUN
from kubesched_lint.engine.events.start.simulated_set import SimulatedMember, SimulatedSet, once_per_set
from kubesched_lint.engine.model.pod import Pod


class Sought(NamedTuple):
    """How sharp a bound must be: below ``enough`` no sharper; if not ``exactly``, above it neither."""

    enough: int = 0
    exactly: bool = True


def max_full_nodes(member: SimulatedMember, own: int, among: NodeSet, sought: Sought) -> int:
    """Return the most nodes of ``among`` without room for a pod of the workload, given ``own`` other pods of it.

    The result is the least of three bounds. (1) A node is full when one resource is: sum the nodes that the demand for
    each resource can fill. (2) A pod is on one node only and fills at most its largest share of what is missing there:
    the sum of all pods' largest shares, for any weights of the nodes, bounds the weight of the full nodes. (3) Pods are
    whole (``filling``).
    """

    def full(rivals: CompetingPods) -> int:
        return _full_nodes(member, rivals, among, sought.enough)

    if not _may_fill(member, own, among):
        return 0
    found = _of_all_alike(member, own, among, sought, full)
    if found is not None:
        return found
    known, key = _known(member.set), (*_room_key(member), own, among, sought.enough)
    if key not in known:
        known[key] = full(rivals_of(member, own))
    return known[key]


def _of_all_alike(
    member: SimulatedMember,
    own: int,
    asked: Hashable,
    sought: Sought,
    full: Callable[[CompetingPods], int],
) -> int | None:
    """Return a bound that holds for all workloads alike; None if one for this workload may say more."""
    same = same_room_of(member)
    enough, exactly = sought
    if same is None or own > same.most or (exactly and enough <= 0):  # no bound is below 0
        return None
    most, least = _known_of_alike(member.set).setdefault((same, asked), (_Bound(), _Bound()))
    if most.is_below(enough, lambda: full(same.most_rivals)):
        return most.least
    if exactly or least.is_below(enough, lambda: full(same.least_rivals)):
        return None
    return most.least


class _Bound:
    """What is known of a bound that is no sharper than it is asked for."""

    __slots__ = ("least", "reached")

    def __init__(self) -> None:
        self.least = maxsize
        """The sharpest bound that is known."""
        self.reached = -1
        """The largest number that no bound is below."""

    def is_below(self, enough: int, bound: Callable[[], int]) -> bool:
        """Return whether ``bound``, which need not be sharper than below ``enough``, is below it."""
        if self.least >= enough > self.reached:
            found = bound()
            self.least = min(self.least, found)
            if found >= enough:
                self.reached = enough
        return self.least < enough


@once_per_set
def _known_of_alike(simulated: SimulatedSet) -> dict[tuple[SameRoom, Hashable], tuple[_Bound, _Bound]]:
    """Return the cache: (workloads, nodes) → the bounds beside the most and the least of their rivals."""
    return {}


@once_per_set
def _known(simulated: SimulatedSet) -> dict[Hashable, int]:
    """Return the cache of bounds, by what they depend on: equal workloads share them."""
    return {}


def _room_key(member: SimulatedMember) -> tuple[Hashable, ...]:
    """Return everything about a workload that the contenders near its pods, and where they find room, depend on."""
    pod, workload = member.pod, member.workload
    is_daemon = workload.kind == "DaemonSet"
    groups = contention_of(member.set).alike_of(member.number).items()
    own = tuple((place, sum(r.pod is pod for r in alike)) for place, alike in groups)
    surges = is_daemon and daemon_bounds(workload.strategy, 1)[0] > 0
    return frozenset(pod.requests.items()), member.usable, is_daemon, surges, own


def _full_nodes(member: SimulatedMember, rivals: CompetingPods, among: NodeSet, enough: int) -> int:
    simulated = member.set
    if not _may_fill(member, rivals.own_pods, among):
        return 0
    wants = _wants(member.pod)
    if _are_many(simulated, rivals, among):
        demand = demand_of(simulated, among)
        return min(sum(demand.most_filled(rivals, r, want) for r, want in wants.items()), among.bit_count())
    near = _near(simulated, wants, rivals, among)
    resources = [r for r in wants if any(r in k.missing for k in near.kinds)]
    full = sum(_full_by(r, near.kinds, near.choosing, among) for r in resources)
    if resources and full >= enough:  # else it need not be sharper
        full = min(full, *_full_by_all(resources, near.kinds, near.choosing))
    full = min(full, among.bit_count())
    if full >= enough > 0:
        single = [Group(kind.size, ((i, 1),)) for i, kind in enumerate(near.kinds)]
        full = min(full, _full_by_patterns(simulated, near, single, enough))
    return full


def max_full_domains(member: SimulatedMember, own: int, domains: Sequence[NodeSet], enough: int, spared: int) -> int:
    """Return the most domains in which all nodes except ``spared`` ones can be full; see ``max_full_nodes``."""

    def full(rivals: CompetingPods) -> int:
        return _full_domains(member, rivals, domains, enough, spared)

    if not _may_fill(member, own, reduce(or_, domains, 0)):
        return sum(domain.bit_count() <= spared for domain in domains)
    if enough <= 0:  # no bound is below it
        return len(domains)
    found = _of_all_alike(member, own, (*domains, spared), Sought(enough), full)
    return full(rivals_of(member, own)) if found is None else found


def _full_domains(
    member: SimulatedMember, rivals: CompetingPods, domains: Sequence[NodeSet], enough: int, spared: int
) -> int:
    simulated = member.set
    among = reduce(or_, domains, 0)
    if not _may_fill(member, rivals.own_pods, among):
        return sum(domain.bit_count() <= spared for domain in domains)
    if _are_many(simulated, rivals, among):
        return len(domains)
    near = _near(simulated, _wants(member.pod), rivals, among)
    parts = [[(i, (kind.nodes & domain).bit_count()) for i, kind in enumerate(near.kinds)] for domain in domains]
    alike = Counter(tuple((i, n) for i, n in part if n) for part in parts)
    return _full_by_patterns(simulated, near, [Group(n, nodes) for nodes, n in alike.items()], enough, spared)


class _Near(NamedTuple):
    """The contenders that may take a pod's room, and where."""

    kinds: Sequence[_Kind]
    choosing: Sequence[Competitor]
    """Rivals that can choose among their nodes."""


def _wants(pod: Pod) -> Mapping[str, int]:
    return {"pods": 1, **{name: amount for name, amount in pod.requests.items() if amount}}


def _may_fill(member: SimulatedMember, own: int, among: NodeSet) -> bool:
    """Whether all demand for a resource, with that of ``own`` other pods, can leave no room on a node of ``among``."""
    wants = _wants(member.pod).items()
    return bool(among) and any(_may_run_short(member.set, r, each, own, among) for r, each in wants)


def _are_many(simulated: SimulatedSet, rivals: CompetingPods, among: NodeSet) -> bool:
    """Whether there are too many to check which contender may use which node: if all may use all, more may be full."""
    demand = demand_of(simulated, among)
    return len(demand.kinds) * demand.contenders(rivals) > FEW_RUN


def _near(simulated: SimulatedSet, wants: Mapping[str, int], rivals: CompetingPods, among: NodeSet) -> _Near:
    """Return the contenders near a pod."""
    beside = [_together(r, times) for r, times in rivals.groups() if r.nodes & among]
    kinds = [
        _Kind(here, here.bit_count(), dict(_missing(simulated, wants, kind, here, rivals)))
        for kind, here in demand_of(simulated, among).kinds
    ]
    return _Near(kinds, [r for r in beside if not r.everywhere])


def _full_by_patterns(
    simulated: SimulatedSet, near: _Near, groups: Sequence[Group], enough: int, spared: int = 0
) -> int:
    """Return the most groups of nodes that whole pods can fill; see ``filling``."""
    resources = sorted({r for kind in near.kinds for r in kind.missing})
    reaches: dict[NodeSet, tuple[frozenset[int], int]] = {}
    """Nodes of contenders → the kinds of nodes among them, and their number."""
    found: dict[tuple[frozenset[int], tuple[int, ...]], tuple[int, int]] = {}
    """(kinds of nodes, requests) → the number of pods, the most on one node."""
    for contender in near.choosing:
        if contender.nodes not in reaches:
            sizes = {
                i: here for i, kind in enumerate(near.kinds) if (here := (contender.nodes & kind.nodes).bit_count())
            }
            reaches[contender.nodes] = frozenset(sizes), sum(sizes.values())
        reach, nodes = reaches[contender.nodes]
        amounts = tuple([taken(contender.pod, r) for r in resources])
        count, on_each = min(contender.count, contender.on_each * nodes), min(contender.count, contender.on_each)
        if count and any(amounts):
            alike = found.get((reach, amounts), (0, 0))
            found[reach, amounts] = alike[0] + count, alike[1] + on_each
    kinds = [kind.missing for kind in near.kinds]
    missing = tuple(tuple(kind.items()) for kind in kinds)
    known, asked = _fillings(simulated), (missing, tuple(groups), tuple(found.items()), spared)
    if asked not in known:
        fillers = [Filler(dict(zip(resources, key[1], strict=True)), *counts, key[0]) for key, counts in found.items()]
        known[asked] = Filling(kinds, groups, fillers, spared)
    return known[asked].most(enough)


@once_per_set
def _fillings(simulated: SimulatedSet) -> dict[Hashable, Filling]:
    """Return the cache of what pods can fill, by everything that it depends on."""
    return {}


class _Kind(NamedTuple):
    """Nodes that are equal for all pods of the set."""

    nodes: NodeSet
    size: int
    missing: dict[str, float]
    """Resource → requests of choosing pods that fill one node; without resources that they cannot fill."""


def _may_run_short(simulated: SimulatedSet, resource: str, want: int, own: int, among: NodeSet) -> bool:
    demand = contention_of(simulated).demand.get(resource, 0) + own * want
    known, key = _least_free(simulated), (resource, among)
    if key not in known:
        free = simulated.cluster.ledger.free(resource)
        at = (lowest(kind & among) for kind in contention_of(simulated).kinds)
        known[key] = min((free[p] for p in at if p >= 0), default=inf)
    return known[key] - want < demand


@once_per_set
def _least_free(simulated: SimulatedSet) -> dict[tuple[str, NodeSet], float]:
    """Return the cache: (resource, nodes) → the least that is free on one of them."""
    return {}


def _missing(
    simulated: SimulatedSet,
    wants: Mapping[str, int],
    kind: int,
    nodes: NodeSet,
    rivals: CompetingPods,
) -> Iterator[tuple[str, float]]:
    """Yield (resource, missing amount) on a node of a kind."""
    at = lowest(nodes)
    for resource, want in wants.items():
        fixed, most = _sums(simulated, kind, resource)
        for sign, contenders in ((-1, rivals.without), (1, rivals.own)):
            for contender in contenders:
                if contender.nodes >> at & 1:
                    each = sign * taken(contender.pod, resource)
                    fixed += each * contender.on_each if contender.everywhere else 0
                    most += 0 if contender.everywhere else each * min(contender.count, contender.on_each)
        cost = simulated.cluster.ledger.free(resource)[at] - want + 1 - fixed
        if cost <= most:
            yield resource, max(cost, 0)


def _sums(simulated: SimulatedSet, kind: int, resource: str) -> tuple[int, int]:
    """Return all requests on one node of a kind: of contenders that must be there, of those that choose it."""
    contention = contention_of(simulated)
    found = contention.sums.get((kind, resource))
    if found is None:
        at = lowest(contention.kinds[kind])
        there = [r for _, r in contention.contenders if r.nodes >> at & 1]
        found = contention.sums[kind, resource] = (
            sum(taken(r.pod, resource) * r.on_each for r in there if r.everywhere),
            sum(taken(r.pod, resource) * min(r.count, r.on_each) for r in there if not r.everywhere),
        )
    return found


def _full_by(resource: str, kinds: Sequence[_Kind], choosing: Sequence[Competitor], among: NodeSet) -> int:
    """Return the number of nodes that the whole demand for one resource can fill, the cheapest first."""
    left: float = sum(
        each * min(r.count, r.on_each * (r.nodes & among).bit_count())
        for r in choosing
        if (each := taken(r.pod, resource))
    )
    return _bought(left, [(k.missing[resource], k.size) for k in kinds if resource in k.missing])


def _full_by_all(resources: Sequence[str], kinds: Sequence[_Kind], choosing: Sequence[Competitor]) -> Iterator[int]:
    """Yield the most nodes that all pods can fill; a node's weight is what one of the resources misses there, or 1.

    On a full node the largest shares of its pods sum to 1 or more, also if none counts as more. So the weights of all
    full nodes sum to at most the largest shares of all pods, each times the weight of the node where it counts most.
    """
    free = sum(k.size for k in kinds if k.missing and not min(k.missing.values()))
    priced = [k for k in kinds if k.missing and min(k.missing.values())]
    sizes: dict[NodeSet, int] = {}
    pods: dict[tuple[NodeSet, tuple[int, ...]], int] = {}
    """(nodes that pods may use, their requests) → number of such pods."""
    for contender in choosing:
        nodes = contender.nodes
        if nodes not in sizes:
            sizes[nodes] = sum((nodes & k.nodes).bit_count() for k in priced)
        key = nodes, tuple([taken(contender.pod, r) for r in resources])
        pods[key] = pods.get(key, 0) + min(contender.count, contender.on_each * sizes[nodes])
    for weight in (*resources, ""):
        weighed = [(k, max(k.missing.get(weight, 1), 1)) for k in priced]
        dearest = {nodes: _dearest(nodes, weighed, resources) for nodes in sizes}
        power = sum(
            count * min(max(map(mul, asked, dearest[nodes].each)), dearest[nodes].whole)
            for (nodes, asked), count in pods.items()
        )
        yield free + _bought(power * (1 + 1e-9), [(w, k.size) for k, w in weighed])


class _Dearest(NamedTuple):
    """What a pod can fill of the weight of the nodes that it may use."""

    each: Sequence[float]
    """For each resource: the highest weight of one of the nodes per unit that it misses there."""
    whole: float
    """The highest weight of one of the nodes."""


def _dearest(nodes: NodeSet, weighed: Sequence[tuple[_Kind, float]], resources: Sequence[str]) -> _Dearest:
    here = [(k.missing, w) for k, w in weighed if nodes & k.nodes]
    each = [max((w / missing[r] for missing, w in here if r in missing), default=0.0) for r in resources]
    return _Dearest(each, max((w for _, w in here), default=0.0))


def _bought(left: float, prices: list[tuple[float, int]]) -> int:
    """Return how many items ``left`` pays for, with ``prices`` as (price, number of items)."""
    found = 0
    for price, size in sorted(prices):
        several = size if not price else min(size, int(left // price))
        found, left = found + several, left - several * price
        if several < size:
            break
    return found


def takers_of_ports(member: SimulatedMember, among: NodeSet) -> int:
    """Return the most nodes where pods of others may take a host port of the workload."""
    ports = {(p.protocol, p.port) for p in member.pod.host_ports}
    return sum(
        min(r.count, (r.nodes & among).bit_count())
        for i, r in contention_of(member.set).contenders
        if i != member.number and ports & {(p.protocol, p.port) for p in r.pod.host_ports}
    )


def _together(contender: Competitor, times: int) -> Competitor:
    """Return ``times`` equal contenders as one, with all counts multiplied."""
    if times == 1:
        return contender
    return Competitor(
        contender.pod, times * contender.count, contender.nodes, times * contender.on_each, contender.everywhere
    )
