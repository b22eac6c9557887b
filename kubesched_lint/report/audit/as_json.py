"""The audit for programs: one JSON object, described by ``schemas/audit.schema.json``."""

from __future__ import annotations

from collections.abc import Sequence

from kubesched_lint.commands.audit.findings import SECTIONS, Audit, AuditFinding
from kubesched_lint.engine.base.places import ObjectRef
from kubesched_lint.explaining.pending import Waiting
from kubesched_lint.printing import json_text
from kubesched_lint.report.audit.as_text import verdict

VERSION = 1
"""The version of the format; new keys alone do not change it."""


def as_json(audit: Audit) -> str:
    """Return one JSON object, without a newline at the end."""
    return json_text(_value(audit), indent=2)


def all_as_json(audits: Sequence[tuple[str, Audit]]) -> str:
    """Return the object of an audit of no target, or ``{"audits": […]}``, each with the names of ``targets``."""
    if not audits[0][0]:
        return as_json(audits[0][1])
    return json_text({"audits": [{"targets": names, **_value(audit)} for names, audit in audits]}, indent=2)


def _value(audit: Audit) -> dict[str, object]:
    tally = audit.tally
    return {
        "version": VERSION,
        "verdict": verdict(audit),
        "cluster": audit.cluster,
        "workloads": audit.workloads,
        "pods": audit.pods,
        "sections": [{"section": section, "title": title} for section, title in SECTIONS.items()],
        "findings": [_finding(finding) for finding in audit.findings],
        "model": {
            "compared": tally.compared,
            "agree": tally.agree,
            "older": tally.older,
            "differ": tally.differ,
            "untested": tally.untested,
            "differences": [_difference(difference) for difference in audit.waiting],
        },
        "unfollowed": audit.unfollowed,
        "notes": audit.notes,
    }


def _finding(finding: AuditFinding) -> dict[str, object]:
    return {
        "section": finding.section,
        "severity": finding.severity.word,
        "object": _ref(finding.object),
        "others": [_ref(ref) for ref in finding.others],
        "message": finding.message,
        "place": finding.place,
        "evidence": finding.evidence,
        "pods": finding.pods,
        "rule": finding.rule,
        "details": [{"label": label, "text": text} for label, text in finding.details],
    }


def _ref(ref: ObjectRef) -> dict[str, str]:
    return {"kind": ref.kind, "namespace": ref.namespace, "name": ref.name}


def _difference(difference: Waiting) -> dict[str, object]:
    return {
        "pods": [{"namespace": bound.namespace, "name": bound.name} for bound in difference.pods],
        "verdict": difference.verdict,
        "scheduler": difference.theirs,
        "model": difference.ours,
        "because": difference.why,
    }
