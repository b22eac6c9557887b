"""Lower bounds on the pods of a workload that are bound in the end, for every scheduler and every order.

All bounds use one argument. For a waiting pod every node is closed: by room, by host ports, or by a constraint on
where other pods are. So count how many nodes all possible pods can close together: if one more node exists, no pod
waits.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial, reduce
from itertools import product
from math import prod
from operator import or_
from typing import NamedTuple

from kubesched_lint.engine.base import work
from kubesched_lint.engine.base.text import many
from kubesched_lint.engine.bounds.bounds import number_of_domains
from kubesched_lint.engine.bounds.competition.contenders import counted, drawing, repelling
from kubesched_lint.engine.bounds.competition.full_nodes import (
    Sought,
    max_full_domains,
    max_full_nodes,
    takers_of_ports,
)
from kubesched_lint.engine.bounds.competition.leading import is_led
from kubesched_lint.engine.bounds.volumes.volume_constraints import MAY_TIE, REFUSED, least_at_home, least_tied, tie_of
from kubesched_lint.engine.cluster.nodeset import EMPTY, NodeSet
from kubesched_lint.engine.controllers.bounds import daemon_bounds
from kubesched_lint.engine.controllers.daemonset import targets
from kubesched_lint.engine.events.answers.event_bounds import NO_NODE, NOTHING_ELSE, OTHERS_STAY, Bound, Meanwhile
from kubesched_lint.engine.events.limits import MOST_TRIED
from kubesched_lint.engine.events.start import others
from kubesched_lint.engine.events.start.evictable_pods import guests_of
from kubesched_lint.engine.events.start.preemption_scope import may_be_preempted
from kubesched_lint.engine.events.start.revisions import reaches_old, repels_old_alone
from kubesched_lint.engine.events.start.rooms import kept_apart, open_but_for_neighbours
from kubesched_lint.engine.events.start.simulated_set import SimulatedMember, SimulatedSet, once_per_set
from kubesched_lint.engine.events.transitions.hints import is_blind
from kubesched_lint.engine.model.labels import Selector
from kubesched_lint.engine.model.nodes.node import domain_word
from kubesched_lint.engine.model.pod import PodAffinityTerm, SpreadConstraint
from kubesched_lint.engine.scheduler.framework import diagnose, with_enforced_constraints
from kubesched_lint.engine.scheduler.topology import (
    counted_domains,
    counted_pods,
    hard_keyed_nodes,
    is_short_of_domains,
)


class _Ask(NamedTuple):
    """One workload whose pods need a node, and the constraints by which other pods can close nodes to them.

    A *wide* key has domains of several nodes; a *near* key has one node per domain, like kubernetes.io/hostname.
    """

    simulated: SimulatedSet
    number: int
    wanted: int
    open_: NodeSet
    """Nodes where a pod fits as long as no pod of the set is there."""
    meanwhile: Meanwhile
    wide_spreads: Sequence[SpreadConstraint]
    wide_apart: PodAffinityTerm | None
    near: bool
    """Whether a pod of the workload may close its own node to the next pod, by a near key."""
    guests: int
    """Number of nodes of ``open_`` that pods of others may close by a near key."""
    shut: int
    """Number of nodes of ``open_`` in the domains that pods of others may close by a wide key."""

    @property
    def fewer(self) -> int:
        """Number of nodes of ``open_`` that an event closes, whichever these are."""
        return self.meanwhile.fewer

    def closed(self, own: int, among: NodeSet, more: int = 0) -> int:
        """Return the most nodes of ``among`` that others and ``own`` pods of its workload can close to a pod.

        A node may count for several causes, which only raises the number. The caller counts ``more`` closed nodes, and
        asks only whether all are closed then.
        """
        apart = self.guests + own * self.near
        enough = among.bit_count() - apart - more
        return closed_by_room(self.simulated.member(self.number), own, among, Sought(enough, exactly=False)) + apart


def least_placed(member: SimulatedMember, wanted: int, meanwhile: Meanwhile = NOTHING_ELSE) -> Bound:
    """Return the least of ``wanted`` pods that every order binds."""
    work.spend(work.CALL)
    pod, index = with_enforced_constraints(member.pod), member.set.index
    tie = tie_of(member, wanted, meanwhile)
    if tie is None:
        return MAY_TIE
    if meanwhile.mixed and any(repels_old_alone(member, term) for term in pod.required_anti_affinity):
        return Bound(0, "its pods repel those of another revision")
    keyed = hard_keyed_nodes(pod, index)
    open_ = open_but_for_neighbours(member) & keyed & ~meanwhile.lost
    if not open_:
        return Bound(0, NO_NODE)
    open_ &= tie.open_
    if not open_:
        return REFUSED
    ask = _ask(member, wanted, open_, meanwhile)
    if isinstance(ask, Bound):
        return ask
    if tie.reaches or tie.homes:
        if pod.required_affinity or ask.wide_spreads or ask.wide_apart or ask.shut:
            return MAY_TIE
        if tie.homes:
            return least_at_home(tie.homes, wanted, ask.open_, ask.closed)
        return least_tied(tie, wanted, ask.open_, partial(ask.closed, wanted - 1), ask.fewer)
    if pod.required_affinity:
        return _least_alone(ask) if _opens_by_itself(ask) else _least_together(ask)
    if len(ask.wide_spreads) > 1:
        return _least_in_each_domain(ask)
    for constraint in ask.wide_spreads:
        return _least_spread(ask, constraint)
    apart = ask.wide_apart or _near_apart(member)
    if apart is not None:
        return _least_apart(ask, apart)
    closed = min(ask.closed(wanted - 1, open_, ask.shut + ask.fewer) + ask.shut, open_.bit_count())
    left = open_.bit_count() - closed - ask.fewer
    return Bound(wanted if left > 0 else 0, _filled(closed, open_, ask.meanwhile if left <= 0 else NOTHING_ELSE))


def returns(member: SimulatedMember, wanted: int) -> bool:
    """Whether each of the pods comes back if others preempt it, also where its volumes hold it by then."""
    return least_placed(member, wanted, OTHERS_STAY).pods >= wanted


def finds_room(member: SimulatedMember, losses: Iterable[Meanwhile]) -> bool:
    """Whether all replacement pods find room beside the deleted ones, so they need not see the deletion."""
    wanted = member.wanted
    if member.workload.kind == "DaemonSet":  # it replaces no pod of a lost node
        return least_daemons(member, wanted).pods >= wanted
    twice = 2 * wanted
    return all(least_placed(member, twice, loss).pods >= twice for loss in losses)


def _ask(member: SimulatedMember, wanted: int, open_: NodeSet, meanwhile: Meanwhile) -> _Ask | Bound:
    """Return the ask, or 0 pods with the reason: two wide constraints can close each other's domains."""
    pod, index = with_enforced_constraints(member.pod), member.set.index
    spreads = [c for c in pod.spread if c.is_hard and (wanted > 1 or _counts_others(member, c))]
    spreads = [c for c in spreads if _counts_any(member, c)]
    apart = kept_apart(member) if wanted > 1 else ()
    keys = [c.topology_key for c in spreads] + [t.topology_key for t in apart]
    near = any(map(index.one_node_each, keys))
    wide_spreads = [c for c in spreads if not index.one_node_each(c.topology_key)]
    wide_apart = [t for t in apart if not index.one_node_each(t.topology_key)]
    guests, shut = 0, 0
    for key, contender, times in repelling(member):
        if index.one_node_each(key):
            guests += times * min(contender.count, (contender.nodes & open_).bit_count())
        else:
            sizes = [(d & open_).bit_count() for d in index.domains(key).values() if d & contender.nodes]
            shut += times * sum(sorted(sizes, reverse=True)[: contender.count])
    for constraint in spreads:
        if index.one_node_each(constraint.topology_key):
            held = counted(member, constraint)
            guests += sum(min(r.count, r.on_each * (r.nodes & open_).bit_count()) for r in held)
            open_ &= ~_holding(member, constraint)
    wide = bool(wide_spreads) + len(wide_apart) + bool(shut) + bool(pod.required_affinity)
    if wide > 1 or (pod.required_affinity and near):
        return Bound(0, "several constraints work together")
    separate = next(iter(wide_apart), None)
    return _Ask(member.set, member.number, wanted, open_, meanwhile, wide_spreads, separate, near, guests, shut)


def _near_apart(member: SimulatedMember) -> PodAffinityTerm | None:
    """Return the only term that makes its pods repel each other; None if there are several or a hard spread."""
    terms, spread = kept_apart(member), with_enforced_constraints(member.pod).spread
    return terms[0] if len(terms) == 1 and not any(c.is_hard for c in spread) else None


# --- pods that constraints count --------------------------------------------------------------------------------------


def _holding(member: SimulatedMember, constraint: SpreadConstraint) -> NodeSet:
    """Return the nodes with pods outside the set that the constraint counts."""
    selector = constraint.selector
    if selector is None or selector.is_empty:
        return EMPTY
    return others.where(others.selected_by(member.set, selector, member.pod.namespace))


def _counts_others(member: SimulatedMember, constraint: SpreadConstraint) -> bool:
    return bool(counted(member, constraint) or _holding(member, constraint))


def _counts_any(member: SimulatedMember, constraint: SpreadConstraint) -> bool:
    selector, labels = constraint.selector, member.pod.labels
    counts_own = selector is not None and not selector.is_empty and selector.matches(labels)
    return counts_own or _counts_others(member, constraint)


def closed_by_room(member: SimulatedMember, own: int, among: NodeSet, sought: Sought) -> int:
    """Return the most nodes that others and ``own`` other pods of the workload close by room or host ports."""
    if member.pod.host_ports:
        taken = takers_of_ports(member, among) + own
        less = sought._replace(enough=sought.enough - taken)
        closed = max_full_nodes(member, 0, among, less) + taken
    else:
        closed = max_full_nodes(member, own, among, sought)
    return min(closed, among.bit_count())


# --- one constraint over domains of several nodes --------------------------------------------------------------------


def _least_spread(ask: _Ask, constraint: SpreadConstraint) -> Bound:
    """Return the least pods with a hard spread: a pod fits in the least full domain while that has an open node.

    This domain holds no more than its share of the counted pods. Below minDomains the least count is 0; then the
    argument uses a domain with fewer than maxSkew pods.
    """
    simulated, number, wanted, key = ask.simulated, ask.number, ask.wanted, constraint.topology_key
    counting = counted_domains(simulated.pods[number], constraint, simulated.index, ask.meanwhile.lost)
    if not counting:
        return Bound(0, "no node counts for the spread")
    alone = not _counts_others(simulated.member(number), constraint)
    short = is_short_of_domains(constraint, len(counting))
    if short and not alone:
        return Bound(0, f"fewer {domain_word(key, 2)} than minDomains, and pods of others count")
    domains, fewest = simulated.index.domains(key), _own_in_fewest(ask, constraint, counting, short=short)
    for value, own in fewest.items():
        home = domains[value] & ask.open_
        if home.bit_count() <= ask.closed(own, home, ask.fewer) + ask.fewer:
            return Bound(0, f"{domain_word(key)} {value} may fill up, and maxSkew then holds back the others")
    if short:
        most = len(counting) * constraint.max_skew
        return Bound(min(wanted, most), f"fewer {domain_word(key, 2)} than minDomains: {constraint.max_skew} in each")
    which = "" if len(fewest) == len(counting) else " that may have the fewest pods"
    return Bound(wanted, f"no {domain_word(key)}{which} can fill up")


def _own_in_fewest(
    ask: _Ask, constraint: SpreadConstraint, counting: Mapping[str, NodeSet], *, short: bool
) -> dict[str, int]:
    """Return each domain that may be the least full one while a pod waits → the most pods of the workload there then.

    The pods that a spread counts are no more than all, so a domain in which many of them stay is never that one.
    """
    simulated, member = ask.simulated, ask.simulated.member(ask.number)
    selector, own, whole = constraint.selector, ask.wanted - 1, len(counting)
    assert selector is not None, "it counts some pods"
    if (ask.meanwhile.mixed and not reaches_old(member, selector)) or not selector.matches(member.pod.labels):
        return dict.fromkeys(counting, own)
    if short:
        return dict.fromkeys(counting, min(own, max(own // whole, constraint.max_skew - 1)))
    groups = [] if selector.is_empty else list(others.selected_by(simulated, selector, member.pod.namespace))
    if len(groups) < _of_any_revision(member, constraint):
        return dict.fromkeys(counting, own)  # it may count pods that run, and whose hash nobody knows here
    total = own + sum(len(group.bound) + group.elsewhere for group in groups)
    total += sum(rival.count for rival in counted(member, constraint))
    moves = ask.meanwhile.lost or ask.fewer or simulated.to_be_deleted
    held = [group for group in groups if group.pod not in guests_of(simulated).weaker_kinds] if not moves else ()
    among = reduce(or_, counting.values())
    stay = counted_pods(held, constraint.topology_key, among, simulated.index)
    level = _water_level([stay.get(value, 0) for value in counting], total)
    return {value: min(own, level - stay.get(value, 0)) for value in counting if stay.get(value, 0) <= level}


def _of_any_revision(member: SimulatedMember, constraint: SpreadConstraint) -> int:
    """Return how many groups of pods of others a spread would count if matchLabelKeys left no revision out."""
    selector, keys = constraint.selector, constraint.match_label_keys
    if selector is None or not keys:
        return 0
    loose = Selector(tuple(r for r in selector.requirements if r.key not in keys))
    return 0 if loose.is_empty else sum(1 for _ in others.selected_by(member.set, loose, member.pod.namespace))


def _water_level(held: Sequence[int], total: int) -> int:
    """Return the most that the least of some numbers can be: each at least what it is in ``held``, ``total`` in all."""
    lowest_first, above = sorted(held), sum(held)
    for several, lowest in enumerate(lowest_first, 1):
        above -= lowest
        level = (total - above) // several
        if several == len(held) or level < lowest_first[several]:
            return level
    return 0


def _least_in_each_domain(ask: _Ask) -> Bound:
    """Return the least pods with several hard spreads: a pod fits where the least full domains of all of them meet."""
    index, pod = ask.simulated.index, ask.simulated.pods[ask.number]
    every = [counted_domains(pod, constraint, index, ask.meanwhile.lost) for constraint in ask.wide_spreads]
    short = any(map(is_short_of_domains, ask.wide_spreads, map(len, every)))
    if short or prod(map(len, every)) > MOST_TRIED:
        return Bound(0, "several spreads work together")  # nothing was tried, and no fewer than 0 pods run
    for met in product(*every):
        nodes = ask.open_
        for constraint, value in zip(ask.wide_spreads, met, strict=True):
            nodes &= index.domains(constraint.topology_key)[value]
        if nodes.bit_count() <= ask.closed(ask.wanted - 1, nodes, ask.fewer) + ask.fewer:
            return Bound(0, f"the nodes of {' and '.join(met)} may fill up, where its spreads may lead together")
    return Bound(ask.wanted, "its spreads lead to nodes that cannot fill up")


def _least_apart(ask: _Ask, term: PodAffinityTerm) -> Bound:
    """Return the number of domains that others cannot close, if each pod of the workload needs its own domain.

    Its other pods are in other domains if the selector matches them.
    """
    simulated, number, wanted, open_ = ask.simulated, ask.number, ask.wanted, ask.open_
    index, key = simulated.index, term.topology_key
    reaches_all = not ask.meanwhile.mixed or reaches_old(simulated.member(number), term.selector)
    seen = not open_ & ~index.with_key(key) and reaches_all
    own = 0 if seen else wanted - 1
    apart = ask.guests + ask.shut + ask.fewer + own * (ask.near and not index.one_node_each(key))
    free = index.domains_of(key, open_)
    unbounded = (open_ & ~index.with_key(key)).bit_count()
    closed = closed_by_room(simulated.member(number), own, open_, Sought(free - wanted + 1 - apart)) + apart
    if unbounded > closed:
        return Bound(wanted, f"nodes without {key} take any number")
    if index.one_node_each(key):
        free = max(free - closed, 0)
    else:
        domains = [d & open_ for d in index.domains(key).values() if d & open_]
        for size in sorted(d.bit_count() for d in domains):
            if closed < size:
                break
            closed -= size
            free -= 1
        if free < wanted and not simulated.pods[number].host_ports:
            full = max_full_domains(simulated.member(number), own, domains, len(domains) - wanted + 1, apart)
            free = max(free, len(domains) - full)
    stays = "stays" if free < 2 else "stay"
    each = "each pod, old or new, needs" if ask.meanwhile.mixed else "each pod needs"
    why = f"{each} a {domain_word(key)} of its own, and {number_of_domains(free, key)} {stays} open for certain"
    return Bound(min(free, wanted), why)


def _least_together(ask: _Ask) -> Bound:
    """Return the least pods with required affinity: a pod waits only if each domain with a matching pod is closed.

    So each domain where a matching pod may be must keep an open node; if a matching pod is sure to stay, its domain is
    enough. A first pod that matches itself may go to any open node. A pod that matches only others waits until one is
    bound, so another workload must be sure to bind one.
    """
    simulated, number, wanted = ask.simulated, ask.number, ask.wanted
    pod, index = simulated.pods[number], simulated.index
    terms = pod.required_affinity
    key = terms[0].topology_key
    if any(t.topology_key != key for t in terms):
        return Bound(0, "required pod affinity depends on where others land")

    matches_itself = simulated.draws(pod, pod)
    domains = index.domains(key)
    staying = _staying(ask) & ~ask.meanwhile.lost
    for domain in domains.values() if staying else ():
        held = staying & domain
        home = domain & ask.open_
        # Each node that an event removes may be one that holds such a pod.
        if held.bit_count() > ask.fewer and home.bit_count() > ask.closed(wanted - 1, home, ask.fewer) + ask.fewer:
            return Bound(wanted, f"its affinity leads to the {key} of a pod that stays, which cannot fill up")
    if not matches_itself and is_blind(terms, simulated.cluster):
        return Bound(0, "a waiting pod may not be requeued when a pod of another namespace is created")
    if not matches_itself and not _is_led(ask):
        return Bound(0, "required pod affinity depends on where others land")
    reach = ask.open_ if matches_itself else 0
    for contender in drawing(simulated.member(number), terms):
        reach |= contender.nodes
    reach |= others.where(others.drawing(simulated.member(number)))
    reach &= ~ask.meanwhile.lost
    for value, domain in domains.items():
        home = domain & ask.open_
        if domain & reach and home.bit_count() <= ask.closed(wanted - 1, home, ask.fewer) + ask.fewer:
            return Bound(0, f"its affinity may lead to {domain_word(key)} {value}, which may fill up")
    if not ask.open_ & index.with_key(key):
        return Bound(0, f"no node that it may use has the label {key}")
    return Bound(wanted, f"its affinity may lead to any {key}, and none of them can fill up")


def _staying(ask: _Ask) -> NodeSet:
    """Return the nodes with pods outside the set that affinity selects and nobody deletes."""
    staying, preempted = EMPTY, guests_of(ask.simulated).weaker_kinds
    for group in others.drawing(ask.simulated.member(ask.number)):
        staying |= EMPTY if group.pod in preempted else others.staying(ask.simulated, group)
    return staying


def _opens_by_itself(ask: _Ask) -> bool:
    """Whether the workload's only pod matches its own affinity and never meets another matching pod.

    A ReplicaSet may create a pod before the replaced one is gone, and a rolling update does: then the new pod may need
    the old one and miss its deletion.
    """
    simulated, number, workload = ask.simulated, ask.number, ask.simulated.workloads[ask.number]
    remade_early = ask.meanwhile.cordoned and ask.fewer > 0
    if ask.wanted != 1 or (workload.kind != "StatefulSet" and (remade_early or workload.kind == "Job")):
        return False
    if ask.meanwhile.mixed and workload.kind == "Deployment" and workload.strategy.type != "Recreate":
        return False
    pod = simulated.pods[number]

    if (
        not simulated.draws(pod, pod)
        or next(drawing(simulated.member(number), pod.required_affinity), None) is not None
    ):
        return False
    stays_away = not any(simulated.draws(bound.pod, pod) for bound in simulated.terminating_of_others)
    return stays_away and next(others.drawing(simulated.member(number)), None) is None


def _least_alone(ask: _Ask) -> Bound:
    """Return 1 if a first pod that matches itself is sure of an open node with the keys of its affinity, else 0."""
    keys = {t.topology_key for t in ask.simulated.pods[ask.number].required_affinity}
    home = ask.open_
    for key in keys:
        home &= ask.simulated.index.with_key(key)
    sure = home.bit_count() > ask.closed(0, home, ask.shut + ask.fewer) + ask.shut + ask.fewer
    return Bound(int(sure), f"a single pod needs no other for its affinity, and {home.bit_count()} nodes let it in")


def _is_led(ask: _Ask) -> bool:
    """Whether at least one pod of a workload to which affinity leads is bound in the end."""
    simulated, stay = ask.simulated, ask.meanwhile.others_stay

    def is_bound(i: int) -> bool:
        wanted = simulated.member(i).wanted
        if not wanted or simulated.running.get(i):
            return False
        meanwhile = around._replace(own_stay=stay and not may_be_preempted(simulated.member(i)))
        return least_placed(simulated.member(i), wanted, meanwhile).pods > 0

    around = ask.meanwhile._replace(own_stay=False, mixed=False)
    return is_led(simulated.member(ask.number), _sure(simulated).setdefault(around, {}), is_bound)


@once_per_set
def _sure(simulated: SimulatedSet) -> dict[Meanwhile, dict[int, bool]]:
    """Return the cache: what happens → workload → whether it is sure to bind a pod."""
    return {}


# --- DaemonSets ------------------------------------------------------------------------------------------------------


def least_daemons(member: SimulatedMember, wanted: int) -> Bound:
    """Return the least pods of a DaemonSet that every order binds: one on each node that others cannot close.

    Node affinity pins each pod to its node. So a spread that honours it counts one domain, which is the least full
    one. The other pods of the DaemonSet are on other nodes, except the old pod of a surging one.
    """
    pod, index = member.pod, member.set.index
    surges = bool(daemon_bounds(member.workload.strategy, 1)[0])
    blocking = [c for c in pod.spread if c.is_hard and (not c.honors_affinity or (c.min_domains or 1) > 1)]
    apart = kept_apart(member)
    if pod.required_affinity or blocking or any(surges or not index.one_node_each(t.topology_key) for t in apart):
        return Bound(0, "its pods look at where others are")
    if any(v.claim for v in pod.volumes):
        return MAY_TIE
    open_ = diagnose(pod, member.set.cluster).feasible & targets(pod, index)[0]
    open_ &= hard_keyed_nodes(pod, index)
    guests = 0
    for key, contender, times in repelling(member):
        if not index.one_node_each(key):
            return Bound(0, "pods of others may repel it")
        guests += times * min(contender.count, (contender.nodes & open_).bit_count())
    closed = min(closed_by_room(member, 0, open_, Sought(1 - guests)) + guests, open_.bit_count())
    sure = max(min(open_.bit_count() - closed, wanted), 0)
    return Bound(sure, _filled(closed, open_))


def _filled(count: int, nodes: NodeSet, meanwhile: Meanwhile = NOTHING_ELSE) -> str:
    """Return what others, and an event, may do to the nodes that a workload may use, in words."""
    total = nodes.bit_count()
    if count >= total:
        return "other pods may fill all nodes that it may use"
    return f"other pods may fill {f'at most {count}' if count else 'none'} of its {many(total, 'node')}" + (
        f", and {meanwhile.fewer} may be {'drained' if meanwhile.cordoned else 'lost'}" if meanwhile.fewer else ""
    )
