"""Bounds by counting after a hypothesis: those of ``bounds`` and ``least`` on the nodes as they are in the end.

Both kinds of bound judge one state at a time, so they hold on the nodes of the end, if the pods of the set count where
they may stand then: where they may go, and where they went before the nodes changed and need not leave.
"""

from __future__ import annotations

from msgspec.structs import replace

from kubesched_lint.engine.bounds.bounds import most_placed
from kubesched_lint.engine.bounds.least import finds_room, least_daemons, least_placed
from kubesched_lint.engine.bounds.losses.unreachable import if_unreachable
from kubesched_lint.engine.cluster.nodes.index import NodeIndex
from kubesched_lint.engine.cluster.nodeset import NodeSet, of, positions
from kubesched_lint.engine.controllers.bounds import allowed_if_healthy, daemon_bounds, rolling_bounds
from kubesched_lint.engine.events.answers.event_bounds import FRESH, Bound, EventBounds, Meanwhile
from kubesched_lint.engine.events.search.hypotheses import Hypothesis, NodeChange
from kubesched_lint.engine.events.search.supposing import rolls
from kubesched_lint.engine.events.start.evictable_pods import comes_back
from kubesched_lint.engine.events.start.overlooked import may_overlook
from kubesched_lint.engine.events.start.simulated_set import SimulatedMember, SimulatedSet, once_per_set
from kubesched_lint.engine.events.transitions.hints import may_miss
from kubesched_lint.engine.model.pod import Pod
from kubesched_lint.engine.model.workloads.workload import Workload


def surging(workload: Workload, wanted: int) -> tuple[int, int]:
    """Return the pods that a rollout may create beyond ``wanted``, and those that may be missing meanwhile."""
    if workload.kind != "Deployment" or workload.strategy.type != "RollingUpdate":
        return 0, 0
    return rolling_bounds(workload.strategy, wanted)


def rolling_total(member: SimulatedMember, wanted: int) -> int:
    """Return for how many pods of both revisions room suffices, so that a rollout is sure to end.

    With maxUnavailable, old pods are deleted while any runs: it suffices that fewer than wanted leave room for one
    more. Without it, or if a waiting pod may miss the deletion, the surging pods need room beside all.
    """
    workload = member.workload
    surge, unavailable = surging(workload, wanted)
    sees = not may_miss(member.kinds, member.set.cluster)
    return wanted + min(surge, workload.strategy.by_weight) if unavailable and sees else wanted + surge


@once_per_set
def after_of(simulated: SimulatedSet) -> SimulatedSet:
    """Return the set on the nodes after its hypothesis, whose workloads want their new numbers of pods."""
    hypothesis = _hypothesis(simulated)
    return replace(
        simulated,
        nodes=tuple(hypothesis.change.nodes(simulated.nodes)),
        objects=hypothesis.change.objects(simulated.objects),
        workloads=tuple(_sized(w, hypothesis.sizes.get(i)) for i, w in enumerate(simulated.workloads)),
        supposed=None,
    )


def _hypothesis(simulated: SimulatedSet) -> Hypothesis:
    assert simulated.supposed is not None, "the set has no hypothesis"
    return simulated.supposed


def _sized(workload: Workload, size: int | None) -> Workload:
    return workload if size is None else replace(workload, replicas=size)


@once_per_set
def _crowded(simulated: SimulatedSet) -> SimulatedSet:
    """Return ``after_of`` with all pods that may compete at once, where each of them may stand."""
    hypothesis, after = _hypothesis(simulated), after_of(simulated)
    peaks = tuple(
        _sized(w, None if w.kind == "DaemonSet" else _peak(hypothesis, w, before.replicas))
        for w, before in zip(after.workloads, simulated.workloads, strict=True)
    )
    return replace(after, workloads=peaks, kept_on=_lingering(simulated))


def _peak(hypothesis: Hypothesis, workload: Workload, before: int) -> int:
    """Return the most pods that a workload has at once."""
    wanted = max(workload.replicas, before)
    return wanted + surging(workload, wanted)[0] * rolls(hypothesis, workload)


@once_per_set
def _lingering(simulated: SimulatedSet) -> tuple[NodeSet, ...]:
    """Return per workload: the nodes that it may not use any longer, but where its pods may stand."""
    after = after_of(simulated)
    return tuple(
        _standing(simulated, pod, after.index, usable) & ~now
        for pod, usable, now in zip(simulated.pods, simulated.usable, after.usable, strict=True)
    )


def _standing(simulated: SimulatedSet, pod: Pod, later: NodeIndex, usable: NodeSet) -> NodeSet:
    """Return the later positions of nodes where a pod may have been and need not leave."""
    change, names = _hypothesis(simulated).change, simulated.index.names
    kept = (names[p] for p in positions(usable) if names[p] in later.positions)
    return of([later.positions[name] for name in kept if not change.evicts(pod, name)])


def supposed_bounds(member: SimulatedMember) -> EventBounds:
    """Return bounds after the set's hypothesis, for every scheduler and every order of events."""
    hypothesis = _hypothesis(member.set)
    if hypothesis.change.unreachable:
        return _if_unreachable(member, hypothesis)
    after, workload = after_of(member.set), member.workload
    wanted = after.wanted[member.number]
    if workload.kind == "Pod" and _deletes(hypothesis):
        return EventBounds(1, Bound(0, "no controller recreates a bare pod"), _most(member, 1))
    least = max(_least(member, wanted), _kept(member, wanted), key=lambda counted: counted.pods)
    bounds = EventBounds(wanted, least, _most(member, wanted))
    bounds.never_stuck = bounds.least.pods >= wanted
    if rolls(hypothesis, workload):
        _stop_without_room(member, bounds)
    if workload.kind != "DaemonSet" and hypothesis.upgraded and bounds.never_stuck:
        _stop_at_budgets(member, bounds)
    return bounds


def _if_unreachable(member: SimulatedMember, hypothesis: Hypothesis) -> EventBounds:
    """Return bounds where nodes are unreachable; nothing is counted of the least if more happens at once.

    An upgrade or a rollout may then be stuck, whatever is wanted in the end.
    """
    change, event = hypothesis.change, hypothesis.event
    alone = Hypothesis(event, NodeChange(unreachable=change.unreachable))
    if hypothesis == alone:
        deleted = replace(member.set, supposed=Hypothesis(event, NodeChange(lost=change.unreachable)))
        return if_unreachable(member, event, supposed_bounds(member.within(deleted)))
    wanted = after_of(member.set).wanted[member.number]
    least = Bound(0, "nodes are unreachable, and more happens")
    bounds = EventBounds(wanted, least, _most(member, wanted))
    bounds.never_stuck = not (wanted or hypothesis.upgraded or hypothesis.rolls)
    return bounds


def _least(member: SimulatedMember, wanted: int) -> Bound:
    simulated = member.set
    hypothesis, workload, crowded = _hypothesis(simulated), member.workload, member.within(_crowded(simulated))
    rolling = rolls(hypothesis, workload)
    if hypothesis.rolls and any(_surges(w) for w in simulated.workloads if w.kind == "DaemonSet"):
        return Bound(0, "pods of a DaemonSet may surge beside others")
    if workload.kind == "DaemonSet":
        return least_daemons(crowded, wanted)
    total = rolling_total(member.within(after_of(simulated)), wanted) if rolling else wanted
    fewer = int(bool(hypothesis.upgraded))
    placed = least_placed(crowded, total, Meanwhile(fewer=fewer, cordoned=True, mixed=rolling))
    misses = _deletes(hypothesis) and may_overlook(crowded)
    if misses and not finds_room(crowded, [Meanwhile(fewer=fewer)]):
        return Bound(0, "a waiting pod may not be requeued when another pod is deleted")
    if placed.pods >= total:
        return Bound(wanted, placed.why)
    return Bound(0 if rolling else min(placed.pods, wanted), placed.why)


def _kept(member: SimulatedMember, wanted: int) -> Bound:
    """Return the least pods that a hypothesis leaves where they are, because it deletes none."""
    hypothesis, workload = _hypothesis(member.set), member.workload
    moves = _deletes(hypothesis) or hypothesis.rolls or member.number in hypothesis.sizes
    if moves or workload.kind == "DaemonSet" or member.running:
        return Bound(0, "")
    return least_placed(member, wanted, FRESH)


def _deletes(hypothesis: Hypothesis) -> bool:
    """Whether it deletes pods, other than by their controllers."""
    return hypothesis.change.deletes or bool(hypothesis.upgraded)


def _surges(workload: Workload) -> bool:
    return bool(daemon_bounds(workload.strategy, 1)[0])


def _most(member: SimulatedMember, wanted: int) -> Bound:
    """Return the most pods, by room and by what keeps its pods apart.

    Spread and affinity limit where a pod may go, but not where it stays: pods from before the event may exceed them.
    """
    simulated = member.set
    if member.running:
        return Bound(wanted, "running pods stay where they are")
    crowded = _crowded(simulated)
    if not most_placed(member, member.wanted).pods:
        return most_placed(member.within(crowded), wanted)
    hypothesis = _hypothesis(simulated)
    mixed = rolls(hypothesis, member.workload)  # pods of the old template run beside those of the new one
    most = most_placed(_without_company(member.within(crowded)), wanted, Meanwhile(mixed=mixed))
    if hypothesis.change != NodeChange(lost=hypothesis.change.lost) or hypothesis.upgraded or hypothesis.rolls:
        return most
    lost = simulated.index.named(hypothesis.change.lost)
    return min(most, most_placed(member, wanted, Meanwhile(lost)), key=lambda counted: counted.pods)


def _without_company(member: SimulatedMember) -> SimulatedMember:
    """Return a workload as if its pods neither spread nor needed others beside them."""
    workload, others = member.workload, member.set.workloads
    if not workload.pod.spread and not workload.pod.required_affinity:
        return member
    loose = replace(workload, pod=replace(workload.pod, spread=(), required_affinity=()))
    changed = (*others[: member.number], loose, *others[member.number + 1 :])
    return member.within(replace(member.set, workloads=changed))


def _stop_without_room(member: SimulatedMember, bounds: EventBounds) -> None:
    """Add whether a rollout never ends, because its new pods do not all fit on the nodes as they are then."""
    workload = member.workload
    if workload.kind == "DaemonSet" or workload.strategy.type == "OnDelete" or workload.strategy.partition:
        return
    new = most_placed(_without_company(member.within(after_of(member.set))), bounds.wanted)
    if new.pods < bounds.wanted:
        bounds.never_stuck, bounds.always_stuck = False, True
        bounds.most = Bound(bounds.most.pods, new.why)


def _stop_at_budgets(member: SimulatedMember, bounds: EventBounds) -> None:
    """Add whether a budget stops the upgrade, if all wanted pods run whenever a drain begins."""
    simulated = member.set
    budgets, hypothesis = member.budgets, _hypothesis(simulated)
    if comes_back(member):
        bounds.never_stuck = False
    if not budgets or not bounds.wanted:
        return
    alone = [b for b in budgets if simulated.is_alone(b)]
    if len(budgets) > 1 or not alone or hypothesis.sizes or hypothesis.rolls:
        bounds.never_stuck = False
        return
    stops = not allowed_if_healthy(budgets[0], member.workload.kind, bounds.wanted)
    names = {simulated.nodes[p].name for p in positions(member.reach)}
    bounds.never_stuck = bounds.never_stuck and not stops
    bounds.always_stuck = stops and names <= set(hypothesis.upgraded) | hypothesis.change.lost
