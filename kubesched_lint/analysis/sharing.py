"""Whether a DaemonSet's pod still fits on a node after a workload that came first has taken what it can."""

from __future__ import annotations

from itertools import islice

from kubesched_lint.analysis.facts import Facts
from kubesched_lint.cluster.nodeset import NodeSet, positions
from kubesched_lint.model.workload import Workload
from kubesched_lint.record import record


@record
class LockedOut:
    """On ``node``, ``count`` pods of the workload leave the DaemonSet's pod no place; ``reasons`` are the scheduler's.

    ``reachable``: each of these pods passes every filter when it is placed, so that the order can really happen.
    """

    node: str
    count: int
    reasons: tuple[str, ...]
    reachable: bool


_MOST_NODES = 200


def locked_out(workload: Workload, daemon: Workload, shared: NodeSet, facts: Facts) -> LockedOut | None:
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


def _on(position: int, workload: Workload, daemon: Workload, facts: Facts, *, forced: bool) -> LockedOut | None:
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
        return LockedOut(facts.index.names[position], count, reasons, reachable=not forced)
    finally:
        state.undo(mark)


def too_small(workload: Workload, daemon: Workload, facts: Facts) -> str | None:
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
