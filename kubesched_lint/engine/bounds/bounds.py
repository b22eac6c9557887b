"""Bounds by counting alone, valid for every scheduler and every order: the most and the least pods that are bound.

``most_placed`` uses necessary conditions, ``least_placed`` (see ``least``) sufficient ones; only a search can decide
between the two. ``frame`` is what the controllers allow, whatever the scheduler does.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from itertools import chain
from math import inf
from typing import NamedTuple

from msgspec.structs import replace

from kubesched_lint.engine.answers.cells import EventOutcome
from kubesched_lint.engine.answers.event_bounds import (
    GATES,
    NO_NODE,
    NO_POD_NEAR,
    NOTHING_ELSE,
    ON_ALL,
    ON_NOTHING,
    PORTS,
    Bound,
    Meanwhile,
)
from kubesched_lint.engine.base.identity import Itself
from kubesched_lint.engine.base.text import many, plural
from kubesched_lint.engine.bounds.attach_limits import most_attachable
from kubesched_lint.engine.bounds.volume_constraints import most_reached
from kubesched_lint.engine.cluster.ledger import PODS
from kubesched_lint.engine.cluster.nodeset import NodeSet, digits, grouped, lowest, only
from kubesched_lint.engine.cluster.pods.alike import Alike
from kubesched_lint.engine.controllers.bounds import daemon_bounds, rolling_bounds
from kubesched_lint.engine.events.limits import MOST_LOST
from kubesched_lint.engine.events.start import others, quotas
from kubesched_lint.engine.events.start.evictable_pods import guests_of
from kubesched_lint.engine.events.start.preemption_scope import may_be_preempted
from kubesched_lint.engine.events.start.quotas import most_pods
from kubesched_lint.engine.events.start.revisions import is_looser, is_mixed, reaches_old, stands_in_room
from kubesched_lint.engine.events.start.rooms import kept_apart, repelled_by_others, room_of
from kubesched_lint.engine.events.start.simulated_set import SimulatedMember, SimulatedSet, once_per_set
from kubesched_lint.engine.events.states.states import DesiredState
from kubesched_lint.engine.events.transitions.transitions import Transitions
from kubesched_lint.engine.model.node import domain_word
from kubesched_lint.engine.model.pod import BoundPod, Pod, PodAffinityTerm, SpreadConstraint
from kubesched_lint.engine.model.workload import Workload
from kubesched_lint.engine.scheduler.capacity import Room, stands_alone, tightest_resource
from kubesched_lint.engine.scheduler.framework import with_enforced_constraints
from kubesched_lint.engine.scheduler.topology import (
    NO_OTHERS,
    OthersCounted,
    SpreadRoom,
    counted_domains,
    counted_nodes,
    counted_pods,
    spread_room,
)


def most_placed(member: SimulatedMember, wanted: int, meanwhile: Meanwhile = NOTHING_ELSE) -> Bound:
    """Return the most pods of a workload that any order binds at once.

    Where older pods run, pods are of two revisions until a rollout ends, and it may never end.
    """
    if is_looser(member):
        return Bound(wanted, "pods of an older template may stay")
    mixed = meanwhile.mixed or is_mixed(member)
    return _most(member, wanted, meanwhile._replace(mixed=mixed))


def most_of_template(member: SimulatedMember, wanted: int) -> Bound:
    """Return the most pods that any order binds at once if no event deletes others and all are of the new template."""
    return _most(member, wanted, Meanwhile(others_stay=True))


def _most(member: SimulatedMember, wanted: int, meanwhile: Meanwhile) -> Bound:
    every = [Bound(wanted, "all that are wanted"), *_ceilings(member, wanted, meanwhile)]
    found = min(every, key=lambda c: (c.pods, len(c.rests_on)))
    if not found.pods or not member.pod.scheduling_gates:
        return found
    return (
        Bound(0, "scheduling gates hold its pods back", rests_on=frozenset([GATES])) if found.pods >= wanted else found
    )


def _ceilings(member: SimulatedMember, wanted: int, meanwhile: Meanwhile) -> Iterator[Bound]:
    """Yield upper bounds, one for each reason. Reasons that work together are counted apart, which only raises them."""
    simulated = member.set
    pod, cluster, index = with_enforced_constraints(member.pod), simulated.cluster, simulated.index
    granted = quotas.cap(member)
    if granted is not None:
        yield Bound(granted.pods, granted.why, rests_on=ON_NOTHING)
    usable = member.usable & ~meanwhile.lost
    if not usable:
        yield Bound(0, NO_NODE, rests_on=ON_NOTHING)
        return
    repelled = repelled_by_others(member)
    usable &= ~repelled
    reached = most_reached(member, wanted)
    if reached is not None:
        yield reached
    if not usable:
        yield Bound(0, "pods of others keep it from every node that it may use", rests_on=ON_NOTHING)
        return
    terms = _apart(member, meanwhile)
    most = min(wanted, _on_each(member, wanted))
    like = replace(pod, required_anti_affinity=terms)
    if stands_alone(like, index, usable):
        most = min(most, 1)
    room = room_of(simulated, like, usable, most)
    before = room_of(simulated, like, member.usable & ~repelled, most) if meanwhile.lost else room
    total = room.within(usable, most)
    for term in terms:
        key = term.topology_key
        each = room.apart(key, index, usable, most)
        beside = f", nodes without it {each.loose} more" if each.loose else ""
        can = f"{number_of_domains(each.domains, key)} can hold one{beside}"
        why = f"each pod needs a {domain_word(key)} of its own, and {can}"
        yield Bound(each.total, why, rests_on=ON_NOTHING)
    attachable = most_attachable(member, wanted, most, usable, room, meanwhile)
    if attachable is not None:
        yield attachable
    if not meanwhile.mixed and wanted > 1 and _shuns_its_like(member):
        yield Bound(1, "its affinity leads where its anti-affinity forbids a second one")
    if total == usable.bit_count() < wanted and member.workload.kind == "DaemonSet" and most == 1:
        why = f"only {total} of the nodes for which it makes a pod let one in"
        yield Bound(total, why, rests_on=ON_NOTHING)
    elif total < wanted:
        what = PORTS if pod.host_ports else tightest_resource(pod, cluster, usable)
        left = "that it may use" if not member.usable & repelled else "that pods of others leave it"
        on = f"the {many(usable.bit_count(), 'node')} {left}"
        holds = f"{plural(usable.bit_count(), 'has', 'have')} {'room' if what == PODS else what} for {total}"
        yield Bound(total, f"{on} {holds}{' by their limit of pods' * (what == PODS)}", what, ON_NOTHING)
    # A DaemonSet's pod is pinned to one node, so only the domain of that node counts.
    for constraint in pod.spread if member.workload.kind != "DaemonSet" else ():
        if meanwhile.mixed and not reaches_old(member, constraint.selector):
            continue
        if member.running and (is_looser(member) or not stands_in_room(member)):
            continue  # older pods may hold more of a domain than new ones can
        ceiling = _spread_ceiling(member, constraint, most, room, before, meanwhile)
        if ceiling is not None:
            yield ceiling
    for term in pod.required_affinity:
        if not simulated.selection.of(term, pod.namespace) and not _runs(simulated, term, pod):
            yield Bound(0, f"{NO_POD_NEAR} over {term.topology_key} selects")


def _apart(member: SimulatedMember, meanwhile: Meanwhile) -> tuple[PodAffinityTerm, ...]:
    """Return the anti-affinity terms that keep any two of the pods of a workload apart, also of two revisions."""
    terms = kept_apart(member)
    return tuple(t for t in terms if not meanwhile.mixed or reaches_old(member, t.selector))


def _on_each(member: SimulatedMember, wanted: int) -> int:
    """Return the most pods of a workload that its controller allows on one node."""
    workload = member.workload
    if workload.kind != "DaemonSet":
        return wanted
    return 2 if daemon_bounds(workload.strategy, 1)[0] else 1


def _shuns_its_like(member: SimulatedMember) -> bool:
    """Whether affinity forces each pod after the first into a domain that anti-affinity forbids.

    The first pod may go anywhere (satisfyPodAffinity), as may the next one after it is gone.
    """
    simulated = member.set
    pod = with_enforced_constraints(member.pod)
    apart = {term.topology_key for term in kept_apart(member)}
    if not apart.intersection(t.topology_key for t in pod.required_affinity) or member.running:
        return False
    if any(i != member.number for i in simulated.selection.of_all(pod.required_affinity, pod.namespace)):
        return False
    others = (*_kinds_that_run(simulated), *(bound.pod for bound in simulated.terminating_of_others))
    return not any(simulated.draws(other, pod) for other in others)


def _runs(simulated: SimulatedSet, term: PodAffinityTerm, holder: Pod) -> bool:
    return any(simulated.selects(term, holder, pod) for pod in _kinds_that_run(simulated))


@once_per_set
def _kinds_that_run(simulated: SimulatedSet) -> tuple[Pod, ...]:
    """Return the pods of others, and the running pods of all workloads: one of each kind."""
    running = (b.pod for pods in simulated.running.values() for b in pods)
    return tuple(dict.fromkeys(chain((group.pod for group in simulated.others), running)))


def _spread_ceiling(
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


def most_beside(member: SimulatedMember, wanted: int, meanwhile: Meanwhile = NOTHING_ELSE) -> Bound:
    """Return the most pods that fit into n domains, where n pods match the workload's required affinity.

    A node without the topology key is in no domain, also for a first pod that selects itself (interpodaffinity's
    satisfyPodAffinity). Pods that select themselves may open any domain.
    """
    simulated = member.set
    pod, index = with_enforced_constraints(member.pod), simulated.index
    if not pod.required_affinity or member.running or simulated.terminating_of_others:
        return Bound(wanted, "all that are wanted")
    hosts = _hosts_of(member)
    key = pod.required_affinity[0].topology_key
    if meanwhile.whole_nodes and index.one_node_each(key) and not hosts.run:
        meanwhile = meanwhile._replace(hosts_move=False)
    usable, surges = member.usable, meanwhile.mixed or member.workload.kind != "DaemonSet"
    terms, most = _apart(member, meanwhile), _on_each(member, wanted) if surges else 1
    room = room_of(simulated, replace(pod, required_anti_affinity=terms), usable, most)
    changing = simulated.draws(pod, pod) or any(_may_come_and_go(simulated.member(i)) for i in hosts.members)
    if hosts.stay and not (changing or meanwhile.hosts_move):
        there = others.where(hosts.outside)
        nodes = usable & index.near(pod.required_affinity, there)
        total = room.within_apart(terms, index, nodes, most)
        why = f"room for {total} on the {many(nodes.bit_count(), 'node')} near the pods that its affinity selects"
        return Bound(min(total, wanted), why, near=hosts.who(simulated))
    if not (changing or meanwhile.hosts_move or hosts.run) and index.one_node_each(key):
        room = _room_beside(simulated, pod, [simulated.pods[i] for i in hosts.members], room)
    domains = (nodes & usable for nodes in index.domains(key).values())
    # The pods that it follows may be anywhere: the largest domains count, which only raises the bound.
    sizes = sorted(room.within_apart(terms, index, nodes, most) for nodes in domains)
    found = hosts.most(simulated, meanwhile)
    if changing or found >= len(sizes):
        return Bound(min(sum(sizes), wanted), f"room for {sum(sizes)} on usable nodes with the label {key}")
    total = sum(sizes[len(sizes) - found :])
    pods = f"the {found} {plural(found, 'pod')}"
    why = f"room for {total} in the {domain_word(key, 2)} of {pods} that its affinity selects"
    return Bound(min(total, wanted), why, near=hosts.who(simulated))


class _Hosts(NamedTuple):
    """The pods that all required affinity of a workload selects."""

    members: Sequence[int]
    """Workloads of the set."""
    running: Sequence[BoundPod]
    """Pods of the set that run."""
    outside: Sequence[Alike]
    """Groups of pods outside the set."""

    @property
    def run(self) -> bool:
        """Whether some run already."""
        return bool(self.running or self.outside)

    @property
    def stay(self) -> bool:
        """Whether all are outside the set, and on nodes."""
        return bool(self.outside) and not (self.members or self.running or any(g.elsewhere for g in self.outside))

    def most(self, simulated: SimulatedSet, meanwhile: Meanwhile) -> int:
        """Return the most domains that they may use during an event."""
        outside = sum(len(group.bound) + group.elsewhere for group in self.outside) * (1 + meanwhile.hosts_move)
        return sum(_hosting(simulated.member(i), meanwhile) for i in self.members) + outside + len(self.running)

    def who(self, simulated: SimulatedSet) -> tuple[Workload | str, ...]:
        """Return the workloads, and the name of a pod of each group: nobody asks most rows for names."""
        first = (*(group.bound[0] for group in self.outside if group.bound), *self.running[:1])
        members = map(simulated.workloads.__getitem__, self.members)
        return (*members, *(f"Pod {bound.namespace}/{bound.name}" for bound in first))


def _hosts_of(member: SimulatedMember) -> _Hosts:
    simulated = member.set
    pod = member.pod
    running = [bound for pods in simulated.running.values() for bound in pods if simulated.draws(bound.pod, pod)]
    members = simulated.selection.of_all(pod.required_affinity, pod.namespace)
    return _Hosts(members, running, list(others.drawing(member)))


def _hosting(member: SimulatedMember, meanwhile: Meanwhile) -> int:
    """Return the most domains that pods of a workload may use during an event; one that moves counts twice."""
    if meanwhile.hosts_move:
        return 2 * most_pods(member) if member.usable else 0
    return at_once(member, most_pods(member) if member.running else member.wanted)


def _room_beside(simulated: SimulatedSet, pod: Pod, hosts: Sequence[Pod], room: Room) -> Room:
    """Return ``room`` where each node must also hold one of the ``hosts``: the one that leaves the most room."""
    ledger, asked = simulated.cluster.ledger, {"pods": 1, **pod.requests}
    limits = [(ledger.free(name), each, name) for name, each in asked.items() if each]
    found = {}
    for position, most in room.by_position().items():
        found[position] = 0
        for host in hosts:
            taken = {"pods": 1, **host.requests}
            left = ((free[position] - taken.get(name, 0), each) for free, each, name in limits)
            # A resource that a node pool does not state has no limit.
            beside = min((int(amount // each) for amount, each in left if amount < inf), default=most)
            found[position] = max(found[position], min(most, beside))
    return Room(found.items())


def at_once(member: SimulatedMember, count: int) -> int:
    """Return how many of ``count`` pods can be bound at once, whatever happens.

    Fewer nodes bind no more pods, except with a hard spread: the loss of a node may remove its least full domain. If
    preemption may delete pods outside the set, there may be more room than counted.
    """
    simulated = member.set
    if not member.usable and not member.running:
        return 0
    if any(c.is_hard for c in member.pod.spread) or member.running:
        return count
    if guests_of(simulated).weaker_kinds:
        return count
    pod = member.pod
    # Affinity and quotas depend on the other workloads; without them, equal workloads share the answer.
    is_alike = not (pod.required_affinity or member.quotas)
    known: dict[Hashable, int] = simulated.rooms.setdefault(at_once, {}) if is_alike else _at_once(simulated)
    key = (pod, member.workload.kind, count) if is_alike else (member.number, count)
    if key not in known:
        known[key] = min(count, most_placed(member, count).pods)
    return known[key]


@once_per_set
def _at_once(simulated: SimulatedSet) -> dict[Hashable, int]:
    """Return the cache: (workload, number of pods) → the pods that can be bound at once."""
    return {}


def _may_come_and_go(member: SimulatedMember) -> bool:
    """Whether more pods of a workload may run one after another than it has at any one time."""
    return member.workload.kind == "Job" or may_be_preempted(member)


def most_on_fewer(member: SimulatedMember, wanted: int) -> Bound:
    """Return the most pods after the loss of any one node. A lost domain may have limited a spread: more may run then.

    Without a spread, fewer nodes never run more pods, so a large cluster skips the single nodes.
    """
    spreads = any(c.is_hard for c in member.pod.spread)
    best = most_placed(member, wanted)
    if not spreads and (best.pods < wanted or len(member.set.nodes) > MOST_LOST):
        return best
    best = Bound(-1, "")
    for position in _unlike(member, wanted):
        found = most_placed(member, wanted, Meanwhile(lost=only(position)))
        best = found if found.pods > best.pods else best
        if best.pods >= wanted:
            break
    return best


def _unlike(member: SimulatedMember, wanted: int) -> Iterable[int]:
    """Return the position of one node of each kind: nodes with equal room in the same domains give the same bound.

    A key with one node per domain does not distinguish nodes.
    """
    simulated = member.set
    pod, index = with_enforced_constraints(member.pod), simulated.index
    room = room_of(simulated, pod, member.usable, wanted).by_position()
    keys = sorted(
        {c.topology_key for c in pod.spread if c.is_hard} | {t.topology_key for t in pod.required_anti_affinity}
    )
    counted = [counted_nodes(pod, c, index) for c in pod.spread if c.is_hard]
    columns: list[Iterable[object]] = [[min(room.get(p, 0), wanted) for p in range(len(simulated.nodes))]]
    for key in keys:
        values = [node.labels.get(key) for node in simulated.nodes]
        columns.append([value is not None for value in values] if index.one_node_each(key) else values)
    columns += (digits(nodes, len(simulated.nodes)) for nodes in counted)
    return map(lowest, grouped(enumerate(zip(*columns, strict=True))).values())


def number_of_domains(number: int, key: str) -> str:
    """Return ``3 zones``, ``1 node`` or ``no value of rack``."""
    return f"{number or 'no'} {domain_word(key, number or 1)}"


# --- controllers ----------------------------------------------------------------------------------------------------


def frame(transitions: Transitions, desired: DesiredState) -> set[EventOutcome]:
    """Return outcomes whose least and greatest numbers enclose every outcome that the controllers allow."""
    wanted = transitions.replicas_of(desired)
    most = wanted
    if desired.spec.kind == "Deployment":
        most += rolling_bounds(desired.spec.strategy, wanted)[0]
    elif desired.spec.kind == "DaemonSet":
        most *= 2
    return {
        EventOutcome(0, 0, 0, 0, wanted),
        EventOutcome(most, 0, wanted, 0, wanted),
        EventOutcome(0, most, 0, most, wanted),
        EventOutcome(wanted, 0, wanted, 0, wanted),
    }
