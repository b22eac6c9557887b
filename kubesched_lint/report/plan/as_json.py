"""The plan for programs: one JSON object, described by ``schemas/plan.schema.json``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kubesched_lint.commands.plan.changes import FieldChange, ObjectChange
from kubesched_lint.commands.plan.plan_result import CellChange, Plan, WorkloadPlan
from kubesched_lint.commands.plan.room import Eviction
from kubesched_lint.engine.base.places import Location, ObjectRef
from kubesched_lint.engine.events.answers.cells import Cell
from kubesched_lint.findings import Finding, InputError, Severity
from kubesched_lint.linter.results.causes import members
from kubesched_lint.printing import json_text
from kubesched_lint.project.finding_changes import FindingChange
from kubesched_lint.report.plan.result import result
from kubesched_lint.report.wording.words import environment_keys
from kubesched_lint.sources.manifests.document import Unread

VERSION = 1
"""The version of the format; new keys alone do not change it."""


def as_json(plan: Plan) -> str:
    """Return one JSON object without a newline at its end."""
    findings = plan.findings
    value = {
        "version": VERSION,
        "before": plan.before,
        "after": plan.after,
        "isEmpty": plan.is_empty,
        "isWorse": plan.is_worse,
        "result": result(plan),
        "environments": list(plan.environments),
        "workloads": [
            {**_workload(workload), **each}
            for workload in plan.workloads
            for each in environment_keys(workload.environments)
        ],
        "unaffected": plan.same,
        "notEstablished": plan.unknown,
        "objects": [of_object_change(change) for change in plan.objects],
        **({"unread": [_unread(unread) for unread in plan.unread]} if plan.unread else {}),
        "findings": {
            "new": [_finding_change(change) for change in findings.new],
            "gone": [_finding_change(change) for change in findings.gone],
            "changed": [_finding_change(change) for change in findings.others],
            "unchanged": {severity.word: findings.unchanged.get(severity, 0) for severity in reversed(Severity)},
        },
        **_on_nodes(plan),
        "cluster": plan.cluster,
        **({} if plan.shadow is None else {"shadow": True, "wouldHaveBlocked": list(map(of_ref, plan.shadow))}),
        "notes": list(plan.notes),
        "errors": [of_error(error) for error in plan.errors],
        "errorsBefore": [of_error(error) for error in plan.errors_before],
    }
    return json_text(value, 2)


def _unread(unread: Unread) -> Mapping[str, Any]:
    return {"kind": unread.kind, "path": unread.path, "line": unread.line}


def _on_nodes(plan: Plan) -> Mapping[str, Any]:
    """Return what the change does to nodes, and to what runs there."""
    return {
        "nodes": [
            {"pool": n.pool, "zone": n.zone, "machine": n.shape, "count": n.count, **each}
            for n in plan.nodes
            for each in environment_keys(n.environments)
        ],
        "idleNodes": [
            {"pool": n.pool, "zone": n.zone, "count": n.count, **each}
            for n in plan.idle
            for each in environment_keys(n.environments)
        ],
        "evictions": {"new": of_evictions(plan.evictions), "gone": of_evictions(plan.spared)},
        "budgets": [
            {
                "budget": budget_change.budget,
                "object": str(budget_change.object),
                "change": "blocks" if budget_change.is_new else "no longer blocks",
                "always": budget_change.always,
                **each,
            }
            for budget_change in plan.budgets
            for each in environment_keys(budget_change.environments)
        ],
        "stuckRollouts": [
            {"object": str(rollout.object), "why": rollout.why, "location": of_place(rollout.location), **each}
            for rollout in plan.stuck
            for each in environment_keys(rollout.environments)
        ],
        "room": [
            {
                "zone": room_change.zone,
                "resource": room_change.resource,
                "before": room_change.before,
                "after": room_change.after,
                **each,
            }
            for room_change in plan.room
            for each in environment_keys(room_change.environments)
        ],
        "pools": [
            {
                "name": pool_change.name,
                "action": pool_change.action,
                "fields": list(pool_change.fields),
                "pods": pool_change.pods,
                "location": of_place(pool_change.location),
                **each,
            }
            for pool_change in plan.pools
            for each in environment_keys(pool_change.environments)
        ],
        "nodeLosses": [
            {"object": str(loss_change.object), "before": loss_change.before, "after": loss_change.after, **each}
            for loss_change in plan.losses
            for each in environment_keys(loss_change.environments)
        ],
    }


def _workload(workload: WorkloadPlan) -> Mapping[str, Any]:
    change = workload.change
    shown: dict[str, Any] = of_object_change(change) if change else {"object": of_ref(workload.object), "actions": []}
    shown |= {"direction": workload.direction, "cells": [_cell_change(cell) for cell in workload.cells]}
    if workload.mend:
        shown["mend"] = workload.mend
    if workload.weakened:
        shown["lostAtOnce"] = [
            {"domain": after.domain, "before": before.most, "after": after.most, "wanted": after.wanted}
            for before, after in workload.weakened
        ]
    if workload.zones is not None:
        shown["podsPerZone"] = {"before": list(workload.zones[0]), "after": list(workload.zones[1])}
    return shown


def of_object_change(change: ObjectChange) -> dict[str, Any]:
    return {
        "object": of_ref(change.object),
        "actions": list(change.actions),
        "fields": [_field(field) for field in change.fields],
        "replicas": None if change.replicas is None else {"before": change.replicas[0], "after": change.replicas[1]},
        "remark": change.remark,
        "location": of_place(change.location),
    }


def _field(field: FieldChange) -> Mapping[str, str]:
    return {"path": field.text, "before": field.before, "after": field.after}


def of_ref(ref: ObjectRef) -> Mapping[str, str]:
    return {"kind": ref.kind, "namespace": ref.namespace, "name": ref.name}


def of_place(place: Location | None) -> Mapping[str, Any] | None:
    return None if place is None else {"path": place.path, "line": place.span.line, "column": place.span.column}


def _cell_change(change: CellChange) -> Mapping[str, Any]:
    return {
        "event": change.event,
        "direction": change.direction,
        "before": of_cell(change.before),
        "after": of_cell(change.after),
        "at": of_place(change.location),
    }


def of_cell(cell: Cell | None) -> Mapping[str, Any] | None:
    if cell is None:
        return None
    return {
        "verdict": cell.verdict,
        "proven": cell.proven,
        "text": cell.text,
        "wanted": cell.wanted,
        "bound": {"min": cell.bound.least, "max": cell.bound.most},
        "because": cell.why,
        "message": cell.message,
        "worst": None if cell.worst is None else list(cell.worst.lines),
        "missing": list(cell.missing),
        "assumes": list(cell.assumes),
    }


def _finding_change(change: FindingChange) -> Mapping[str, Any]:
    finding, *others = members(change.finding)
    also = [{"object": of_ref(member.object), "location": of_place(member.location)} for member in others]
    return {
        "rule": finding.rule,
        "severity": {"before": _severity(change.before), "after": _severity(change.after)},
        "object": of_ref(finding.object),
        "message": finding.message,
        "evidence": finding.evidence.kind,
        "location": of_place(finding.location),
        "fingerprint": finding.fingerprint,
        "waived": change.is_waived,
        **({"owner": finding.owner} if finding.owner else {}),
        **({"also": also} if also else {}),
    }


def _severity(finding: Finding | None) -> str | None:
    return None if finding is None else finding.severity.word


def of_evictions(evictions: Sequence[Eviction]) -> list[Mapping[str, Any]]:
    return [
        {"by": str(eviction.by), "pods": list(eviction.pods), **each}
        for eviction in evictions
        for each in environment_keys(eviction.environments)
    ]


def of_error(error: InputError) -> Mapping[str, Any]:
    return {"path": error.path, "line": error.line, "message": error.message}
