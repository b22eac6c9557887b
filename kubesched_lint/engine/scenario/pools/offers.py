"""What pools offer: every kind of node that they can make for some pods, with its DaemonSets, and which look alike."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import islice

from msgspec import Struct

from kubesched_lint.engine.base.identity import Itself
from kubesched_lint.engine.base.partly_compared import same_values
from kubesched_lint.engine.cluster.limits import MOST_KINDS
from kubesched_lint.engine.cluster.nodepools.label_demand import LabelDemand
from kubesched_lint.engine.cluster.nodepools.templates import NodeTemplate, overlaid, templates
from kubesched_lint.engine.cluster.nodes.index import NodeIndex
from kubesched_lint.engine.cluster.nodeset import NodeSet
from kubesched_lint.engine.controllers.daemonset import hosts
from kubesched_lint.engine.model.nodes.node import KARPENTER, ZONE, Node, NodeOverlay, NodePool
from kubesched_lint.engine.model.pod import Pod, Resources

_REMEMBERED = 4


class NodeOffer(Struct, frozen=True, eq=False):
    """A kind of node with its DaemonSet pods; ``room`` is the most that they can leave, None if unknown."""

    template: NodeTemplate
    daemons: tuple[Pod, ...]
    room: Resources | None

    @property
    def size(self) -> tuple[bool, int, int]:
        """Sort key: smallest first, unknown last."""
        room = self.template.shape.allocatable
        return (True, 0, 0) if room is None else (False, room.get("cpu", 0), room.get("memory", 0))

    def node(self, number: int) -> Node:
        """Return the ``number``-th node of this kind."""
        return self.template.node(number, self.room)


class OfferGroup(Struct, frozen=True):
    """Offers that pods cannot distinguish by label or taint, the largest first."""

    offers: Sequence[NodeOffer]
    largest: Sequence[NodeOffer]
    """Those that no other offer exceeds in every resource."""


class PoolOffers(Struct, frozen=True):
    """All that some pools could make for a demand."""

    offers: Sequence[NodeOffer]
    groups: Sequence[OfferGroup]
    complete: bool
    """Whether ``offers`` are all: each pool has at most so many."""
    idle: frozenset[str]


_recent: list[tuple[object, PoolOffers]] = []
"""What was made last: most scenarios of a run have the same pools and ask for the same."""


def made_by(
    pools: tuple[NodePool, ...],
    demand: LabelDemand,
    zones: tuple[str, ...],
    daemons: tuple[tuple[Pod, bool], ...],
    device_resources: frozenset[str],
    overlays: tuple[NodeOverlay, ...],
) -> PoolOffers:
    """Return what pools could make for a demand, with DaemonSets and whether they surely run there.

    ``zones`` are those of today's nodes.
    """
    written = tuple((pool.path, Itself(pool.source)) for pool in pools)  # equal pools of two files are not the same
    asked = (pools, written, demand, tuple(demand.asked), zones, daemons, device_resources, overlays)
    for at, (before, made) in enumerate(_recent):
        if same_values(before, asked):
            _recent.append(_recent.pop(at))
            return made
    offers: list[NodeOffer] = []
    groups: list[OfferGroup] = []
    complete = True
    most = min(MOST_KINDS, 10 * MOST_KINDS // len(pools))
    for pool in pools:
        kinds = tuple(islice(templates(pool, demand, zones, most), MOST_KINDS + 1))
        if overlays and pool.maker == KARPENTER:
            kinds = tuple(overlaid(kind, overlays) for kind in kinds)
        complete = complete and len(kinds) <= MOST_KINDS
        pool_offers = tuple(offers_of(kinds[:MOST_KINDS], daemons, device_resources))
        offers += pool_offers
        groups += offer_groups(pool_offers, demand)
    idle = frozenset(pool.name for pool in pools) - {offer.template.pool.name for offer in offers}
    made = PoolOffers(offers, groups, complete, idle)
    _recent.append((asked, made))
    del _recent[:-_REMEMBERED]
    return made


def offers_of(
    kinds: Sequence[NodeTemplate], daemons: Sequence[tuple[Pod, bool]], device_resources: Collection[str] = ()
) -> Iterator[NodeOffer]:
    """Yield each kind of node with the DaemonSet pods that run there; only those marked as certain take room there."""
    going: list[tuple[Pod, bool, NodeSet]] = []
    if daemons:
        # Any names do, and those of thousands of kinds take longer to make than the nodes.
        index = NodeIndex([kind.named(f"{at}", kind.offered) for at, kind in enumerate(kinds)], device_resources)
        going = [(pod, is_certain, hosts(pod, index)) for pod, is_certain in daemons]
    known: dict[tuple[object, ...], tuple[tuple[Pod, ...], Resources | None]] = {}
    for position, kind in enumerate(kinds):
        key = (Itself(kind.shape), *(nodes >> position & 1 for _, _, nodes in going))  # the same in each zone
        daemons_and_room = known.get(key)
        if daemons_and_room is None:
            going_on = [(pod, is_certain) for pod, is_certain, nodes in going if nodes >> position & 1]
            sure = _fitting(kind.bound, (pod for pod, is_certain in going_on if is_certain), device_resources)
            daemons_and_room = known[key] = tuple(pod for pod, _ in going_on), room_beside(kind.bound, sure)
        yield NodeOffer(kind, *daemons_and_room)


def _fitting(allocatable: Resources | None, daemons: Iterable[Pod], device_resources: Collection[str]) -> Sequence[Pod]:
    """Return the DaemonSet pods; none if they do not all fit on the empty node: then nobody knows which of them run."""
    pods = tuple(daemons)
    wanted: dict[str, int] = {"pods": len(pods)}
    for pod in pods:
        for name, amount in pod.requests.items():
            wanted[name] = wanted.get(name, 0) + amount
    known = allocatable or {}
    limited = {name: n for name, n in wanted.items() if known.get(name) or name not in device_resources}
    fits = allocatable is None or all(amount <= known.get(name, 0) for name, amount in limited.items())
    return pods if fits else ()


def room_beside(allocatable: Resources | None, daemons: Iterable[Pod]) -> Resources | None:
    """Return what the DaemonSet pods leave; never below 0."""
    if allocatable is None:
        return None
    left = dict(allocatable)
    for pod in daemons:
        for name, amount in (("pods", 1), *pod.requests.items()):
            left[name] = max(0, left.get(name, 0) - amount)
    return left


def offer_groups(offers: Sequence[NodeOffer], demand: LabelDemand) -> Iterator[OfferGroup]:
    """Yield groups of offers that pods cannot distinguish."""
    groups: dict[object, list[NodeOffer]] = {}
    keys = tuple({*demand.asked, ZONE})
    for offer in offers:
        groups.setdefault(_seen_of(offer, keys), []).append(offer)
    for group in groups.values():
        group.sort(key=lambda o: o.size, reverse=True)
        yield OfferGroup(group, _largest(group))


def _seen_of(offer: NodeOffer, keys: Iterable[str]) -> object:
    """Return what pods can tell about a kind of node, besides its room, by labels with these keys."""
    return offer.template.taints, Itself(offer.template.pool.devices), tuple(map(offer.template.labels.get, keys))


def _largest(group: Sequence[NodeOffer]) -> Sequence[NodeOffer]:
    """Return the offers of an ordered group that no other offer exceeds in every resource."""
    kept: list[NodeOffer] = []
    for offer in group:
        if not any(_outdoes(other, offer) for other in kept):
            kept.append(offer)
    return kept


def _outdoes(offer: NodeOffer, other: NodeOffer) -> bool:
    """Return whether one leaves at least as much room of everything, so far as known."""
    if offer.room is None:  # it may be of any size
        return True
    if other.room is None:
        return False
    return all(offer.room.get(name, 0) >= amount for name, amount in other.room.items())
