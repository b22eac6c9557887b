"""Why pods of a bad end stay missing: the table's reason as a clause with its numbers."""

from __future__ import annotations

from kubesched_lint.analysis.rollout import fenceposts
from kubesched_lint.cluster.ledger import PODS
from kubesched_lint.lifecycle.event_bounds import NO_NODE, PORTS
from kubesched_lint.lifecycle.judging import CONTROLLER_SAYS
from kubesched_lint.lifecycle.verdicts import Cell
from kubesched_lint.model.quantity import show
from kubesched_lint.scheduler.framework import UNASKED
from kubesched_lint.text import many
from kubesched_lint.verdicts.bad_ends import BadEnd
from kubesched_lint.world.premises import count_existing
from kubesched_lint.world.world import Member


def reason(it: Member, end: BadEnd) -> str:
    """Return why pods stay missing, as a clause with its numbers."""
    cell = end.cell
    if it.world.admission.decision(it.workload).refusal is not None:
        return cell.message
    surges = needs_extra_pod(it, cell)
    no_way = ", and maxUnavailable is 0" if surges else ""
    why = cell.why.partition("; with maxUnavailable")[0]
    if is_uncreated(it, cell):
        return f"{why}{', so the extra pod is not created' if surges else ''}{no_way}"
    if cell.resource:
        return f"{_room(it, end, surges=surges)}{no_way}"
    if cell.message and (cell.bound.by == "search" or why == NO_NODE):
        return f"{_nowhere(it, cell, surges=surges)}{no_way}"
    return f"{why}{no_way}"


def is_uncreated(it: Member, cell: Cell) -> bool:
    """Whether the missing pods are refused by a quota or the API server, so that none of them ever waits."""
    return cell.says == CONTROLLER_SAYS or it.world.admission.decision(it.workload).refusal is not None


def needs_extra_pod(it: Member, cell: Cell) -> bool:
    """Whether the rollout waits for a pod beside the old ones, because no old pod may go first."""
    return cell.stuck and it.workload.kind == "Deployment" and not fenceposts(it.workload, cell.wanted)[1]


def _room(it: Member, end: BadEnd, *, surges: bool) -> str:
    """Return which nodes have no room: the lack of one resource, or of a port, keeps each from taking the pod."""
    cell, today = end.cell, count_existing(it.world, it.usable)
    if it.workload.kind == "DaemonSet":
        which, is_one = f"{many(end.missing, 'node')} of {cell.wanted}", end.missing == 1
        return f"{which} {'has' if is_one else 'have'} {_lacking(it, cell)} for its pod"
    for_ = "for the extra pod" if surges else "for a pod"
    if not surges and cell.bound.most:
        for_ = f"after {cell.bound.most} of {many(cell.wanted, 'pod')}"
    if today == it.usable.bit_count() == 1:
        return f"the only node that it can use has {_lacking(it, cell)} {for_}"
    which = f"none of the {today} nodes that it can use"
    if today != it.usable.bit_count():
        which = "no node that it can use, of today or new,"
    return f"{which} has {_lacking(it, cell, is_negated=True)} {for_}"


def _lacking(it: Member, cell: Cell, *, is_negated: bool = False) -> str:
    no = "" if is_negated else "no "
    if cell.resource == PORTS:
        return "its host port free" if is_negated else "no free host port"
    if cell.resource == PODS:
        return f"{no}place in its number of pods"
    return f"{no}{show(cell.resource, it.pod.requests.get(cell.resource, 1))} {cell.resource} left"


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
