"""Bounds for each event by counting alone, for clusters where a search is too expensive."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache

from kubesched_lint.engine.base import work
from kubesched_lint.engine.base.text import many, plural
from kubesched_lint.engine.bounds.affinity import most_beside
from kubesched_lint.engine.bounds.bounds import most_of_template, most_on_fewer, most_placed
from kubesched_lint.engine.bounds.closed_forms import placed
from kubesched_lint.engine.bounds.devices import within_devices
from kubesched_lint.engine.bounds.least import finds_room, least_daemons, least_placed
from kubesched_lint.engine.bounds.losses.taken import losses
from kubesched_lint.engine.bounds.losses.unreachable import if_unreachable
from kubesched_lint.engine.bounds.supposed_bounds import rolling_total, supposed_bounds, surging
from kubesched_lint.engine.cluster.nodeset import EMPTY, NodeSet, of
from kubesched_lint.engine.controllers.bounds import allowed_if_healthy, daemon_bounds
from kubesched_lint.engine.controllers.daemonset import targets
from kubesched_lint.engine.events.answers.event_bounds import (
    FRESH,
    NOTHING_ELSE,
    ON_ALL,
    OTHERS_STAY,
    ROLLING,
    Bound,
    EventBounds,
    Meanwhile,
)
from kubesched_lint.engine.events.start import quotas
from kubesched_lint.engine.events.start.evictable_pods import comes_back, guests_of
from kubesched_lint.engine.events.start.overlooked import may_overlook
from kubesched_lint.engine.events.start.preemption_scope import outranks
from kubesched_lint.engine.events.start.quotas import quota_short
from kubesched_lint.engine.events.start.revisions import is_looser, is_mixed, stands_well
from kubesched_lint.engine.events.start.simulated_set import LOSSES, UNREACHABLE_OF, SimulatedMember
from kubesched_lint.engine.events.start.sizes import scaled_to, size_after
from kubesched_lint.engine.model.workloads.workload import ROLLED_OUT
from kubesched_lint.engine.scheduler.capacity import copies, tightest_resource
from kubesched_lint.engine.scheduler.framework import with_enforced_constraints

_MOVING = {event: Meanwhile(hosts_move=True, whole_nodes=event != "drain") for event in LOSSES}


def count(member: SimulatedMember, event: str) -> EventBounds:
    """Return bounds that hold for every scheduler that respects the filters and every order of events."""
    simulated = member.set
    if event in UNREACHABLE_OF:
        return if_unreachable(member, event, count(member, UNREACHABLE_OF[event]))
    work.spend(work.SETUP + len(simulated.workloads) // 4)
    bounds = _despite_deletions(member, event)
    if simulated.terminating_of_others and bounds.least.pods and may_overlook(member):
        bounds.least = Bound(0, "a waiting pod may not be requeued when a pod that terminates is gone")
        bounds.never_stuck = False
    if _waits_in_turn(member):
        bounds.least = Bound(0, "a pod of the old revision waits, and no controller replaces it")
        bounds.never_stuck = False
    if member.number in quota_short(simulated):
        bounds = _granted(member, event, bounds)
    if not member.never_ready:
        return bounds
    unready = EventBounds(bounds.wanted, Bound(0, "its new pods never become ready"), bounds.most)
    unready.never_stuck = False
    unready.always_stuck = bounds.always_stuck
    return unready


def has_room(member: SimulatedMember, event: str) -> bool:
    """Whether the most pods before any loss, or in a rollout, are enough, so that ``count`` proves no bad end.

    It leaves out the least pods, which cost more than all else. False where it does not know: ``count`` decides.
    """
    workload = member.workload
    is_plain = event in ("deploy", "rollout", "hpa-max", "scale-down") and not workload.suspended
    if not is_plain or member.running or member.quotas or member.set.need_devices((member.number,)):
        return False
    work.spend(work.SETUP)
    wanted = size_after(member, event) if event in ("hpa-max", "scale-down") else member.wanted
    exact = placed(member, wanted) or most_placed(member, wanted, OTHERS_STAY)
    if min(exact.pods, most_beside(member, wanted).pods) < wanted:
        return False
    if event in ("deploy", "scale-down"):
        return True
    if workload.kind == "DaemonSet" and (_surges_on_port(member) or _full_for_two(member)):
        return False
    needed = _needed_beside(member, wanted)
    both = most_placed(member, needed, ROLLING) if needed else exact
    return both.pods >= needed and most_of_template(member, wanted).pods >= wanted


def _needed_beside(member: SimulatedMember, wanted: int) -> int:
    """Return for how many pods a rollout needs room at once, because no old pod goes first; 0 if one may go."""
    workload = member.workload
    surge, unavailable = surging(workload, wanted)
    if workload.kind != "Deployment" or not surge or unavailable or not wanted:
        return 0
    return wanted + (surge if workload.strategy.is_whole else 1)


def _despite_deletions(member: SimulatedMember, event: str) -> EventBounds:
    """Return bounds that also hold if pods of others are deleted and free their room."""
    simulated = member.set
    bounds = _without_deletions(member, event)
    best = guests_of(simulated).gone_at_best(event, member.number)
    if best is simulated or ((not bounds.may_be_bad or bounds.is_fine) and not simulated.to_be_deleted):
        return bounds  # more room changes nothing
    if best is None:
        if simulated.to_be_deleted:
            bounds.least, bounds.never_stuck = Bound(0, _MADE_ROOM), False
        bounds.most, bounds.always_stuck = Bound(bounds.wanted, _MADE_ROOM), False
        return bounds
    freed = _without_deletions(member.within(best), event)
    bounds.most, bounds.always_stuck = freed.most, bounds.always_stuck and freed.always_stuck
    return bounds


_MADE_ROOM = "other pods may be deleted"


def _without_deletions(member: SimulatedMember, event: str) -> EventBounds:
    bounds = _paused(member, event) if member.workload.suspended else _count(member, event)
    if member.set.supposes(event) is not None:
        return bounds
    beside = most_beside(member, bounds.wanted, _MOVING.get(event, NOTHING_ELSE))
    daemon = member.workload.kind == "DaemonSet"
    if daemon and event == "zone-loss":
        return bounds
    if daemon and event == "node-loss":  # it wants no pod on the lost node, so none is missing there
        beside = beside._replace(pods=min(beside.pods + 1, bounds.wanted))
    if beside.pods < bounds.most.pods:
        bounds.always_stuck = bounds.always_stuck or event == "rollout"
        if event == "rollout":  # old pods may run beside the new ones
            beside = most_beside(member, bounds.wanted, ROLLING)
        bounds.most = min(bounds.most, beside, key=lambda counted: counted.pods)._replace(rests_on=ON_ALL)
    return bounds


def _waits_in_turn(member: SimulatedMember) -> bool:
    """Whether a pod that already waits may block an OrderedReady StatefulSet forever (see its controller)."""
    workload = member.workload
    in_turn = workload.kind == "StatefulSet" and workload.pod_management != "Parallel"
    return in_turn and any(not bound.node for bound in member.running)


def is_fine_if_granted(member: SimulatedMember, event: str) -> bool:
    """Whether an event is sure to end well, quotas aside."""
    return not member.workload.suspended and _count(member, event).is_fine


def _paused(member: SimulatedMember, event: str) -> EventBounds:
    """Return bounds of a paused Deployment that runs: it scales and keeps its number, and no rollout starts."""
    if event == "deploy":
        wanted = member.wanted
        return EventBounds(wanted, _least(member, wanted), Bound(wanted, _KEPT))
    bounds = _count(member, event)
    # Nodes may have changed, so that running pods no longer pass the filters: they stay anyway.
    bounds.most = Bound(bounds.wanted, _KEPT)
    return bounds


_KEPT = "it is paused, and keeps the pods that run"


def _granted(member: SimulatedMember, event: str, bounds: EventBounds) -> EventBounds:
    """Return ``bounds`` limited by a quota: only pods that it grants in every case are sure to be created."""
    granted = quotas.cap(member)
    if granted is None:
        return bounds
    made = min(granted.pods, quotas.surely_granted(member, event))
    sure = min(bounds.least.pods, made)
    if member.workload.kind == "DaemonSet":  # the missing pods may be those that would find room
        sure = max(min(bounds.least.pods, bounds.least.pods - bounds.wanted + made), 0)
    less = EventBounds(bounds.wanted, Bound(sure, granted.why), bounds.most)
    less.never_stuck = bounds.never_stuck and sure == bounds.least.pods
    less.always_stuck = bounds.always_stuck
    if member.set.supposes(event) is None and event not in ("deploy", "rollout"):
        return less
    if event == "deploy" and not member.running:
        return less
    less.never_stuck = less.never_stuck and made >= quotas.most_made(member, event)
    if event != "rollout" or is_mixed(member):
        return less
    granted = quotas.cap_in_rollout(member) or granted
    if granted.pods <= bounds.wanted and _spares_none(member):
        less.always_stuck = bounds.wanted > 0
        less.most = Bound(min(bounds.most.pods, granted.pods), f"{granted.why}; {_NO_WAY}")
    return less


_NO_WAY = "with maxUnavailable 0 no old pod makes way for the new one"


def _spares_none(member: SimulatedMember) -> bool:
    """Whether a rollout must create a pod before it deletes one."""
    surge, unavailable = surging(member.workload, member.wanted)
    return surge > 0 == unavailable


def _count(member: SimulatedMember, event: str) -> EventBounds:
    bounds = _foreseen(member, event)
    if event in LOSSES and may_overlook(member):
        lost = map(Meanwhile, losses(member.set, event)) if event == "zone-loss" else [Meanwhile(fewer=1)]
        if not finds_room(member, lost):
            bounds.least = Bound(0, "a waiting pod may not be requeued when another pod is deleted")
    if not member.running or stands_well(member):
        return bounds
    bounds.most = _most_beside_standing(member, event, bounds)
    if bounds.always_stuck:
        new = most_of_template(member, bounds.wanted)
        bounds.always_stuck = event in ("deploy", "rollout") and new.pods < bounds.wanted
        bounds.most = bounds.most._replace(why=new.why) if bounds.always_stuck else bounds.most
    return bounds


def _most_beside_standing(member: SimulatedMember, event: str, foreseen: EventBounds) -> Bound:
    """Return the most pods where some that run would not pass the filters on their nodes now: they stay anyway.

    Each pod in the end is one of these, or one that has passed the filters, before a loss or after it: a domain that is
    lost no longer limits a spread, as ``foreseen`` counts.
    """
    wanted = foreseen.wanted
    if member.set.supposes(event) is not None:
        return Bound(wanted, "some pods run on nodes that would not pass the filters now")
    standing = sum(bool(bound.node) for bound in member.running)
    new = most_placed(member, wanted, Meanwhile(mixed=event == "rollout"))
    if event in LOSSES:
        new = max(new, foreseen.most, key=lambda counted: counted.pods)
    if standing + new.pods >= wanted:
        return Bound(wanted, "some pods run on nodes that would not pass the filters now")
    stay = f"{many(standing, 'pod')} may stay where {plural(standing, 'it runs', 'they run')}; " if standing else ""
    return new._replace(pods=standing + new.pods, why=f"{stay}{new.why}")


def _foreseen(member: SimulatedMember, event: str) -> EventBounds:
    """Return bounds if all running pods still pass the filters on their nodes."""
    if member.workload.kind == "Pod" and event in LOSSES:
        return EventBounds(1, Bound(0, "no controller recreates a bare pod"), most_placed(member, 1))
    if member.running and event == "deploy":
        return _applied_again(member)
    return _from_nothing(member, event)


def _from_nothing(member: SimulatedMember, event: str) -> EventBounds:
    """Return bounds if today's filters placed each pod of the workload."""
    if member.set.supposes(event) is not None:
        return supposed_bounds(member)
    match event:
        case "rollout":
            return _rollout(member, member.wanted)
        case "hpa-max":
            return _placed(member, size_after(member, event))
        case "scale-down":
            return _scaled_down(member, event)
        case "node-loss" | "drain":
            return _drained(member) if event == "drain" else _without_one(member, Meanwhile(fewer=1))
        case "zone-loss":
            return _without_a_zone(member)
    asked = scaled_to(event)
    if asked is None:
        return _placed(member, member.wanted)
    return _scaled_down(member, event) if asked < member.wanted else _placed(member, asked)


def _placed(member: SimulatedMember, wanted: int) -> EventBounds:
    exact = placed(member, wanted)
    if exact is not None:
        return EventBounds(wanted, exact, exact)
    most = most_placed(member, wanted, OTHERS_STAY)
    return EventBounds(wanted, lambda: _least(member, wanted, FRESH), most)


def _most(member: SimulatedMember, wanted: int, least: Bound, count: Callable[[], Bound]) -> Bound:
    """Return the most pods: all if ``least`` says so, which knows neither quotas nor devices."""
    if least.pods >= wanted and not member.quotas and not member.set.need_devices((member.number,)):
        return Bound(wanted, "all are sure to run")
    return count()


def _least(member: SimulatedMember, wanted: int, meanwhile: Meanwhile = OTHERS_STAY) -> Bound:
    """Return the least pods in an event that deletes no pods of others."""
    if member.workload.kind == "DaemonSet":
        return least_daemons(member, wanted)
    return least_placed(member, wanted, meanwhile)


def stuck_at(member: SimulatedMember, size: int) -> Bound | None:
    """Return the most pods of a Deployment that no rollout brings to an end once an autoscaler asks for ``size``.

    None if one may end. Where pods run, or a quota counts them, it is not known what stands at that time.
    """
    emptied = guests_of(member.set).gone_at_best("rollout", member.number)
    known = not (member.running or member.quotas or member.set.need_devices((member.number,)))
    if member.workload.kind != "Deployment" or not known or emptied is None:
        return None
    return _never_ends(member.within(emptied), size)


def stuck_at_most(member: SimulatedMember) -> Bound | None:
    """Return ``stuck_at`` the maximum of its autoscaler."""
    return stuck_at(member, size_after(member, "hpa-max"))


def _rollout(member: SimulatedMember, wanted: int) -> EventBounds:
    workload = member.workload
    bounds = _placed(member, wanted)
    if _surges_on_port(member):
        bounds.never_stuck = False
        bounds.always_stuck = bounds.least.pods > 0 or bool(_full_for_two(member))
        bounds.most = Bound(wanted, "a surging pod needs the host port that the old pod on its node holds")
        return bounds
    full = _full_for_two(member)
    if full:
        bounds.never_stuck, bounds.always_stuck = False, True
        why = (
            f"{many(full.bit_count(), 'node')} of {wanted} {plural(full.bit_count(), 'has', 'have')} no room for a new"
        )
        tight = tightest_resource(member.pod, member.set.cluster, full)
        bounds.most = Bound(wanted, f"{why} pod beside its old one", tight)
        return bounds
    total = rolling_total(member, wanted)
    kept = workload.kind != "Deployment" and not workload.claim_templates

    @cache
    def more() -> Bound:
        return _least(member, total, ROLLING)

    stuck = _never_ends(member, wanted)

    def is_sure() -> bool:
        return stuck is None and more().pods >= total

    def least() -> Bound:
        return bounds.least if is_sure() else Bound(bounds.least.pods if kept else 0, more().why)

    rolled = EventBounds(wanted, least, stuck or bounds.most, is_sure)
    rolled.always_stuck = stuck is not None
    return rolled


def _never_ends(member: SimulatedMember, wanted: int) -> Bound | None:
    """Return the most pods of a rollout that no order ends; None if one may end."""
    new = most_of_template(member, wanted)
    if new.pods < wanted:  # old ones may run beside them
        return new._replace(pods=most_placed(member, wanted, ROLLING).pods)
    needed = _needed_beside(member, wanted)
    if not needed:
        return None
    room = most_placed(member, needed, ROLLING)
    beside = most_beside(member, needed, ROLLING)
    room = beside if wanted <= beside.pods < room.pods else room  # fewer: ``_without_deletions`` says so
    return room._replace(pods=min(room.pods, wanted), why=f"{room.why}; {_NO_WAY}") if room.pods < needed else None


def _surges_on_port(member: SimulatedMember) -> bool:
    """Whether a DaemonSet creates each new pod beside an old one that holds its host port."""
    workload = member.workload
    surges = workload.kind == "DaemonSet" and daemon_bounds(workload.strategy, member.wanted)[0]
    return bool(surges and member.pod.host_ports)


def _full_for_two(member: SimulatedMember) -> NodeSet:
    """Return the nodes that can never hold two pods of a DaemonSet which creates each new one beside the old one.

    The old pod either runs there or waits for other pods that stay; then the new pod waits for these as well.
    """
    simulated = member.set
    pod, workload = with_enforced_constraints(member.pod), member.workload
    if workload.kind != "DaemonSet" or not daemon_bounds(workload.strategy, 1)[0] or member.quotas:
        return EMPTY
    looks = pod.required_affinity or pod.required_anti_affinity or pod.volumes or any(c.is_hard for c in pod.spread)
    ranks = {other.priority or 0 for other in simulated.pods}
    if looks or len(ranks) > 1 or any(simulated.running.values()) or guests_of(simulated).weaker_kinds:
        return EMPTY
    if any(other.kind == "Job" for other in simulated.workloads):
        return EMPTY
    nodes = targets(pod, simulated.index)[0]
    return of(node for node, room in copies(pod, simulated.cluster, nodes, 2) if room < 2)


def _applied_again(member: SimulatedMember) -> EventBounds:
    """Return bounds for a running workload: a changed template starts a rollout, an unchanged one does nothing."""
    changes = member.changes_template and member.workload.kind in ROLLED_OUT
    if changes:
        return _applied(member)
    kept = _kept(member)
    if changes is False:
        return kept
    rolled = _applied(member)
    least, most = min(kept.least, rolled.least), max(kept.most, rolled.most, key=lambda c: c.pods)
    either = EventBounds(kept.wanted, least, most)
    either.never_stuck = kept.never_stuck and rolled.never_stuck
    either.always_stuck = kept.always_stuck and rolled.always_stuck
    return either


def _kept(member: SimulatedMember) -> EventBounds:
    """Return bounds for an unchanged template: running pods stay, and the replicas follow the manifest."""
    if not member.is_settled:  # a rollout is in progress and continues
        bounds = _applied(member)
        if any(bound.node for bound in member.running):
            bounds.most, bounds.always_stuck = Bound(bounds.wanted, _STAYS), False
        return bounds
    wanted, keeps = member.wanted, member.kept

    def least() -> Bound:
        surely = _least(member, wanted)
        if min(keeps, wanted) <= surely.pods or any(outranks(other, member) for other in member.others):
            return surely
        return Bound(min(keeps, wanted), f"{keeps} run, and nothing of their template changes")

    return EventBounds(wanted, least, most_placed(member, wanted, OTHERS_STAY))


_STAYS = "running pods stay where they are"


def _applied(member: SimulatedMember) -> EventBounds:
    """Return bounds of a rollout, whatever number of pods it starts from."""
    bounds = _rollout(member, member.wanted)
    if not _starts_whole(member):
        bounds.always_stuck = most_of_template(member, bounds.wanted).pods < bounds.wanted
    return bounds


def _starts_whole(member: SimulatedMember) -> bool:
    """Whether a rollout starts as after a complete deploy.

    As many pods run as are wanted, all of one revision, and each needs what a new one needs: its host port, for one.
    """
    running = len(member.running)
    is_whole = running == member.kept == member.wanted and member.is_settled
    return is_whole and not is_looser(member)


def _scaled_down(member: SimulatedMember, event: str) -> EventBounds:
    """Return bounds: at least ``least_placed`` for the smaller size, or the bound pods, which are deleted last.

    A ReplicaSet deletes pods without a node first (``controller_utils.go``, ActivePodsWithRanks). An OrderedReady
    StatefulSet deletes its highest ordinals; it has none above the one that waits.
    """
    size = size_after(member, event)

    def least() -> Bound:
        before, fewer = _placed(member, member.wanted), _least(member, size, FRESH)
        if not before.never_stuck and member.workload.pod_management == "Parallel":
            return fewer
        return max(fewer, Bound(min(size, before.least.pods), before.least.why), key=lambda counted: counted.pods)

    return EventBounds(size, least, most_placed(member, size, OTHERS_STAY))


def _without_one(member: SimulatedMember, meanwhile: Meanwhile) -> EventBounds:
    wanted = member.wanted
    if member.workload.kind == "DaemonSet":
        if meanwhile.cordoned:
            return _placed(member, wanted)
        return _fewer_daemons(member, losses(member.set, "node-loss"))
    least = least_placed(member, wanted, meanwhile)
    may_stay = meanwhile.cordoned and bool(member.budgets or comes_back(member))

    def most() -> Bound:
        fewer = most_on_fewer(member, wanted)
        # A drain that a budget stops leaves pods where they are.
        return max(fewer, most_placed(member, wanted), key=lambda c: c.pods) if may_stay else fewer

    return EventBounds(wanted, least, _most(member, wanted, least, most))


def _fewer_daemons(member: SimulatedMember, losses: Iterable[NodeSet]) -> EventBounds:
    """Return bounds over all ``losses``. A DaemonSet wants one pod fewer per lost node, perhaps the waiting pod."""
    run = targets(member.pod, member.set.index)[0]
    gone = {(run & lost).bit_count() for lost in losses} or {0}
    before, wanted = run.bit_count(), run.bit_count() - min(gone)
    most = within_devices(most_placed(member, before), member)
    if most.pods >= before - max(gone):
        most = Bound(wanted, "it wants a pod fewer for each lost node")
    least = _least(member, before)
    if least.pods >= before:
        return EventBounds(wanted, Bound(wanted, least.why), most)
    # The lost nodes may be those that have a pod.
    return EventBounds(wanted, Bound(max(least.pods - max(gone), 0), least.why), most)


def _without_a_zone(member: SimulatedMember) -> EventBounds:
    wanted = member.wanted
    lost = losses(member.set, "zone-loss")
    if member.workload.kind == "DaemonSet":
        return _fewer_daemons(member, lost)
    least = _until(0, min, (least_placed(member, wanted, Meanwhile(nodes)) for nodes in lost))

    def most() -> Bound:
        return _until(wanted, max, (most_placed(member, wanted, Meanwhile(nodes)) for nodes in lost))

    return EventBounds(wanted, least, _most(member, wanted, least, most))


def _until(last: int, extreme: Callable[..., Bound], bounds: Iterable[Bound]) -> Bound:
    """Return the ``extreme`` of bounds, none of which is beyond ``last``: none is counted after one that is there."""
    counted = []
    for bound in bounds:
        counted.append(bound)
        if bound.pods == last:
            break
    return extreme(counted, key=lambda c: c.pods)


def _drained(member: SimulatedMember) -> EventBounds:
    bounds = _without_one(member, Meanwhile(fewer=1, cordoned=True))
    bounds.never_stuck = True
    stopped_by_budgets(member, bounds)
    return bounds


def stopped_by_budgets(member: SimulatedMember, bounds: EventBounds) -> None:
    """Change the bounds of a drain where budgets may refuse to evict pods of the workload."""
    budgets = member.budgets if member.workload.kind != "DaemonSet" else ()
    if not budgets:
        return
    if not _is_guarded_alone(member) or bounds.least.pods < bounds.wanted:
        bounds.never_stuck = False
    else:
        bounds.always_stuck = lets_nobody_go(member, bounds.wanted)
        bounds.never_stuck = not bounds.always_stuck


def lets_nobody_go(member: SimulatedMember, wanted: int) -> bool:
    """Return whether the only budget of a workload lets no pod of it go, although all ``wanted`` ones are healthy."""
    guarded = member.workload.kind != "DaemonSet" and _is_guarded_alone(member)
    return guarded and allowed_if_healthy(member.budgets[0], member.workload.kind, wanted) <= 0


def _is_guarded_alone(member: SimulatedMember) -> bool:
    """Whether a workload has one budget, which counts no pods of others."""
    return len(member.budgets) == 1 and member.set.is_alone(member.budgets[0])
