"""A workload that is created before the DaemonSet whose nodes it shares may take the room that the DaemonSet needs."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from kubesched_lint.analysis.facts import Facts, dedicated_to
from kubesched_lint.cluster.nodeset import NodeSet, positions
from kubesched_lint.findings import Evidence, Hazard, Place, pattern, witness
from kubesched_lint.model.workload import Workload
from kubesched_lint.record import record, replace

_MOST_NODES = 200
_MOST_SHOWN = 3


@record
class _LockedOut:
    """On ``node``, ``count`` pods of the workload leave the DaemonSet's pod no place; ``reasons`` are the scheduler's.

    ``reachable``: each of these pods passes every filter when it is placed, so that the order can really happen.
    """

    node: str
    count: int
    reasons: tuple[str, ...]
    reachable: bool


def check(workload: Workload, facts: Facts) -> Iterator[Hazard]:
    """One hazard for each group of nodes, however many DaemonSets share it."""
    dedication = dedicated_to(workload)
    if not dedication or not workload.stays:
        return
    # Elsewhere than in a group of nodes that both name the order of creation rarely decides anything.
    late: dict[tuple[str, ...], list[tuple[Workload, Evidence]]] = {}
    for daemon in facts.daemons_for(dedication):
        if not facts.comes_before(workload, daemon):
            continue
        evidence = _evidence(workload, daemon, facts)
        if evidence is not None:
            group = tuple(f"{k}={v}" for k, v in dedicated_to(daemon).items())
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
                "tool": facts.premises.apply_order,
            },
            related=tuple(
                Place(("metadata", "name"), "is created after it", daemon.source, daemon.ref)
                for daemon, _ in found[:_MOST_SHOWN]
            ),
        )


def _evidence(workload: Workload, daemon: Workload, facts: Facts) -> Evidence | None:
    """Why the order matters here; None when every node of a fixed cluster provably holds both, or the late evicts."""
    if facts.preempts(daemon, workload):
        return None
    order = f"{workload.kind} before DaemonSet under {facts.premises.apply_order}"
    if facts.cluster is None:
        return pattern(f"{order}; no cluster given")
    shared = facts.reach(daemon).tolerated & facts.usable(workload)
    if shared & facts.today:
        found = _locked_out(workload, daemon, shared & facts.today, facts)
        if found is not None and found.reachable:
            return witness(f"{order}; no room is left on {found.node}", trace=_trace(workload, daemon, found))
        if found is not None:
            return pattern(f"{order}; on {found.node} the two may not fit together ({', '.join(found.reasons)})")
    elif not facts.reach(daemon).matching:
        return pattern(f"{order}; no node of this group exists yet")
    if shared & ~facts.today:
        found_new = _too_small(workload, daemon, facts)
        if found_new is not None:
            return pattern(f"{order}; {found_new}")
    return pattern(f"{order}; the nodes come from an autoscaler") if facts.is_elastic else None


def _trace(workload: Workload, daemon: Workload, found: _LockedOut) -> tuple[str, ...]:
    placed = "1 pod is" if found.count == 1 else f"{found.count} pods are"
    return (
        f"{workload} comes first: {placed} placed on {found.node}",
        f"the pod of {daemon} for {found.node} stays Pending: {', '.join(found.reasons)}",
    )


def _locked_out(workload: Workload, daemon: Workload, shared: NodeSet, facts: Facts) -> _LockedOut | None:
    """The first shared node where the DaemonSet's pod may be left out; None when every one of them holds both.

    The most pods that a node can hold by counting are put there, whatever other filters say: if the DaemonSet's pod
    fits beside them it fits beside any that get there. A node on which each step also passes the filters is preferred.
    """
    found = None
    for position in islice(positions(shared), _MOST_NODES):
        doubt = _on(position, workload, daemon, facts, forced=True)
        if doubt is None:
            continue
        real = _on(position, workload, daemon, facts, forced=False)
        if real is not None:
            return real
        found = found or doubt
    return found


def _on(position: int, workload: Workload, daemon: Workload, facts: Facts, *, forced: bool) -> _LockedOut | None:
    from kubesched_lint.scheduler.capacity import copies
    from kubesched_lint.scheduler.framework import diagnose

    state, pod, here = facts.state, facts.pod(workload), 1 << position
    if not diagnose(facts.pod(daemon), state).feasible & here:
        return None  # it is locked out without the workload: that is another hazard
    mark = state.mark()
    try:
        ((_, most),) = copies(pod, state, here, facts.replicas(workload))
        count = 0
        while count < most and (forced or diagnose(pod, state).feasible & here):
            state.place(pod, position)
            count += 1
        diagnosis = diagnose(facts.pod(daemon), state)
        if diagnosis.feasible & here:
            return None
        reasons = tuple(r.reason for r in diagnosis.reasons(position))
        return _LockedOut(facts.index.names[position], count, reasons, reachable=not forced)
    finally:
        state.undo(mark)


def _too_small(workload: Workload, daemon: Workload, facts: Facts) -> str | None:
    """What pools may make too small, sizing a node before the DaemonSet is there; None if all kinds hold both."""
    from kubesched_lint.analysis.potential import room_beside
    from kubesched_lint.cluster.index import NodeIndex
    from kubesched_lint.cluster.state import ClusterState
    from kubesched_lint.controllers.daemonset import with_daemon_tolerations
    from kubesched_lint.scheduler.capacity import copies
    from kubesched_lint.scheduler.framework import static_feasible

    pod, itself = facts.pod(workload), with_daemon_tolerations(facts.pod(daemon))
    kinds = [offer for offer in facts.potential.offers if itself in offer.daemons]
    rooms = [room_beside(o.template.offered, (d for d in o.daemons if d != itself)) for o in kinds]
    index = NodeIndex([o.template.node(1, room) for o, room in zip(kinds, rooms, strict=True)])
    fitting = static_feasible(pod, index)
    for position, most in copies(pod, ClusterState(index), fitting, facts.replicas(workload)):
        template, room = kinds[position].template, rooms[position]
        where = f"a new {template.shape.name} of pool {template.pool.name}"
        if room is None:
            return f"what {where} offers is unknown"
        taken = {"pods": most, **{name: most * amount for name, amount in pod.requests.items()}}
        for name, amount in (("pods", 1), *itself.requests.items()):
            if amount > room.get(name, 0) - taken.get(name, 0):
                pods = "1 pod leaves" if most == 1 else f"{most} pods leave"
                return f"{where}, sized without the DaemonSet, has too little {name}: {pods} it no place"
    return None
