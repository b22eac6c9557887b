"""The plan for programs: one JSON object, described by ``schemas/plan.schema.json``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kubesched_lint.commands.plan.changes import FieldChange, ObjectChange
from kubesched_lint.commands.plan.plan_result import CellChange, Plan, WorkloadPlan
from kubesched_lint.commands.plan.room import Eviction
from kubesched_lint.engine.answers.cells import Cell
from kubesched_lint.engine.base.places import Location, ObjectRef
from kubesched_lint.findings import Finding, InputError, Severity
from kubesched_lint.linter.causes import members
from kubesched_lint.printing import json_text
from kubesched_lint.project.finding_changes import FindingChange
from kubesched_lint.report.plan.result import result
from kubesched_lint.report.words import environment_keys
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
            {**_workload(one), **each} for one in plan.workloads for each in environment_keys(one.environments)
        ],
        "unaffected": plan.same,
        "notEstablished": plan.unknown,
        "objects": [of_object_change(one) for one in plan.objects],
        **({"unread": [_unread(one) for one in plan.unread]} if plan.unread else {}),
        "findings": {
            "new": [_finding_change(one) for one in findings.new],
            "gone": [_finding_change(one) for one in findings.gone],
            "changed": [_finding_change(one) for one in findings.others],
            "unchanged": {severity.word: findings.unchanged.get(severity, 0) for severity in reversed(Severity)},
        },
        **_on_nodes(plan),
        "cluster": plan.cluster,
        **({} if plan.shadow is None else {"shadow": True, "wouldHaveBlocked": list(map(of_ref, plan.shadow))}),
        "notes": list(plan.notes),
        "errors": [of_error(one) for one in plan.errors],
        "errorsBefore": [of_error(one) for one in plan.errors_before],
    }
    return json_text(value, 2)


def _unread(one: Unread) -> Mapping[str, Any]:
    return {"kind": one.kind, "path": one.path, "line": one.line}


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
                "budget": one.budget,
                "object": str(one.object),
                "change": "blocks" if one.is_new else "no longer blocks",
                "always": one.always,
                **each,
            }
            for one in plan.budgets
            for each in environment_keys(one.environments)
        ],
        "stuckRollouts": [
            {"object": str(one.object), "why": one.why, "location": of_place(one.location), **each}
            for one in plan.stuck
            for each in environment_keys(one.environments)
        ],
        "room": [
            {"zone": one.zone, "resource": one.resource, "before": one.before, "after": one.after, **each}
            for one in plan.room
            for each in environment_keys(one.environments)
        ],
        "pools": [
            {
                "name": one.name,
                "action": one.action,
                "fields": list(one.fields),
                "pods": one.pods,
                "location": of_place(one.location),
                **each,
            }
            for one in plan.pools
            for each in environment_keys(one.environments)
        ],
        "nodeLosses": [
            {"object": str(one.object), "before": one.before, "after": one.after, **each}
            for one in plan.losses
            for each in environment_keys(one.environments)
        ],
    }


def _workload(one: WorkloadPlan) -> Mapping[str, Any]:
    change = one.change
    shown: dict[str, Any] = of_object_change(change) if change else {"object": of_ref(one.object), "actions": []}
    shown |= {"direction": one.direction, "cells": [_cell_change(cell) for cell in one.cells]}
    if one.mend:
        shown["mend"] = one.mend
    if one.weakened:
        shown["lostAtOnce"] = [
            {"domain": after.domain, "before": before.most, "after": after.most, "wanted": after.wanted}
            for before, after in one.weakened
        ]
    if one.zones is not None:
        shown["podsPerZone"] = {"before": list(one.zones[0]), "after": list(one.zones[1])}
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
    also = [{"object": of_ref(one.object), "location": of_place(one.location)} for one in others]
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


def of_evictions(found: Sequence[Eviction]) -> list[Mapping[str, Any]]:
    return [
        {"by": str(one.by), "pods": list(one.pods), **each}
        for one in found
        for each in environment_keys(one.environments)
    ]


def of_error(error: InputError) -> Mapping[str, Any]:
    return {"path": error.path, "line": error.line, "message": error.message}
