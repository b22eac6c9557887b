"""A workload that is created before the DaemonSet whose nodes it shares may take the room that the DaemonSet needs."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice
from sys import intern

from msgspec import Struct
from msgspec.structs import replace

from kubesched_lint.checks._limits import MOST_NODES
from kubesched_lint.cluster.index import NodeIndex
from kubesched_lint.cluster.nodeset import EMPTY, NodeSet, of, only, positions
from kubesched_lint.cluster.state import ClusterState
from kubesched_lint.controllers.daemonset import with_daemon_tolerations
from kubesched_lint.findings import Evidence, Hazard, Place, pattern, witness
from kubesched_lint.model.workload import Workload
from kubesched_lint.partly_compared import same_values
from kubesched_lint.scheduler.capacity import copies
from kubesched_lint.scheduler.framework import diagnose, static_feasible
from kubesched_lint.text import SHOWN, plural
from kubesched_lint.world.offers import room_beside
from kubesched_lint.world.running import lasting_pods, lasting_state
from kubesched_lint.world.staying import may_preempt, preempting_priority
from kubesched_lint.world.world import Member, World, once_per_world

_EVERYWHERE = ("kubernetes.io/os", "kubernetes.io/arch", "beta.kubernetes.io/os", "beta.kubernetes.io/arch")


class _LockedOut(Struct, frozen=True):
    """``count`` pods of the workload on ``node`` leave the DaemonSet's pod no place; ``reasons`` are the scheduler's.

    ``reachable``: each of these pods passes every filter when it is placed, so the order can really happen.
    """

    node: str
    count: int
    reasons: tuple[str, ...]
    reachable: bool


class _Daemon(Struct, frozen=True, eq=False, dict=True):
    """A DaemonSet, with what is asked of it for each workload of a set."""

    workload: Workload
    member: Member
    name: str
    dedication: Mapping[str, str]
    group: tuple[str, ...]
    rank: int
    """Its place in the creation order."""
    priority: int
    """Below it, its pods preempt others."""

    @cached_property
    def fitting(self) -> NodeSet:
        """The nodes where its pod fits without the workload; where it does not, that is another hazard."""
        return _fitting(self.member)

    @cached_property
    def likeness(self) -> Hashable:
        """A number for all that ``_locked_out`` reads of it; itself if its pods mind others."""
        found = _likeness(self.member, self.fitting)
        return self if found is None else found


def check(it: Member) -> Iterator[Hazard]:
    """One hazard for each group of nodes, however many DaemonSets share it."""
    dedication = _dedicated_to(it.workload)
    if not dedication or not it.workload.stays:
        return
    # Without a group of nodes that both select, the creation order rarely matters.
    late: dict[tuple[str, ...], list[tuple[_Daemon, Evidence]]] = {}
    rank, pod = it.world.order.rank(it.workload), it.pod
    daemons = _daemons_for(it.world, dedication)
    after = [d for d in daemons if rank < d.rank and not may_preempt(d.priority, pod)]
    orders = f"{it.workload.ref.kind} before DaemonSet under {it.world.premises.apply_order}"
    if it.world.cluster is None:
        unknown = pattern(f"{orders}; no cluster given")
        for daemon in after:
            late.setdefault(daemon.group, []).append((daemon, unknown))
    else:
        locked_out, known = _all_locked_out(it, after), dict[Hashable, Evidence | None]()
        for daemon in after:
            alike = daemon if it.world.pools else daemon.likeness  # pools size nodes for each DaemonSet
            if alike not in known:
                known[alike] = _evidence(it, daemon, locked_out[daemon.likeness], orders)
            if (evidence := known[alike]) is not None:
                late.setdefault(daemon.group, []).append((daemon, evidence))
    for group, found in late.items():
        worst, evidence = min(found, key=lambda one: one[1].kind != "witness")
        if len(found) > 1:
            evidence = replace(evidence, text=f"{evidence.text} ({worst.name}; {len(found)} in all)")
        names = tuple(daemon.name for daemon, _ in found)
        yield Hazard(
            at=("metadata", "name"),
            evidence=evidence,
            values={
                "daemons": names,
                "group": group,
                "tool": it.world.premises.apply_order,
            },
            related=tuple(
                Place(("metadata", "name"), "is created after it", daemon.workload.source, daemon.workload.ref)
                for daemon, _ in found[:SHOWN]
            ),
            cause=intern(" ".join(names)),  # of hundreds of workloads
        )


def _evidence(it: Member, daemon: _Daemon, found: _LockedOut | None, order: str) -> Evidence | None:
    """Why the order matters here; None if every node of a fixed cluster holds both. ``found``: where one does not."""
    reach = daemon.member.reach
    shared = reach.tolerated & it.usable
    if shared & it.world.today:
        if found is not None and found.reachable:
            trace = _trace(it.workload, daemon.workload, found)
            return witness(f"{order}; no room is left on {found.node}", trace=trace)
        if found is not None:
            return pattern(f"{order}; on {found.node} the two may not fit together ({', '.join(found.reasons)})")
    elif not reach.matching:
        if it.world.node_groups.are_all:
            return None
        return pattern(f"{order}; no node of this group exists yet")
    if shared & ~it.world.today:
        found_new = _too_small(it, daemon.member)
        if found_new is not None:
            return pattern(f"{order}; {found_new}")
    return pattern(f"{order}; the nodes come from an autoscaler") if it.world.is_elastic else None


def _trace(workload: Workload, daemon: Workload, found: _LockedOut) -> tuple[str, ...]:
    placed = f"{found.count} {plural(found.count, 'pod is', 'pods are')}"
    return (
        f"{workload} comes first: {placed} placed on {found.node}",
        f"the pod of {daemon} for {found.node} stays Pending: {', '.join(found.reasons)}",
    )


def _looked_at(it: Member, daemon: Member) -> NodeSet:
    """The nodes of today that both may use; the first of very many."""
    shared = daemon.reach.tolerated & it.usable & it.world.today
    return shared if shared.bit_count() <= MOST_NODES else of(islice(positions(shared), MOST_NODES))


def _fitting(it: Member) -> NodeSet:
    return diagnose(it.pod, lasting_state(it.world)).feasible


def _likeness(it: Member, fitting: NodeSet) -> int | None:
    """A number for all that this module reads of pods that mind no others but for room and ports; None if they do.

    ``fitting`` are the nodes that take such a pod beside the running pods.
    """
    pod = it.pod
    minds = pod.required_affinity or pod.required_anti_affinity or pod.spread or pod.volumes or pod.resource_claims
    if minds or pod.scheduling_gates or not it.world.device_resources.isdisjoint(pod.requests):
        return None
    asks = tuple(pod.requests.items()), pod.host_ports, pod.required_features
    key = it.reach, fitting, *asks, pod.priority, pod.node_name, pod.profile
    numbers = _numbers(it.world)
    return numbers.setdefault(key, len(numbers))


@once_per_world
def _numbers(world: World) -> dict[Hashable, int]:
    """A cache of ``_likeness``."""
    return {}


@once_per_world
def _known_lock_outs(world: World) -> dict[tuple[int, int], dict[Hashable, _LockedOut | None]]:
    """A cache: likeness and replicas of a workload → likeness of a DaemonSet → ``_locked_out``."""
    return {}


def _all_locked_out(it: Member, daemons: Sequence[_Daemon]) -> Mapping[Hashable, _LockedOut | None]:
    """Likeness of each of the DaemonSets → ``_locked_out``; only the first of those that are alike is asked."""
    if not daemons:
        return {}
    alike = _likeness(it, _fitting(it) if lasting_pods(it.world).pods else it.usable)
    known = {} if alike is None else _known_lock_outs(it.world).setdefault((alike, it.replicas), {})
    first: dict[Hashable, _Daemon] = {}
    for daemon in daemons:
        if daemon.likeness not in known:
            first.setdefault(daemon.likeness, daemon)
    roomy = _roomy(it, first.values())
    for likeness, daemon in first.items():
        nodes = _looked_at(it, daemon.member) & daemon.fitting & ~roomy.get(likeness, EMPTY)
        known[likeness] = _locked_out(it, daemon.member, nodes)
    return known


def _roomy(it: Member, daemons: Iterable[_Daemon]) -> Mapping[Hashable, NodeSet]:
    """Likeness of a DaemonSet → nodes where its pod fits beside as many of the workload as they hold by counting.

    All nodes get these pods at once. More pods turn a pod away, and never let it in, so it also fits where its node
    alone has them. Only pods that spread or follow others look at other nodes: for them there is no answer here.
    """
    looking, nodes = [], EMPTY
    for daemon in daemons:
        pod = daemon.member.pod
        if not (pod.required_affinity or pod.spread) and (shared := _looked_at(it, daemon.member)):
            looking.append((daemon, pod))
            nodes |= shared
    if not looking:
        return {}
    state = lasting_state(it.world)
    mark = state.mark()
    try:
        state.place_many(it.pod, {at: most for at, most in copies(it.pod, state, nodes, it.replicas) if most})
        return {daemon.likeness: diagnose(pod, state).feasible for daemon, pod in looking}
    finally:
        state.undo(mark)


def _locked_out(it: Member, daemon: Member, nodes: NodeSet) -> _LockedOut | None:
    """The first of the nodes where the DaemonSet's pod may find no place; None if each of them holds both.

    The node gets as many pods as it can hold by counting, whatever other filters say: if the DaemonSet's pod fits
    beside them, it fits beside any number. A node where each step also passes the filters is preferred.
    """
    found = None
    for position in positions(nodes):
        doubt = _on(position, it, daemon, forced=True)
        if doubt is None:
            continue
        real = _on(position, it, daemon, forced=False)
        if real is not None:
            return real
        found = found or doubt
    return found


def _on(position: int, it: Member, daemon: Member, *, forced: bool) -> _LockedOut | None:
    state, pod, here = lasting_state(it.world), it.pod, only(position)
    mark = state.mark()
    try:
        ((_, most),) = copies(pod, state, here, it.replicas)
        count = 0
        while count < most and (forced or diagnose(pod, state).feasible & here):
            state.place(pod, position)
            count += 1
        diagnosis = diagnose(daemon.pod, state)
        if diagnosis.feasible & here:
            return None
        reasons = tuple(r.reason for r in diagnosis.reasons(position))
        return _LockedOut(it.world.index.names[position], count, reasons, reachable=not forced)
    finally:
        state.undo(mark)


def _too_small(it: Member, daemon: Member) -> str | None:
    """Why pools may choose a too small machine before the DaemonSet exists; None if all types hold both."""
    pod, itself = it.pod, with_daemon_tolerations(daemon.pod)
    kinds = [offer for offer in it.world.potential.offers if any(same_values(d, itself) for d in offer.daemons)]
    rooms = [room_beside(o.template.offered, (d for d in o.daemons if not same_values(d, itself))) for o in kinds]
    index = NodeIndex(
        [o.template.node(1, room) for o, room in zip(kinds, rooms, strict=True)], it.world.device_resources
    )
    fitting = static_feasible(pod, index)
    for position, most in copies(pod, ClusterState(index), fitting, it.replicas):
        template, room = kinds[position].template, rooms[position]
        where = f"a new {template.shape.name} of pool {template.pool.name}"
        if room is None or template.shape.allocatable is None:
            return f"what {where} offers is unknown"
        taken = {"pods": most, **{name: most * amount for name, amount in pod.requests.items()}}
        for name, amount in (("pods", 1), *itself.requests.items()):
            if amount > index.allocatable(name)[position] - taken.get(name, 0):
                pods = f"{most} {plural(most, 'pod leaves', 'pods leave')}"
                return f"{where}, sized without the DaemonSet, has too little {name}: {pods} it no place"
    return None


def _dedicated_to(workload: Workload) -> Mapping[str, str]:
    """The labels of the node group that its node selector names; architecture and system do not count."""
    return {k: v for k, v in workload.pod.node_selector.items() if k not in _EVERYWHERE}


def _daemons_for(world: World, dedication: Mapping[str, str]) -> Iterator[_Daemon]:
    """The DaemonSets whose node selector names nodes among those of ``dedication``, in the order of the set."""
    daemons, dedicated = _dedicated_daemons(world)
    for at in sorted(at for item in dedication.items() for at in dedicated.get(item, ())):
        if daemons[at].dedication.items() <= dedication.items():
            yield daemons[at]


@once_per_world
def _dedicated_daemons(world: World) -> tuple[Sequence[_Daemon], Mapping[tuple[str, str], Sequence[int]]]:
    """The dedicated DaemonSets, and one label of each → their indexes, because a set may have hundreds of others."""
    daemons: list[_Daemon] = []
    found: dict[tuple[str, str], list[int]] = {}
    for workload in world.manifests.workloads:
        if workload.kind == "DaemonSet" and (labels := _dedicated_to(workload)):
            found.setdefault(min(labels.items()), []).append(len(daemons))
            group = tuple(f"{key}={value}" for key, value in labels.items())
            it = world.member(workload)
            priority = preempting_priority(it.pod)
            daemons.append(_Daemon(workload, it, str(workload), labels, group, world.order.rank(workload), priority))
    return daemons, found
