"""Whether a DaemonSet's pod still fits on a node after a workload that came first has taken what it can."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice

from kubesched_lint.analysis.facts import Facts
from kubesched_lint.cluster.nodeset import NodeSet, positions
from kubesched_lint.model.workload import Workload


@dataclass(frozen=True, slots=True)
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
