"""The most pods of a workload that one hard spread constraint allows, counted as in ``scheduler/topology``.

Running pods that may go (others by preemption, its own by a rollout) count for the minimum, but not against their own
domain.
"""

from __future__ import annotations

from collections.abc import Mapping

from kubesched_lint.cluster.nodeset import NodeSet
from kubesched_lint.hints import TYPE_CHECKING
from kubesched_lint.model.pod import SpreadConstraint
from kubesched_lint.model.workload import Workload
from kubesched_lint.record import Record
from kubesched_lint.scheduler import topology
from kubesched_lint.world.neighbours import others_selected, repelled_by_running
from kubesched_lint.world.room import most_copies_by_domain
from kubesched_lint.world.running import all_running_pods, matching_by_domain
from kubesched_lint.world.staying import staying, staying_beside_set
from kubesched_lint.world.world import Member, World, once_per_world

if TYPE_CHECKING:
    from kubesched_lint.world.running import RunningPods


class SpreadRoom(Record):
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
def _rooms(world: World) -> dict[tuple[int, int, int | None], tuple[Workload, SpreadConstraint, SpreadRoom | None]]:
    return {}


def spread_room(it: Member, constraint: SpreadConstraint, replicas: int | None = None) -> SpreadRoom | None:
    """The bound for a workload's hard constraint; None if pods of others may still add to the counts.

    ``replicas`` defaults to the replicas at the start. A constraint that does not select its own pods bounds nothing.
    """
    key = (id(it.workload), id(constraint), replicas)
    found = _rooms(it.world).get(key)
    if found is None:  # half a dozen rules ask; what an id stands for is kept, so that it stands for nothing else
        found = _rooms(it.world)[key] = (it.workload, constraint, _spread_room(it, constraint, replicas))
    return found[2]


def _spread_room(it: Member, constraint: SpreadConstraint, replicas: int | None) -> SpreadRoom | None:
    pod = it.pod
    selector = constraint.selector
    if selector is None or selector.is_empty or not selector.matches(pod.labels):
        return None
    if any(True for _ in others_selected(it, selector)):
        return None
    counted = counted_nodes(it, constraint)
    usable = it.usable
    most = it.replicas if replicas is None else replicas
    index, key = it.world.index, constraint.topology_key
    domains = index.domains_with(key, counted & (it.world.today | usable))
    if not domains:
        return None

    def matching(others: RunningPods) -> dict[str, int]:
        found = matching_by_domain(others, it.workload.namespace, selector, key, counted)
        return {domain: found.get(domain, 0) for domain in domains}

    too_few = topology.is_short_of_domains(constraint, len(domains))
    # A domain that only a pool could open limits nothing: without a node it does not count.
    existing = index.domains_with(key, counted & it.world.today)
    there = matching(all_running_pods(it.world))  # pods of an older revision count as long as they exist

    def let_in(stay: RunningPods) -> tuple[dict[str, int], dict[str, int]]:
        open_to_it = usable & ~repelled_by_running(it, stay)[0]
        capacity = most_copies_by_domain(it, most, key, domains, open_to_it, stay)
        least = 0 if too_few else min((there[d] + capacity[d] for d in existing), default=most)
        return capacity, topology.let_in(constraint, capacity, matching(stay), least)

    capacity, placeable = let_in(staying(it))
    surely = placeable
    if staying(it) is not staying_beside_set(it.world):
        surely = let_in(staying_beside_set(it.world))[1]
    open_ = index.domains_with(key, usable)
    blocked = tuple(d for d in domains if d not in open_)
    return SpreadRoom(capacity, placeable, blocked, too_few, sum(surely.values()))


def counted_nodes(it: Member, constraint: SpreadConstraint) -> NodeSet:
    """Nodes that count for a hard constraint of a workload's pods (``scheduler/topology``)."""
    return topology.counted_nodes(it.pod, constraint, it.world.index)
