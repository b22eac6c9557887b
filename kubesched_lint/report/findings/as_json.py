"""The report for programs: a stable document, described by ``schemas/report.schema.json``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from kubesched_lint.engine.base.places import Location, ObjectRef
from kubesched_lint.findings import (
    EndingException,
    Evidence,
    Finding,
    Fix,
    InputError,
    LeftOut,
    Report,
    Summary,
    TargetSummary,
)
from kubesched_lint.printing import json_text
from kubesched_lint.report.causes import by_place
from kubesched_lint.report.findings.context import RenderContext
from kubesched_lint.report.findings.footer import counts, open_findings, suppressed

VERSION = 1
"""The version of the format; new keys alone do not change it."""


def render(report: Report, context: RenderContext) -> Iterator[str]:
    """Yield one line per finding, skip and error, so that users can compare two reports line by line."""
    yield f'{{"version": {VERSION},\n"findings": '
    yield from _lines(_finding(finding) for finding in by_place(report.findings))
    yield ',\n"skipped": '
    yield from _lines({"rule": skip.rule, "reason": skip.reason} for skip in report.skipped)
    yield ',\n"errors": '
    errors = sorted(report.errors, key=lambda e: (e.path, e.line, e.column, e.message))
    yield from _lines(map(_error, errors))
    yield f',\n"summary": {_compact(_summary(report))}}}\n'


def _error(error: InputError) -> dict[str, Any]:
    fields = {"path": error.path, "line": error.line, "column": error.column, "message": error.message}
    return {**fields, "rule": error.rule} if error.rule else fields


def _lines(items: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    lead = "[\n"
    for item in items:
        yield lead + _compact(item)
        lead = ",\n"
    yield "[]" if lead == "[\n" else "\n]"


def _compact(value: Mapping[str, Any]) -> str:
    return json_text(value)


def location(where: Location) -> dict[str, Any]:
    """Return a location as JSON. Rendered text also has ``near``, the closest place in a file."""
    span = where.span
    near = {} if where.near is None else {"near": location(where.near)}
    return {
        **near,
        "path": where.path,
        "line": span.line,
        "column": span.column,
        "endLine": span.end_line,
        "endColumn": span.end_column,
    }


def _finding(finding: Finding) -> dict[str, Any]:
    return {
        "rule": finding.rule,
        "severity": finding.severity.word,
        "message": finding.message,
        "help": finding.help,
        "evidence": evidence(finding.evidence),
        "object": _object(finding.object),
        "location": location(finding.location),
        "related": [{"location": location(r.location), "label": r.label} for r in finding.related],
        "fixes": [_fix(fix) for fix in finding.fixes],
        "suppressed": _suppression(finding),
        "fingerprint": finding.fingerprint,
        **({"preview": True} if finding.preview else {}),
        **({"toldBy": finding.told_by} if finding.told_by else {}),
        **({"also": [_part(part, finding) for part in finding.also]} if finding.also else {}),
        **({"targets": list(finding.targets)} if finding.targets else {}),
        **({"owner": finding.owner} if finding.owner else {}),
        **_rendered(finding),
    }


def _rendered(finding: Finding) -> dict[str, str]:
    return {"rendered": finding.rendered} if finding.rendered else {}


def _part(part: Finding, finding: Finding) -> dict[str, Any]:
    """Return what else was found of the cause; of the same rule also the object, its fingerprint and kustomization."""
    shown = {"rule": part.rule, "message": part.message, "location": location(part.location)}
    if part.rule != finding.rule:
        return shown
    targets = {"targets": list(part.targets)} if part.targets and part.targets != finding.targets else {}
    return {**shown, "object": _object(part.object), "fingerprint": part.fingerprint, **targets, **_rendered(part)}


def _object(subject: ObjectRef) -> dict[str, str]:
    return {"kind": subject.kind, "namespace": subject.namespace, "name": subject.name}


def evidence(why: Evidence) -> dict[str, Any]:
    """Return evidence as JSON, with ``demand`` and ``supply`` for counting proofs and ``trace`` for what was tried."""
    shown: dict[str, Any] = {"kind": why.kind, "text": why.text, "assumes": list(why.assumes)}
    if why.demand is not None:
        shown["demand"] = why.demand
    if why.supply is not None:
        shown["supply"] = why.supply
    if why.trace:
        shown["trace"] = list(why.trace)
    return shown


def _fix(fix: Fix) -> dict[str, Any]:
    edits = [{"location": location(Location(edit.path, edit.span)), "text": edit.text} for edit in fix.edits]
    return {"title": fix.title, "safe": fix.safe, "edits": edits}


def _suppression(finding: Finding) -> dict[str, Any] | None:
    if finding.suppressed is None:
        return None
    shown: dict[str, Any] = {"reason": finding.suppressed.reason, "known": finding.suppressed.known}
    if finding.suppressed.until:
        shown["until"] = finding.suppressed.until
    if finding.suppressed.owner:
        shown["owner"] = finding.suppressed.owner
    if finding.suppressed.location:
        shown["location"] = location(finding.suppressed.location)
    return shown


def _exception(exception: EndingException) -> dict[str, Any]:
    where = {"path": exception.path, "line": exception.line}
    owner = {"owner": exception.owner} if exception.owner else {}
    ends = {"until": exception.until, "hasEnded": exception.has_ended}
    return {**ends, "rule": exception.rule, "object": exception.object, "location": where, **owner}


def _left_out(item: LeftOut) -> dict[str, Any]:
    return {"path": item.path, "files": item.files, "reason": item.reason}


def _target(target: TargetSummary) -> dict[str, Any]:
    return {"name": target.name, "cluster": target.cluster, "verdict": target.verdict}


def _releases(summary: Summary) -> dict[str, Any]:
    unread = summary.unread_releases
    return {
        "total": len(summary.releases),
        "read": len(summary.releases) - len(unread),
        "notRead": [
            {
                "kind": release.kind,
                "namespace": release.namespace,
                "name": release.name,
                "chart": release.chart,
                "path": release.path,
                "line": release.line,
                "reason": release.why,
            }
            for release in unread
        ],
    }


def _summary(report: Report) -> dict[str, Any]:
    summary = report.summary
    waived, known = suppressed(report)
    return {
        "files": summary.files,
        "documents": summary.documents,
        "workloads": summary.workloads,
        "rules": summary.rules,
        "findings": {severity.word: number for severity, number in counts(open_findings(report)).items()},
        "suppressed": waived,
        "known": known,
        "skipped": len(report.skipped),
        "errors": len(report.errors),
        "unreadKinds": dict(sorted(summary.unread_kinds.items())),
        **({"notJudged": dict(sorted(summary.unjudged.items()))} if summary.unjudged else {}),
        **({"releases": _releases(summary)} if summary.releases else {}),
        "cluster": summary.cluster,
        "notes": [*summary.notes, *filter(None, [summary.advice])],
        **({"exceptions": list(map(_exception, summary.exceptions))} if summary.exceptions else {}),
        **({"leftOut": list(map(_left_out, summary.left_out))} if summary.left_out else {}),
        **({"configuration": summary.configuration} if summary.configuration else {}),
        **({"targets": list(map(_target, summary.targets))} if summary.targets else {}),
        **({"shadow": True, "wouldHaveBlocked": list(summary.would_block)} if summary.shadow else {}),
    }
