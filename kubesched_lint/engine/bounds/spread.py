"""The most pods that a hard spread lets in."""

from __future__ import annotations

from collections.abc import Hashable

from kubesched_lint.engine.base.identity import Itself
from kubesched_lint.engine.cluster.nodeset import NodeSet
from kubesched_lint.engine.events.answers.event_bounds import (
    ON_ALL,
    ON_NOTHING,
    Bound,
    Meanwhile,
)
from kubesched_lint.engine.events.start import others
from kubesched_lint.engine.events.start.simulated_set import SimulatedMember
from kubesched_lint.engine.model.nodes.node import domain_word
from kubesched_lint.engine.model.pod import SpreadConstraint
from kubesched_lint.engine.scheduler.capacity import Room
from kubesched_lint.engine.scheduler.topology import (
    NO_OTHERS,
    OthersCounted,
    SpreadRoom,
    counted_domains,
    counted_nodes,
    counted_pods,
    spread_room,
)


def spread_ceiling(
    member: SimulatedMember,
    constraint: SpreadConstraint,
    most: int,
    room: Room,
    before: Room,
    meanwhile: Meanwhile,
) -> Bound | None:
    """Return the most pods a spread lets in: each domain stays within maxSkew of the least full one's capacity.

    ``most`` pods are allowed on each node. Domains of cordoned nodes count as well, lost nodes do not, which bounds a
    loss; pods that came with the room ``before`` it may exceed the limit now. None if the selector also counts
    pods of others that come or go.
    """
    pod, selector = member.pod, constraint.selector
    if not constraint.is_hard or selector is None or selector.is_empty or not selector.matches(pod.labels):
        return None
    counted = counted_of_others(member, constraint)
    if counted is None or (not meanwhile.others_stay and (counted.there or counted.coming)):
        return None
    bound = spread_bound(member, constraint, room, most, meanwhile.lost, counted)
    if not bound.capacity:
        why = f"no node that it may use counts for its spread over {constraint.topology_key}"
        return Bound(0, why, rests_on=ON_NOTHING)
    total = bound.total
    if meanwhile.lost:
        stay = spread_bound(member, constraint, before, most).placeable
        total = sum(min(held, max(bound.placeable[value], stay[value])) for value, held in bound.capacity.items())
    fewest = f"the {domain_word(constraint.topology_key)} with the fewest holds {bound.least}"
    why = f"spread over {constraint.topology_key} lets in {total}: {fewest}"
    return Bound(total, why, rests_on=ON_ALL if bound.may_grow else ON_NOTHING)


def spread_bound(
    member: SimulatedMember,
    constraint: SpreadConstraint,
    room: Room,
    most: int,
    without: NodeSet = 0,
    others: OthersCounted = NO_OTHERS,
) -> SpreadRoom:
    """Return what it accepts if each node takes ``most`` pods; workloads that share their ``room`` share the answer."""
    simulated = member.set
    eligible = counted_nodes(member.pod, constraint, simulated.index)
    limits = constraint.topology_key, constraint.max_skew, constraint.min_domains
    key = Itself(room), most, without, eligible, limits, *(frozenset(m.items()) for m in others[:2]), others.coming
    known: dict[Hashable, SpreadRoom] = simulated.rooms.setdefault(spread_bound, {})
    if key not in known:
        domains = counted_domains(member.pod, constraint, simulated.index, without)
        known[key] = spread_room(constraint, {v: room.within(nodes, most) for v, nodes in domains.items()}, others)
    return known[key]


def counted_of_others(member: SimulatedMember, constraint: SpreadConstraint) -> OthersCounted | None:
    """Return the pods outside the set that a constraint counts; None if it counts other workloads of the set."""
    simulated = member.set
    selector, namespace = constraint.selector, member.pod.namespace
    assert selector is not None
    if any(i != member.number for i in simulated.selection.of(selector, namespace)):
        return None
    runs = (pod for i in simulated.running if i != member.number for pod in simulated.kinds[i][1:])
    if any(pod.namespace == namespace and selector.matches(pod.labels) for pod in runs):
        return None
    groups = list(others.selected_by(simulated, selector, namespace))
    if not groups:
        return NO_OTHERS
    among = counted_nodes(member.pod, constraint, simulated.index)
    there = counted_pods(groups, constraint.topology_key, among, simulated.index)
    return OthersCounted(there, there, sum(group.elsewhere for group in groups))
