"""Why pods of a bad end stay missing: the table's reason as a clause with its numbers."""

from __future__ import annotations

from kubesched_lint.engine.base.text import first_few, many
from kubesched_lint.engine.cluster.ledger import PODS
from kubesched_lint.engine.cluster.nodeset import lowest
from kubesched_lint.engine.events.answers.cells import Cell
from kubesched_lint.engine.events.answers.event_bounds import NO_NODE, PORTS
from kubesched_lint.engine.events.start.simulated_set import LOSSES
from kubesched_lint.engine.model.nodes.node import domain_word
from kubesched_lint.engine.model.pod import SpreadConstraint
from kubesched_lint.engine.model.quantity import show
from kubesched_lint.engine.placing.rollout import fenceposts
from kubesched_lint.engine.placing.together.spread import spread_room
from kubesched_lint.engine.runs.judging import CONTROLLER_SAYS
from kubesched_lint.engine.scenario.premises.premises import count_existing
from kubesched_lint.engine.scenario.scenario import Member
from kubesched_lint.engine.scheduler.framework import UNASKED
from kubesched_lint.explaining.ends.bad_ends import BadEnd


def reason(it: Member, end: BadEnd) -> str:
    """Return why pods stay missing, as a clause with its numbers."""
    cell = end.cell
    if it.scenario.admission.decision(it.workload).refusal is not None:
        return cell.message
    if cell.event in LOSSES:  # of the nodes that are left
        return _nowhere(it, cell, surges=False) if cell.message and cell.bound.by == "search" else cell.why
    surges = needs_extra_pod(it, cell)
    no_way = ", and maxUnavailable is 0" if surges else ""
    why = cell.why.partition("; with maxUnavailable")[0]
    if is_uncreated(it, cell):
        return f"{why}{', so the extra pod is not created' if surges else ''}{no_way}"
    if cell.resource:
        return f"{_room(it, end, surges=surges)}{no_way}"
    blocked = spread_blocked(it, cell) if surges else None
    if blocked is not None:
        return f"{_by_taints(*blocked)}{no_way}"
    if cell.message and (cell.bound.by == "search" or why == NO_NODE):
        return f"{_nowhere(it, cell, surges=surges)}{no_way}"
    return f"{why}{no_way}"


def is_uncreated(it: Member, cell: Cell) -> bool:
    """Whether the missing pods are refused by a quota or the API server, so that none of them ever waits."""
    return cell.says == CONTROLLER_SAYS or it.scenario.admission.decision(it.workload).refusal is not None


def needs_extra_pod(it: Member, cell: Cell) -> bool:
    """Whether the rollout waits for a pod beside the old ones, because no old pod may go first."""
    return cell.stuck and it.workload.kind == "Deployment" and not fenceposts(it.workload, cell.wanted)[1]


def spread_blocked(it: Member, cell: Cell) -> tuple[SpreadConstraint, tuple[str, ...]] | None:
    """Return the hard constraint that is to blame, and the domains that it counts as empty because taints close them.

    None if another condition is to blame, or if its domains are open.
    """
    constraint = next((c for c in it.pod.spread if c.is_hard and c.path == cell.at), None)
    room = None if constraint is None else spread_room(it, constraint)
    if constraint is None or room is None:
        return None
    index = it.scenario.index
    open_ = index.domains_with(constraint.topology_key, it.usable)
    closed = tuple(d for d in room.capacity if d not in open_)
    if not closed or any(index.with_label(constraint.topology_key, d) & it.tolerated for d in closed):
        return None
    return constraint, closed


def _by_taints(constraint: SpreadConstraint, closed: tuple[str, ...]) -> str:
    verb, number = ("counts as an empty", 1) if len(closed) == 1 else ("count as empty", 2)
    empty = f"tainted {first_few(closed)} {verb} {domain_word(constraint.topology_key, number)}"
    return f"{empty}, so its maxSkew bars the extra pod"


def _room(it: Member, end: BadEnd, *, surges: bool) -> str:
    """Return which nodes have no room: the lack of one resource, or of a port, keeps each from taking the pod."""
    cell, today = end.cell, count_existing(it.scenario, it.usable)
    if it.workload.kind == "DaemonSet":
        if cell.stuck:
            asks = show(cell.resource, it.pod.requests.get(cell.resource, 1))
            return f"{cell.why} ({asks} {cell.resource} each)" if cell.resource not in (PORTS, PODS) else cell.why
        return f"{many(end.missing, 'node')} of {cell.wanted} {_lacking(it, cell, end.missing)} for its pod"
    is_one = today == it.usable.bit_count() == 1
    if surges and is_one and (held := _held(it, cell)):
        return held
    for_ = " for the extra pod" if surges else " for a pod"
    if not surges and cell.bound.most:
        for_ = f" after {cell.bound.most} of {many(cell.wanted, 'pod')}"
    elif cell.resource == PODS:
        for_ = ""
    if is_one:
        return f"the only node that it can use {_lacking(it, cell)}{for_}"
    which = f"none of the {today} nodes that it can use"
    if today != it.usable.bit_count():
        which = "no node that it can use, of today or new,"
    return f"{which} {_lacking(it, cell, is_negated=True)}{for_}"


def _held(it: Member, cell: Cell) -> str:
    """Return how much of the only node its own pods hold, if that leaves too little for another; else empty."""
    request = it.pod.requests.get(cell.resource, 0)
    whole, own = it.scenario.index.allocatable(cell.resource)[lowest(it.usable)], request * cell.wanted
    if not request or not own <= whole < own + request:
        return ""
    pods = "its pod holds" if cell.wanted == 1 else f"its {cell.wanted} pods hold"
    share = f"{show(cell.resource, own)} of {show(cell.resource, int(whole))} {cell.resource}"
    return f"{pods} {share} of its only node, the next needs {show(cell.resource, request)} more"


def _lacking(it: Member, cell: Cell, nodes: int = 1, *, is_negated: bool = False) -> str:
    """Return the predicate of so many nodes without room; ``is_negated``: of "none of the nodes"."""
    has = "has" if nodes == 1 else "have"
    if cell.resource == PORTS:
        return "has its host port free" if is_negated else f"{has} no free host port"
    if cell.resource == PODS:
        return f"may run {'a' if is_negated else 'no'} further pod by its limit of pods"
    amount = f"{show(cell.resource, it.pod.requests.get(cell.resource, 1))} {cell.resource} left"
    return f"has {amount}" if is_negated else f"{has} less than {amount}"


def _nowhere(it: Member, cell: Cell, *, surges: bool) -> str:
    """Return kube-scheduler's reasons in brackets, without the counts of nodes and what it says of preemption."""
    told = reason_in(cell.message)
    if it.workload.kind != "DaemonSet":
        return f"its {'extra' if surges else 'new' if cell.stuck else 'next'} pod finds no node ({told})"
    # Each pod may use one node, so what is said of the others explains nothing.
    told = ", ".join(each.partition(" ")[2] for each in told.split(", ") if UNASKED not in each) or told
    return f"a node refuses its pod ({told})"


def reason_in(message: str) -> str:
    """Return what a message of the scheduler says of the nodes, without their number and without preemption."""
    return (message.partition(": ")[2].partition(". ")[0] or message).rstrip(".")
