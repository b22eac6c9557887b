"""The exact number of pods placed in the end, without a search, if no other workload affects the pods.

Three cases, checked by brute force and by property tests against the search: identical pods that only need room; self
anti-affinity; one hard spread constraint that selects its own pods. For a spread with domain capacities c, the sum of
min(c[i], min(c) + maxSkew) is placed in every order, because the least full domain can take the next pod until it is
full. With fewer domains than minDomains the minimum counts as 0.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from kubesched_lint.engine.answers.event_bounds import NO_NODE, ON_ALL, ON_NOTHING, Bound
from kubesched_lint.engine.base.text import plural
from kubesched_lint.engine.bounds.bounds import number_of_domains, spread_bound
from kubesched_lint.engine.cluster.nodeset import NodeSet
from kubesched_lint.engine.events.start.groups import acquaintances
from kubesched_lint.engine.events.start.quotas import quota_short
from kubesched_lint.engine.events.start.rooms import kept_apart, open_but_for_neighbours, room_of
from kubesched_lint.engine.events.start.simulated_set import SimulatedMember, SimulatedSet, once_per_set
from kubesched_lint.engine.model.node import domain_word
from kubesched_lint.engine.scheduler.framework import with_enforced_constraints


def placed(member: SimulatedMember, wanted: int) -> Bound | None:
    """Return how many of ``wanted`` pods are bound on today's nodes; None if no closed form applies."""
    simulated = member.set
    pod = with_enforced_constraints(member.pod)
    if member.number in quota_short(simulated) or not is_undisturbed(member):
        return None
    if pod.required_affinity or pod.volumes or pod.scheduling_gates:
        return None
    if member.workload.kind == "DaemonSet" or member.workload.claim_templates:
        return None
    if member.workload.pod_management == "OrderedReady" and member.workload.kind == "StatefulSet":
        return None  # it stops at the first waiting pod: the same number, but another order
    hard = [c for c in pod.spread if c.is_hard]
    if len(hard) + len(pod.required_anti_affinity) > 1:
        return None
    open_ = open_but_for_neighbours(member)
    room = room_of(simulated, pod, open_, wanted)
    if pod.required_anti_affinity:
        terms = kept_apart(member)
        if not terms:
            return None
        each = room.apart(terms[0].topology_key, simulated.index, open_, wanted)
        takes = plural(each.domains or 1, "takes", "take")
        why = f"{number_of_domains(each.domains, terms[0].topology_key)} {takes} one pod each"
        return Bound(min(each.total, wanted), why, rests_on=ON_NOTHING)
    if hard:
        constraint = hard[0]
        if constraint.selector is None or not constraint.selector.matches(pod.labels):
            return None
        bound = spread_bound(member, constraint, room, wanted)
        if not bound.capacity:
            return None
        total, held = bound.total, list(bound.capacity.values())
        places = domain_word(constraint.topology_key, len(held))
        why = f"{places} that hold {held} take {total} at maxSkew {constraint.max_skew}"
        return Bound(min(total, wanted), why, rests_on=ON_ALL if bound.may_grow else ON_NOTHING)
    if not open_:
        return Bound(0, NO_NODE, rests_on=ON_NOTHING)
    total = room.within(open_, wanted)
    return Bound(min(total, wanted), f"room for {total} on {open_.bit_count()} nodes", rests_on=ON_NOTHING)


def is_undisturbed(member: SimulatedMember) -> bool:
    """Whether no workload of the set runs, no other shares nodes or selectors, and its terms select no other pod."""
    return (
        not member.set.running
        and not _shares_nodes(member)
        and len(acquaintances(member)) == 1
        and not any(
            selector is not None and selector.matches(group.pod.labels)
            for group in member.set.others
            for selector in [
                *(t.selector for t in member.pod.required_anti_affinity),
                *(c.selector for c in member.pod.spread),
            ]
        )
    )


def _shares_nodes(member: SimulatedMember) -> bool:
    """Whether a workload beside it may use one of its nodes."""
    simulated = member.set
    own, users = member.usable, _users(simulated)
    is_counted = simulated.rivals is None or member.number in simulated.rivals
    return any(nodes & own and (nodes != own or count > is_counted) for nodes, count in users.items())


@once_per_set
def _users(simulated: SimulatedSet) -> Mapping[NodeSet, int]:
    """Return nodes → the number of workloads beside the one that is asked about that may use just these."""
    return Counter(
        simulated.usable if simulated.rivals is None else map(simulated.usable.__getitem__, simulated.rivals)
    )
