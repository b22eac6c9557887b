"""A workload that is created before the DaemonSet whose nodes it shares may take the room that the DaemonSet needs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from kubesched_lint.cluster.nodeset import EMPTY, NodeSet, of, only, positions
from kubesched_lint.findings import Evidence, Hazard, Place, pattern, witness
from kubesched_lint.model.workload import Workload
from kubesched_lint.record import record, replace
from kubesched_lint.text import plural
from kubesched_lint.world.running import lasting_state
from kubesched_lint.world.staying import preempts
from kubesched_lint.world.world import Member, World, once_per_world

_MOST_NODES = 200
_MOST_SHOWN = 3
_EVERYWHERE = ("kubernetes.io/os", "kubernetes.io/arch", "beta.kubernetes.io/os", "beta.kubernetes.io/arch")


@record
class _LockedOut:
    """``count`` pods of the workload on ``node`` leave the DaemonSet's pod no place; ``reasons`` are the scheduler's.

    ``reachable``: each of these pods passes every filter when it is placed, so the order can really happen.
    """

    node: str
    count: int
    reasons: tuple[str, ...]
    reachable: bool


def check(it: Member) -> Iterator[Hazard]:
    """One hazard for each group of nodes, however many DaemonSets share it."""
    dedication = _dedicated_to(it.workload)
    if not dedication or not it.workload.stays:
        return
    # Without a group of nodes that both select, the creation order rarely matters.
    late: dict[tuple[str, ...], list[tuple[Workload, Evidence]]] = {}
    order, daemons = it.world.order, _daemons_for(it.world, dedication)
    after = [d for d in daemons if order.comes_before(it.workload, d) and not preempts(it.world.member(d), it.workload)]
    roomy = _roomy(it, after)
    for daemon in after:
        evidence = _evidence(it, daemon, roomy.get(id(daemon), EMPTY))
        if evidence is not None:
            group = tuple(f"{k}={v}" for k, v in _dedicated_to(daemon).items())
            late.setdefault(group, []).append((daemon, evidence))
    for group, found in late.items():
        worst, evidence = min(found, key=lambda one: one[1].kind != "witness")
        if len(found) > 1:
            evidence = replace(evidence, text=f"{evidence.text} ({worst}; {len(found)} in all)")
        yield Hazard(
            at=("metadata", "name"),
            evidence=evidence,
            values={
                "daemons": tuple(str(daemon) for daemon, _ in found),
                "group": group,
                "tool": it.world.premises.apply_order,
            },
            related=tuple(
                Place(("metadata", "name"), "is created after it", daemon.source, daemon.ref)
                for daemon, _ in found[:_MOST_SHOWN]
            ),
            cause=" ".join(str(daemon) for daemon, _ in found),
        )


def _evidence(it: Member, daemon: Workload, roomy: NodeSet) -> Evidence | None:
    """Why the order matters here; None if every node of a fixed cluster holds both, as those of ``roomy`` surely do."""
    order = f"{it.workload.ref.kind} before DaemonSet under {it.world.premises.apply_order}"
    if it.world.cluster is None:
        return pattern(f"{order}; no cluster given")
    shared = it.world.member(daemon).reach.tolerated & it.usable
    if shared & it.world.today:
        found = _locked_out(it, daemon, _looked_at(it, daemon) & _fitting(daemon, it.world) & ~roomy)
        if found is not None and found.reachable:
            return witness(f"{order}; no room is left on {found.node}", trace=_trace(it.workload, daemon, found))
        if found is not None:
            return pattern(f"{order}; on {found.node} the two may not fit together ({', '.join(found.reasons)})")
    elif not it.world.member(daemon).reach.matching:
        if it.world.node_groups.are_all:
            return None
        return pattern(f"{order}; no node of this group exists yet")
    if shared & ~it.world.today:
        found_new = _too_small(it, daemon)
        if found_new is not None:
            return pattern(f"{order}; {found_new}")
    return pattern(f"{order}; the nodes come from an autoscaler") if it.world.is_elastic else None


def _trace(workload: Workload, daemon: Workload, found: _LockedOut) -> tuple[str, ...]:
    placed = f"{found.count} {plural(found.count, 'pod is', 'pods are')}"
    return (
        f"{workload} comes first: {placed} placed on {found.node}",
        f"the pod of {daemon} for {found.node} stays Pending: {', '.join(found.reasons)}",
    )


def _looked_at(it: Member, daemon: Workload) -> NodeSet:
    """The nodes of today that both may use; the first of very many."""
    shared = it.world.member(daemon).reach.tolerated & it.usable & it.world.today
    return shared if shared.bit_count() <= _MOST_NODES else of(islice(positions(shared), _MOST_NODES))


def _fitting(daemon: Workload, world: World) -> NodeSet:
    """The nodes where the DaemonSet's pod fits without the workload; where it does not, that is another hazard."""
    from kubesched_lint.scheduler.framework import diagnose

    known = _fitting_known(world)
    if id(daemon) not in known:
        known[id(daemon)] = diagnose(world.member(daemon).pod, lasting_state(world)).feasible
    return known[id(daemon)]


@once_per_world
def _fitting_known(world: World) -> dict[int, NodeSet]:
    """``id`` of a DaemonSet → ``_fitting``."""
    return {}


def _roomy(it: Member, daemons: Sequence[Workload]) -> Mapping[int, NodeSet]:
    """``id`` of a DaemonSet → nodes where its pod fits beside as many pods of the workload as they hold by counting.

    All nodes get these pods at once. More pods turn a pod away, and never let it in, so it also fits where its node
    alone has them. Only pods that spread or follow others look at other nodes: for them there is no answer here.
    """
    from kubesched_lint.scheduler.capacity import copies
    from kubesched_lint.scheduler.framework import diagnose

    if it.world.cluster is None:
        return {}
    looking, nodes = [], EMPTY
    for daemon in daemons:
        pod = it.world.member(daemon).pod
        if not (pod.required_affinity or pod.spread) and (shared := _looked_at(it, daemon)):
            looking.append((daemon, pod))
            nodes |= shared
    if not looking:
        return {}
    state = lasting_state(it.world)
    mark = state.mark()
    try:
        for position, most in copies(it.pod, state, nodes, it.replicas):
            for _ in range(most):
                state.place(it.pod, position)
        return {id(daemon): diagnose(pod, state).feasible for daemon, pod in looking}
    finally:
        state.undo(mark)


def _locked_out(it: Member, daemon: Workload, nodes: NodeSet) -> _LockedOut | None:
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


def _on(position: int, it: Member, daemon: Workload, *, forced: bool) -> _LockedOut | None:
    from kubesched_lint.scheduler.capacity import copies
    from kubesched_lint.scheduler.framework import diagnose

    state, pod, here = lasting_state(it.world), it.pod, only(position)
    mark = state.mark()
    try:
        ((_, most),) = copies(pod, state, here, it.replicas)
        count = 0
        while count < most and (forced or diagnose(pod, state).feasible & here):
            state.place(pod, position)
            count += 1
        diagnosis = diagnose(it.world.member(daemon).pod, state)
        if diagnosis.feasible & here:
            return None
        reasons = tuple(r.reason for r in diagnosis.reasons(position))
        return _LockedOut(it.world.index.names[position], count, reasons, reachable=not forced)
    finally:
        state.undo(mark)


def _too_small(it: Member, daemon: Workload) -> str | None:
    """Why pools may choose a too small machine before the DaemonSet exists; None if all types hold both."""
    from kubesched_lint.cluster.index import NodeIndex
    from kubesched_lint.cluster.state import ClusterState
    from kubesched_lint.controllers.daemonset import with_daemon_tolerations
    from kubesched_lint.scheduler.capacity import copies
    from kubesched_lint.scheduler.framework import static_feasible
    from kubesched_lint.world.potential import room_beside

    pod, itself = it.pod, with_daemon_tolerations(it.world.member(daemon).pod)
    kinds = [offer for offer in it.world.potential.offers if itself in offer.daemons]
    rooms = [room_beside(o.template.offered, (d for d in o.daemons if d != itself)) for o in kinds]
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


def _daemons_for(world: World, dedication: Mapping[str, str]) -> Iterator[Workload]:
    """The DaemonSets whose node selector names nodes among those of ``dedication``, in the order of the set."""
    daemons, dedicated = _dedicated_daemons(world)
    for at in sorted(at for item in dedication.items() for at in dedicated.get(item, ())):
        if _dedicated_to(daemons[at]).items() <= dedication.items():
            yield daemons[at]


@once_per_world
def _dedicated_daemons(world: World) -> tuple[Sequence[Workload], Mapping[tuple[str, str], Sequence[int]]]:
    """The DaemonSets, and one label of their dedication → their indexes, because a set may have hundreds of others."""
    daemons = [w for w in world.manifests.workloads if w.kind == "DaemonSet"]
    found: dict[tuple[str, str], list[int]] = {}
    for at, daemon in enumerate(daemons):
        for item in sorted(_dedicated_to(daemon).items())[:1]:
            found.setdefault(item, []).append(at)
    return daemons, found
