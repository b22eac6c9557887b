"""The most pods of a workload that one hard spread constraint allows, counted as in ``scheduler/topology``.

Running pods that may go (others by preemption, its own by a rollout) count for the minimum, but not against their own
domain.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

from kubesched_lint.cluster.nodeset import NodeSet
from kubesched_lint.model.pod import SpreadConstraint
from kubesched_lint.model.workload import Workload
from kubesched_lint.scheduler import topology
from kubesched_lint.world.neighbours import others_selected, repelled_by_running
from kubesched_lint.world.room import kind_of_copies, most_copies_by_domain
from kubesched_lint.world.running import all_running_pods, matching_by_domain
from kubesched_lint.world.staying import staying, staying_beside_set
from kubesched_lint.world.world import Member, World, once_per_world

if TYPE_CHECKING:
    from kubesched_lint.world.running import RunningPods


class SpreadRoom(Struct, frozen=True):
    """Capacity and allowed number of pods per domain.

    ``blocked`` are domains that count although the pod can use none of their nodes; ``too_few``: minDomains makes the
    minimum 0.
    """

    capacity: Mapping[str, int]
    placeable: Mapping[str, int]
    blocked: tuple[str, ...]
    too_few: bool
    most: int
    """The upper limit that holds even if workloads of the set preempt running pods of others."""

    @property
    def total(self) -> int:
        return sum(self.placeable.values())

    @property
    def terms(self) -> str:
        """Return ``total`` as a sum: ``2 in eu-west-1a + 1 in eu-west-1b``."""
        return " + ".join(f"{pods} in {domain}" for domain, pods in self.placeable.items())


@once_per_world
def _rooms(world: World) -> dict[tuple[Workload, SpreadConstraint, int | None], SpreadRoom | None]:
    return {}


def spread_room(it: Member, constraint: SpreadConstraint, replicas: int | None = None) -> SpreadRoom | None:
    """The bound for a workload's hard constraint; None if pods of others may still add to the counts.

    ``replicas`` defaults to the replicas at the start. A constraint that does not select its own pods bounds nothing.
    """
    key = (it.workload, constraint, replicas)
    known = _rooms(it.world)
    if key not in known:  # half a dozen rules ask
        known[key] = _spread_room(it, constraint, replicas)
    return known[key]


def _spread_room(it: Member, constraint: SpreadConstraint, replicas: int | None) -> SpreadRoom | None:
    pod = it.pod
    selector = constraint.selector
    if selector is None or selector.is_empty or not selector.matches(pod.labels):
        return None
    if any(True for _ in others_selected(it, selector)):
        return None
    world, key, counted = it.world, constraint.topology_key, counted_nodes(it, constraint)

    def matching(others: RunningPods) -> frozenset[tuple[str, int]]:
        found = matching_by_domain(others, it.workload.namespace, selector, key, counted)
        return frozenset(found.items()) if found else _NONE

    def beside(others: RunningPods) -> _Beside:
        return _Beside(others, matching(others), it.usable & ~repelled_by_running(it, others)[0])

    stay, surely = staying(it), staying_beside_set(world)
    beside_it = beside(stay)
    asked = _Asked(
        kind_of_copies(it),
        it.replicas if replicas is None else replicas,
        (key, constraint.max_skew, constraint.min_domains),
        counted,
        it.usable,
        matching(all_running_pods(world)),  # pods of an older revision count as long as they exist
        beside_it,
        beside_it if surely is stay else beside(surely),
    )
    known = _of_kinds(world)
    if asked not in known:
        known[asked] = _room_of(asked, it, constraint)
    return known[asked]


_NONE: frozenset[tuple[str, int]] = frozenset()
"""One for all: each empty set has 216 bytes, and hundreds of bounds hold three."""


class _Beside(NamedTuple):
    """Running pods that stay: how many count in each domain that has any, and the nodes that they leave open."""

    pods: RunningPods
    matching: frozenset[tuple[str, int]]
    open: NodeSet


class _Asked(NamedTuple):
    """All that a bound depends on: workloads that are equal in it share the bound."""

    pods: tuple[object, ...]
    """What ``most_copies`` reads of them."""
    most: int
    constraint: tuple[object, ...]
    counted: NodeSet
    usable: NodeSet
    there: frozenset[tuple[str, int]]
    staying: _Beside
    surely: _Beside


@once_per_world
def _of_kinds(world: World) -> dict[_Asked, SpreadRoom | None]:
    return {}


def _room_of(asked: _Asked, it: Member, constraint: SpreadConstraint) -> SpreadRoom | None:
    """Return the bound; ``it`` is one of the workloads that share it."""
    most, counted, usable = asked.most, asked.counted, asked.usable
    index, key = it.world.index, constraint.topology_key
    domains = index.domains_with(key, counted & (it.world.today | usable))
    if not domains:
        return None
    too_few = topology.is_short_of_domains(constraint, len(domains))
    # A domain that only a pool could open limits nothing: without a node it does not count.
    existing = index.domains_with(key, counted & it.world.today)
    there = dict(asked.there)

    def let_in(stay: _Beside) -> tuple[dict[str, int], dict[str, int]]:
        capacity = most_copies_by_domain(it, most, key, domains, stay.open, stay.pods)
        least = 0 if too_few else min((there.get(d, 0) + capacity[d] for d in existing), default=most)
        return capacity, topology.let_in(constraint, capacity, dict(stay.matching), least)

    capacity, placeable = let_in(asked.staying)
    surely = placeable if asked.staying == asked.surely else let_in(asked.surely)[1]
    open_ = index.domains_with(key, usable)
    blocked = tuple(d for d in domains if d not in open_)
    return SpreadRoom(capacity, placeable, blocked, too_few, sum(surely.values()))


def counted_nodes(it: Member, constraint: SpreadConstraint) -> NodeSet:
    """Nodes that count for a hard constraint of a workload's pods (``scheduler/topology``)."""
    return topology.counted_nodes(it.pod, constraint, it.world.index)
