"""Bounds by counting alone, valid for every scheduler and every order: the most and the least pods that are bound.

``most_placed`` uses necessary conditions, ``least_placed`` (see ``least``) sufficient ones; only a search can decide
between the two. ``frame`` is what the controllers allow, whatever the scheduler does.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from itertools import chain

from msgspec.structs import replace

from kubesched_lint.engine.base.text import many, plural
from kubesched_lint.engine.bounds.spread import spread_ceiling
from kubesched_lint.engine.bounds.volumes.attach_limits import most_attachable
from kubesched_lint.engine.bounds.volumes.volume_constraints import most_reached
from kubesched_lint.engine.cluster.ledger import PODS
from kubesched_lint.engine.cluster.nodeset import digits, grouped, lowest, only
from kubesched_lint.engine.controllers.bounds import daemon_bounds, rolling_bounds
from kubesched_lint.engine.events.answers.cells import EventOutcome
from kubesched_lint.engine.events.answers.event_bounds import (
    GATES,
    NO_NODE,
    NO_POD_NEAR,
    NOTHING_ELSE,
    ON_NOTHING,
    PORTS,
    Bound,
    Meanwhile,
)
from kubesched_lint.engine.events.limits import MOST_LOST
from kubesched_lint.engine.events.start import quotas
from kubesched_lint.engine.events.start.evictable_pods import guests_of
from kubesched_lint.engine.events.start.revisions import is_looser, is_mixed, reaches_old, stands_in_room
from kubesched_lint.engine.events.start.rooms import kept_apart, repelled_by_others, room_of
from kubesched_lint.engine.events.start.simulated_set import SimulatedMember, SimulatedSet, once_per_set
from kubesched_lint.engine.events.states.states import DesiredState
from kubesched_lint.engine.events.transitions.transitions import Transitions
from kubesched_lint.engine.model.nodes.node import domain_word
from kubesched_lint.engine.model.pod import Pod, PodAffinityTerm
from kubesched_lint.engine.scheduler.capacity import stands_alone, tightest_resource
from kubesched_lint.engine.scheduler.framework import with_enforced_constraints
from kubesched_lint.engine.scheduler.topology import counted_nodes, hard_keyed_nodes


def most_placed(member: SimulatedMember, wanted: int, meanwhile: Meanwhile = NOTHING_ELSE) -> Bound:
    """Return the most pods of a workload that any order binds at once.

    Where older pods run, pods are of two revisions until a rollout ends, and it may never end.
    """
    if is_looser(member):
        return Bound(wanted, "pods of an older template may stay")
    mixed = meanwhile.mixed or is_mixed(member)
    return _most(member, wanted, meanwhile._replace(mixed=mixed))


def most_of_template(member: SimulatedMember, wanted: int) -> Bound:
    """Return the most pods that any order binds at once if no event deletes others and all are of the new template.

    Whatever older pods hold, a node without the key of a hard spread lets no new pod in.
    """
    pod = with_enforced_constraints(member.pod)
    if member.usable and not member.usable & hard_keyed_nodes(pod, member.set.index):
        keys = list(dict.fromkeys(c.topology_key for c in pod.spread if c.is_hard))
        labels = f"{plural(len(keys), 'label', 'labels')} {' and '.join(keys)}"
        return Bound(0, f"no node that it may use has the {labels}", rests_on=ON_NOTHING)
    return _most(member, wanted, Meanwhile(others_stay=True))


def _most(member: SimulatedMember, wanted: int, meanwhile: Meanwhile) -> Bound:
    every = [Bound(wanted, "all that are wanted"), *_ceilings(member, wanted, meanwhile)]
    tightest = min(every, key=lambda c: (c.pods, len(c.rests_on)))
    if not tightest.pods or not member.pod.scheduling_gates:
        return tightest
    return (
        Bound(0, "scheduling gates hold its pods back", rests_on=frozenset([GATES]))
        if tightest.pods >= wanted
        else tightest
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
    terms = terms_apart(member, meanwhile)
    most = min(wanted, most_on_each(member, wanted))
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
        ceiling = spread_ceiling(member, constraint, most, room, before, meanwhile)
        if ceiling is not None:
            yield ceiling
    for term in pod.required_affinity:
        if not simulated.selection.of(term, pod.namespace) and not _runs(simulated, term, pod):
            yield Bound(0, f"{NO_POD_NEAR} over {term.topology_key} selects")


def terms_apart(member: SimulatedMember, meanwhile: Meanwhile) -> tuple[PodAffinityTerm, ...]:
    """Return the anti-affinity terms that keep any two of the pods of a workload apart, also of two revisions."""
    terms = kept_apart(member)
    return tuple(t for t in terms if not meanwhile.mixed or reaches_old(member, t.selector))


def most_on_each(member: SimulatedMember, wanted: int) -> int:
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
        placed = most_placed(member, wanted, Meanwhile(lost=only(position)))
        best = placed if placed.pods > best.pods else best
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
