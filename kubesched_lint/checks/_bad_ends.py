"""What a rule says of a bad end that the table of verdicts proves: its reason in words, its line, its premises."""

from __future__ import annotations

from collections.abc import Mapping

from kubesched_lint.analysis.rollout import OLD_PODS, fenceposts
from kubesched_lint.findings import Evidence, Hazard, Path, Place, Severity, Source, proof
from kubesched_lint.lifecycle.event_bounds import PORTS
from kubesched_lint.lifecycle.verdicts import Cell
from kubesched_lint.model.policy import ResourceQuota
from kubesched_lint.model.quantity import show
from kubesched_lint.model.resources import request_path
from kubesched_lint.model.workload import Workload
from kubesched_lint.text import many
from kubesched_lint.verdicts.bad_ends import BadEnd
from kubesched_lint.world.world import Member

UNLESS = "unless"
"""Value of a hazard: the premises without which its proof would be an error."""


def told(it: Member, end: BadEnd, variant: str, values: Mapping[str, object], *related: Place) -> Hazard:
    """Return the hazard of a bad end at the line to blame; a warning if the proof needs a further premise."""
    at, source = _place(it, end)
    return Hazard(
        at=at,
        source=source,
        evidence=_evidence(end),
        severity=None if end.proven else Severity.WARNING,
        values={
            "pending": end.missing or 1,
            "wanted": end.cell.wanted,
            "because": reason(it, end),
            UNLESS: end.unless,
            **values,
        },
        variant=variant,
        related=related,
        together=(it.workload.ref,),
    )


def _evidence(end: BadEnd) -> Evidence:
    cell = end.cell
    counted = bool(cell.resource) or cell.bound.by != "search"
    supply = cell.bound.most if counted and not cell.stuck else None
    return proof(
        cell.why,
        demand=cell.wanted if supply is not None else None,
        supply=supply,
        assumes=(*cell.assumes, OLD_PODS) if cell.event == "rollout" else cell.assumes,
        event=cell.event,
    )


def _place(it: Member, end: BadEnd) -> tuple[Path, Source | None]:
    cell, blamed = end.cell, end.cell.blamed
    if cell.resource and cell.resource != PORTS:
        return request_path(it.workload, cell.resource), None
    if blamed is None or not cell.at or blamed.source is None:
        return (it.workload.replicas_path if it.workload.kind != "DaemonSet" else it.workload.pod.path), None
    if isinstance(blamed, Workload) and blamed.ref == it.workload.ref:
        return cell.at, None
    return cell.at, blamed.source


def reason(it: Member, end: BadEnd) -> str:
    """Return why pods stay missing, as a clause with its numbers."""
    cell = end.cell
    if it.world.admission.decision(it.workload).refusal is not None:
        return cell.message
    rolls = cell.stuck and it.workload.kind == "Deployment" and not fenceposts(it.workload, cell.wanted)[1]
    no_way = ", and maxUnavailable is 0" if rolls else ""
    if isinstance(cell.blamed, ResourceQuota):
        extra = ", so the extra pod is not created" if rolls else ""
        return f"{cell.why.partition('; with maxUnavailable')[0]}{extra}{no_way}"
    if cell.resource:
        return f"{_room(it, cell, rolls=rolls)}{no_way}"
    if cell.bound.by == "search" and cell.message:
        return f"its {'new' if cell.stuck else 'next'} pod finds no node ({_short(cell.message)}){no_way}"
    return f"{cell.why.partition('; with maxUnavailable')[0]}{no_way}"


def _room(it: Member, cell: Cell, *, rolls: bool) -> str:
    resource, number = cell.resource, it.usable.bit_count()
    which = "the only node that it can use has" if number == 1 else f"none of the {number} nodes that it can use has"
    if rolls:
        left = f"for the extra pod beside its {many(cell.wanted, 'pod')}"
    else:
        left = f"after {cell.bound.most} of {many(cell.wanted, 'pod')}" if cell.bound.most else "for a pod"
    if resource == PORTS:
        what = "its host port free" if number > 1 else "no free host port"
    else:
        each = show(resource, it.pod.requests.get(resource, 1))
        what = f"{each} {resource} left" if number > 1 else f"no {each} {resource} left"
    return f"{which} {what} {left}"


def _short(message: str) -> str:
    """Return kube-scheduler's reasons without the counts of nodes and what it says of preemption."""
    return message.partition(": ")[2].partition(". ")[0].rstrip(".") or message


def rollout_places(it: Member) -> tuple[Place, ...]:
    """Return the lines that make a rollout wait for its new pod: replicas and strategy."""
    if it.workload.kind != "Deployment":
        return (Place(it.workload.strategy.path, "the strategy"),)
    surge, unavailable = fenceposts(it.workload, it.replicas)
    return (
        Place(it.workload.replicas_path, many(it.replicas, "replica")),
        Place(it.workload.strategy.path, f"maxSurge and maxUnavailable resolve to {surge} and {unavailable}"),
    )
