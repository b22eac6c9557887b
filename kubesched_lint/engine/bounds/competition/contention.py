"""The pods of a set that may take room on nodes during an event."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence

from msgspec import Struct

from kubesched_lint.engine.base import work
from kubesched_lint.engine.bounds.bounds import at_once
from kubesched_lint.engine.cluster.nodeset import NodeSet, digits, grouped
from kubesched_lint.engine.controllers.bounds import daemon_bounds
from kubesched_lint.engine.events.start.quotas import most_pods
from kubesched_lint.engine.events.start.simulated_set import SimulatedMember, SimulatedSet, once_per_set
from kubesched_lint.engine.model.pod import Pod
from kubesched_lint.engine.scheduler.capacity import stands_alone
from kubesched_lint.engine.scheduler.framework import with_enforced_constraints


class Competitor(Struct, frozen=True):
    """Pods that may take room: ``count`` pods on ``nodes``, at most ``on_each`` per node."""

    pod: Pod
    count: int
    nodes: NodeSet
    on_each: int
    everywhere: bool = False
    """Whether it has pods on each of its nodes, without a choice."""


class Competition(Struct, frozen=True):
    """All pods that a set may have during an event of one of its workloads."""

    contenders: tuple[tuple[int, Competitor], ...]
    """(place of its workload in the set, contender) pairs."""
    demand: dict[str, int]
    """Resource → the most that all contenders may request together."""
    kinds: tuple[NodeSet, ...]
    """The nodes in classes with equal free resources and the same possible ``contenders``."""
    of: Mapping[int, tuple[Competitor, ...]]
    """Place of a workload in the set → its contenders."""
    alike: tuple[tuple[tuple[int, Competitor], ...], ...]
    """``contenders`` in groups with equal requests and the same nodes."""
    places: Mapping[Hashable, int]
    """What equal contenders have in common → their place in ``alike``."""
    sums: dict[tuple[int, str], tuple[int, int]]
    """(place of a kind, resource) → requests on one node of it: of contenders that must be there, of those that may."""

    def groups(self) -> Sequence[tuple[tuple[int, Competitor], ...]]:
        """Return ``alike``, to go through all groups for one workload: each costs half a step."""
        work.spend(len(self.alike) // 2)
        return self.alike

    def alike_of(self, number: int) -> Mapping[int, Sequence[Competitor]]:
        """Return place in ``alike`` of a group with pods of a workload → its contenders there."""
        contenders: dict[int, list[Competitor]] = {}
        for contender in self.of.get(number, ()):
            contenders.setdefault(self.places[_contender_key(contender)], []).append(contender)
        return contenders


@once_per_set
def contention_of(simulated: SimulatedSet) -> Competition:
    """Return all pods of a set that may exist during an event.

    No event scales another workload, but a running one may roll out when applied.
    """
    work.spend(work.CALL * len(simulated.workloads))
    contenders = tuple(_contenders(simulated))
    demand: dict[str, int] = {}
    for _, contender in contenders:
        count = contender.on_each if contender.everywhere else contender.count
        for resource, each in {**contender.pod.requests, "pods": 1}.items():
            demand[resource] = demand.get(resource, 0) + each * count
    of: dict[int, tuple[Competitor, ...]] = {}
    for number, contender in contenders:
        of[number] = (*of.get(number, ()), contender)
    kinds = tuple(_kinds(simulated, contenders, demand))
    groups: dict[Hashable, list[tuple[int, Competitor]]] = {}
    for number, contender in contenders:
        groups.setdefault(_contender_key(contender), []).append((number, contender))
    alike, places = tuple(map(tuple, groups.values())), {key: place for place, key in enumerate(groups)}
    return Competition(contenders, demand, kinds, of, alike, places, {})


def _contender_key(contender: Competitor) -> Hashable:
    """Return what contenders with equal requests on the same nodes have in common."""
    requests = frozenset(contender.pod.requests.items())
    return requests, contender.nodes, contender.count, contender.on_each, contender.everywhere


def _kinds(
    simulated: SimulatedSet, contenders: Sequence[tuple[int, Competitor]], demand: Mapping[str, int]
) -> Iterable[NodeSet]:
    """Return the nodes in classes: all room computations give equal results for the nodes of one class."""
    reaches = sorted({r.nodes for _, r in contenders} | {*simulated.usable, simulated.index.all})
    amounts = (simulated.cluster.ledger.free(resource) for resource in sorted(demand))
    columns = (*amounts, *(digits(nodes, len(simulated.nodes)) for nodes in reaches))
    return grouped(enumerate(zip(*columns, strict=True))).values()


def _contenders(simulated: SimulatedSet) -> Iterator[tuple[int, Competitor]]:
    for i, workload in enumerate(simulated.workloads):
        if simulated.rivals is not None and i not in simulated.rivals:
            continue
        member = simulated.member(i)
        pod, nodes, runs = member.pod, member.usable, member.running
        for own, count in Counter(bound.pod for bound in runs).items():
            yield i, Competitor(own, count, simulated.index.all, count)
        alone = not runs and stands_alone(pod, simulated.index, nodes)
        if workload.kind == "DaemonSet":
            each = 2 if runs and daemon_bounds(workload.strategy, 1)[0] else 1
            count = each * len(simulated.nodes)
            most = at_once(member, count)
            yield i, Competitor(pod, most, nodes, each, everywhere=most >= min(count, nodes.bit_count()))
        else:
            count = at_once(member, most_pods(member) if runs else member.wanted)
            parts = () if runs else _parted(member, count)
            yield from ((i, part) for part in parts or [Competitor(pod, count, nodes, 1 if alone else count)])


def _parted(member: SimulatedMember, count: int) -> Sequence[Competitor]:
    """Return its pods with a domain each, and its pods on nodes without the key; empty if a term limits neither."""
    pod, nodes, index = with_enforced_constraints(member.pod), member.usable, member.set.index
    for term in pod.required_anti_affinity:
        loose = nodes & ~index.with_key(term.topology_key)
        domains = index.domains_of(term.topology_key, nodes)
        if loose and domains < count and member.set.selects(term, pod, pod):
            apart = [Competitor(member.pod, domains, nodes & ~loose, 1)] if domains else []
            return (*apart, Competitor(member.pod, count, loose, count))
    return ()
