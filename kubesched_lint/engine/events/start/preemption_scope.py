"""Which workloads of a set may preempt which others, and whether a search can follow the results."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import inf
from typing import NamedTuple

from kubesched_lint.engine.cluster.nodeset import NodeSet
from kubesched_lint.engine.controllers.bounds import covers
from kubesched_lint.engine.events.search.events import revision_of
from kubesched_lint.engine.events.start.evictable_pods import guests_of
from kubesched_lint.engine.events.start.overlooked import repels_unseen
from kubesched_lint.engine.events.start.simulated_set import SimulatedMember, SimulatedSet, once_per_set
from kubesched_lint.engine.events.transitions.hints import is_blind
from kubesched_lint.engine.model.pod import BoundPod
from kubesched_lint.engine.model.resources import is_resizing
from kubesched_lint.engine.model.workloads.workload import Workload
from kubesched_lint.engine.scheduler.preemption.eviction import NOBODY, preempting_priority


class PreemptionScope(NamedTuple):
    """Preemption in one group of workloads that can affect each other."""

    strong: str = ""
    """A workload that may preempt others; empty: none."""
    open_: str = ""
    """Why no search can follow the preemption; empty: a search can."""
    untold: str = ""
    """Why no trace can follow it either; empty: traces can."""
    uncounted: bool = False
    """Whether an event may end well although counting proves it bad, because the real pods may differ."""


NONE = PreemptionScope()


def scope_of(simulated: SimulatedSet, members: tuple[int, ...]) -> PreemptionScope:
    """Return ``preemption_scope``, computed once for each group."""
    scope = _scopes(simulated).get(members)
    if scope is None:
        scope = _scopes(simulated)[members] = preemption_scope(simulated, members)
    return scope


@once_per_set
def _scopes(simulated: SimulatedSet) -> dict[tuple[int, ...], PreemptionScope]:
    return {}


def preemption_scope(simulated: SimulatedSet, members: Sequence[int]) -> PreemptionScope:
    """Return who may preempt others among ``members``, and why a search cannot follow it, if it cannot."""
    why = next(_uncounted(simulated, members), "")
    if why:
        return PreemptionScope("", why, why, uncounted=True)
    outranked = _outranked(simulated, members)
    guest = next(guests_of(simulated).weaker(members), None)
    if not outranked and guest is None:
        return PreemptionScope("", blind) if (blind := _blind(simulated, members)) else NONE
    strong = simulated.workloads[outranked[0].strong[0] if outranked else guest.member if guest is not None else 0]
    untold = _untold(simulated, members)
    return PreemptionScope(
        str(strong), untold or _hindrance(simulated, members, outranked) or _blind(simulated, members), untold
    )


def _uncounted(simulated: SimulatedSet, members: Sequence[int]) -> Iterator[str]:
    for i, name in _missed(simulated, members):
        yield f"pod {name} terminates: whether pods of {simulated.workloads[i]}, which must be near it, come in time"
    for i, name in _overlooked(simulated, members):
        yield f"pod {name} terminates: pods of {simulated.workloads[i]}, which it keeps away, may miss that it is gone"
    for i in members:
        if _is_made_otherwise(simulated.member(i)):
            yield f"new pods of {simulated.workloads[i]} get other requests from a LimitRange than those that run"
        whose = simulated.workloads[i]
        if any(is_resizing(bound.pod) for bound in simulated.running.get(i, ())):
            yield f"where the pods of {whose} leave room: one is resized in place, and its next copy will not be"
        if _is_resized(simulated.member(i)):
            yield f"where the pods of {whose} leave room: those of one template have different requests"
        name = next(
            (f"{b.namespace}/{b.name}" for b in simulated.to_be_deleted if _concerns(simulated.member(i), b)), ""
        )
        if name:
            yield f"pod {name}, of a workload whose new pods the API server refuses, may be taken away"


def _is_made_otherwise(member: SimulatedMember) -> bool:
    """Whether a later LimitRange gives new pods of the same template other requests than the running pods have."""
    running = member.running
    if not running or member.changes_template is True:
        return False
    written, newest = member.workload.pod.requests, running[-1].pod.requests
    return written == newest != member.pod.requests


def _is_resized(member: SimulatedMember) -> bool:
    """Whether running pods of one template have different requests: a search takes all for the first of them.

    VPA or somebody has resized some in place, or VPA has asked for other requests since they were made.
    """
    first: dict[str, BoundPod] = {}
    return any(
        bool(revision := revision_of(member.workload, bound))
        and bound.pod.requests != first.setdefault(revision, bound).pod.requests
        for bound in member.running
    )


def _concerns(member: SimulatedMember, bound: BoundPod) -> bool:
    """Whether a pod can affect a workload: by a node, a quota, or a constraint on where other pods are."""
    pod, at = member.pod, member.set.index.positions.get(bound.node, -1)
    looks = pod.required_affinity or pod.required_anti_affinity or any(c.is_hard for c in pod.spread)
    shares = bool(member.quotas) and bound.namespace == pod.namespace
    return bool(looks) or shares or (at >= 0 and bool(member.reach >> at & 1))


def _missed(simulated: SimulatedSet, members: Sequence[int]) -> Iterator[tuple[int, str]]:
    """Yield (member, name of a terminating pod that its pods must be near): the result depends on which is faster."""
    for bound in simulated.terminating_of_others:
        for i in members:
            pod = simulated.pods[i]
            if pod.required_affinity and simulated.draws(bound.pod, pod):
                yield i, f"{bound.namespace}/{bound.name}"


def _overlooked(simulated: SimulatedSet, members: Sequence[int]) -> Iterator[tuple[int, str]]:
    """Yield (member, name of a terminating pod): they repel each other, and the hints may miss its end."""
    for i in members if simulated.terminating_of_others else ():
        pod = simulated.pods[i]
        for bound in simulated.terminating_of_others:
            if repels_unseen(simulated, pod, bound.pod):
                yield i, f"{bound.namespace}/{bound.name}"


def _blind(simulated: SimulatedSet, members: Sequence[int]) -> str:
    """Return why pods may miss the arrival of pods that they must be near; empty if they cannot."""
    blind = (
        simulated.workloads[i] for i in members if is_blind(simulated.pods[i].required_affinity, simulated.cluster)
    )
    waiting = next(blind, None)
    return (
        ""
        if waiting is None
        else f"pods of {waiting} may not be requeued when a pod of a labelled namespace is created"
    )


class _Outranked(NamedTuple):
    """Members that are alike, and groups of alike members whose pods they may preempt."""

    strong: Sequence[int]
    weak: Sequence[Sequence[int]]


def _outranked(simulated: SimulatedSet, members: Sequence[int]) -> list[_Outranked]:
    """Return who may preempt whom: members alike are on the same nodes, as eager and as easy to preempt."""
    if len({rank for i in members for rank in _ranks(simulated.member(i))}) < 2:
        return []
    alike: dict[tuple[NodeSet, int, int], list[int]] = {}
    for member in map(simulated.member, members):
        alike.setdefault((member.reach, _eagerness(member), min(_ranks(member))), []).append(member.number)
    outranked = []
    for (reach, eagerness, _), strong in alike.items():
        weak = [group for (there, _, rank), group in alike.items() if reach & there and eagerness > rank]
        if weak:
            outranked.append(_Outranked(strong, weak))
    return outranked


def outranks(strong: SimulatedMember, weak: SimulatedMember) -> bool:
    """Whether pods of one workload may preempt those of another, or its own of another template."""
    return bool(strong.reach & weak.reach) and _eagerness(strong) > min(_ranks(weak))


def may_be_preempted(member: SimulatedMember) -> bool:
    """Whether pods of the set may preempt those of a workload, judged by priorities alone."""
    return _highest(member.set) > min(_ranks(member))


def are_others_stronger(member: SimulatedMember) -> bool:
    """Whether pods of others may preempt those of a workload when they are made anew, judged by priorities alone."""
    lowest = min(_ranks(member))
    return any(preempting_priority(group.pod) > lowest for group in member.set.others)


def above(member: SimulatedMember) -> Iterator[Workload]:
    """Yield the workloads whose pods may preempt those of a workload, or others that do; running pods of others too."""
    lowest = min(_ranks(member))
    hosted = (foreign.workload for foreign in guests_of(member.set).hosted)
    yield from (workload for workload in hosted if preempting_priority(workload.pod) > lowest)
    if may_be_preempted(member):
        yield from (other.workload for other in member.others if _eagerness(other) > lowest)


@once_per_set
def _highest(simulated: SimulatedSet) -> int:
    return max(map(_eagerness, simulated.members), default=NOBODY)


def _eagerness(member: SimulatedMember) -> int:
    """Return the highest priority of pods of a workload that may preempt others."""
    return max(map(preempting_priority, member.kinds))


@once_per_set
def drivers(simulated: SimulatedSet) -> frozenset[int]:
    """Return the workloads whose pods may preempt others, judged by priorities alone."""
    lowest = min((rank for member in simulated.members for rank in _ranks(member)), default=inf)
    lowest = min(lowest, guests_of(simulated).weakest)
    return frozenset(i for i, pod in enumerate(simulated.pods) if preempting_priority(pod) > lowest)


def _ranks(member: SimulatedMember) -> Iterator[int]:
    return (pod.priority or 0 for pod in member.kinds)


def _untold(simulated: SimulatedSet, members: Sequence[int]) -> str:
    """Return which pod of others may be preempted without anybody knowing where it goes; empty if none."""
    forced = next(
        (i for i in members if simulated.pods[i].node_name and _eagerness(simulated.member(i)) > NOBODY), None
    )
    if forced is not None:
        pod = simulated.pods[forced]
        return f"preemption: which pods the kubelet of {pod.node_name} drives out for {simulated.workloads[forced]}"
    followed = followed_guests(simulated)
    lost = next((w for w in guests_of(simulated).weaker(members) if w.bound not in followed), None)
    if lost is None:
        return ""
    i, bound = lost.member, lost.bound
    return (
        f"preemption: {simulated.workloads[i]} (priority {simulated.pods[i].priority or 0}) may drive out pod "
        f"{bound.namespace}/{bound.name} (priority {lost.rank}), which is not of the set: where that goes then is not "
        "known"
    )


@once_per_set
def followed_guests(simulated: SimulatedSet) -> Mapping[BoundPod, Workload]:
    """Return the pods of others that a timeline follows, with the workload that stands for their owner."""
    return {bound: guest.workload for guest in guests_of(simulated).hosted for bound in guest.pods}


def _hindrance(simulated: SimulatedSet, members: Sequence[int], outranked: Sequence[_Outranked]) -> str:
    pods, workloads, followed = simulated.pods, simulated.workloads, followed_guests(simulated)
    hindering = {j for j in members if simulated.member(j).budgets or workloads[j].kind == "Pod"} if outranked else ()
    for strong, weak in outranked if hindering else ():
        firsts = (next((j for j in group if j in hindering), None) for group in weak)
        j = min((first for first in firsts if first is not None), default=None)
        if j is None:
            continue
        guard = next(iter(simulated.member(j).budgets), None)
        if guard is not None:
            return (
                f"preemption: {workloads[strong[0]]} may drive out {workloads[j]}, which PDB {guard.name} guards: "
                "whom it spares depends on the budget's state at that moment"
            )
        return f"preemption: {workloads[strong[0]]} may drive out {workloads[j]}, which no controller recreates"
    for weaker in guests_of(simulated).weaker(members):
        pod, budgets = weaker.bound.pod, simulated.objects.budgets
        guard = next((b for b in budgets if covers(b, pod.namespace, pod.labels)), None)
        if guard is not None:
            return (
                f"preemption: {workloads[weaker.member]} may drive out pod {pod.namespace}/{weaker.bound.name}, which "
                f"PDB {guard.name} guards: whom it spares depends on the budget's state at that moment"
            )
    meeting = {i for strong, weak in outranked for group in (strong, *weak) for i in group}
    ranks = {rank for i in meeting for rank in _ranks(simulated.member(i))}
    for weaker in guests_of(simulated).weaker(members):
        ranks.add(pods[weaker.member].priority or 0)
        if followed[weaker.bound].kind != "Pod":  # no controller recreates a bare pod, so it never waits
            ranks.add(weaker.rank)
    if len(ranks) > 2:
        listed = ", ".join(map(str, sorted(ranks)))
        return (
            f"preemption: pods of {len(ranks)} priorities ({listed}) meet, and a third may take a place that was freed"
        )
    return ""
