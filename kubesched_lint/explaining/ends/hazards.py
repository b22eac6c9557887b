"""What a rule says of a bad end that the table of verdicts proves: its line, its premises."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from kubesched_lint.engine.base import work
from kubesched_lint.engine.base.places import Path, Source
from kubesched_lint.engine.base.text import many
from kubesched_lint.engine.controllers.bounds import daemon_bounds
from kubesched_lint.engine.events.answers.event_bounds import PORTS
from kubesched_lint.engine.model.resources import request_path
from kubesched_lint.engine.model.workloads.workload import Workload
from kubesched_lint.engine.placing.rollout import OLD_PODS, fenceposts, price_of_going_first, until_it_ends
from kubesched_lint.engine.scenario.scenario import Member
from kubesched_lint.engine.scenario.storage.claims import class_without_volumes
from kubesched_lint.explaining.ends.bad_ends import BadEnd, bad_end
from kubesched_lint.explaining.ends.reasons import is_uncreated, reason
from kubesched_lint.explaining.sizes.quota_raise import raise_for, without_quotas
from kubesched_lint.findings import Evidence, Hazard, Place, Severity, proof

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
            "missing": end.missing,
            "wanted": end.cell.wanted,
            "because": reason(it, end),
            UNLESS: end.unless,
            "price": price_of_going_first(end.cell.wanted),
            "more_room": _more_room(it, end),
            "until": until_it_ends(it.workload, end.cell.wanted),
            **values,
        },
        variant=variant,
        related=related,
        together=(it.workload.ref,),
        cause=class_without_volumes(it, end.cell.message),
    )


def _more_room(it: Member, end: BadEnd) -> str:
    """Return what one more pod than wanted needs: room on a node, what its quotas allow, or both."""
    if not end.cell.stuck or not is_uncreated(it, end.cell):
        return _ROOM
    raised = raise_for(it, end.cell.wanted + 1)
    unbounded = without_quotas(it.scenario).member(it.workload)
    left = work.tried(lambda: bad_end(unbounded, end.cell.event, is_told=False), None)
    return raised if left is None else f"{raised} and {_ROOM}"


_ROOM = "make room for one more pod"


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


def rollout_places(it: Member) -> tuple[Place, ...]:
    """Return the lines that make a rollout wait for its new pod: replicas and strategy."""
    strategy, source, ref = it.workload.strategy, it.workload.source, it.workload.ref
    if it.workload.kind == "DaemonSet" and surges_daemons(it):
        return (Place(strategy.path, "maxSurge makes a new pod before the old one goes", source, ref),)
    if it.workload.kind != "Deployment":
        return ()
    surge, unavailable = fenceposts(it.workload, it.replicas)
    return (
        Place(it.workload.replicas_path, many(it.replicas, "replica"), source, ref),
        Place(strategy.path, f"maxSurge and maxUnavailable are {surge} and {unavailable}", source, ref),
    )


def is_helped_by_going_first(it: Member, end: BadEnd) -> bool:
    """Whether a rollout of a Deployment ends if an old pod makes room first: it does where nodes lack room alone.

    True where that takes more steps than are left: the finding is not worth less without the answer.
    """
    if end.cell.resource:
        return True
    workload = it.workload
    strategy = replace(workload.strategy, type="RollingUpdate", max_surge=0, max_unavailable=1)
    changed = replace(workload, strategy=strategy)
    workloads = tuple(changed if w is workload else w for w in it.scenario.manifests.workloads)
    scenario = it.scenario.with_manifests(replace(it.scenario.manifests, workloads=workloads))
    left = work.tried(lambda: bad_end(scenario.member(changed), end.cell.event, is_told=False), None)
    return left is None or not left.cell.stuck


def surges_daemons(it: Member) -> bool:
    return it.workload.kind == "DaemonSet" and daemon_bounds(it.workload.strategy, 1)[0] > 0
