"""GitLab's code quality report: a JSON array; merge requests show its entries beside the lines.

The properties are those of "Code Quality report format" in GitLab's documentation; GitLab ignores others.
"""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import blake2b
from typing import Any

from kubesched_lint.findings import Finding, InputError, Report, Severity
from kubesched_lint.linter.results.causes import members
from kubesched_lint.printing import json_text, visible
from kubesched_lint.report.causes import by_place
from kubesched_lint.report.findings.context import RenderContext
from kubesched_lint.report.findings.footer import cut_short, open_findings
from kubesched_lint.report.wording.words import annotated, relative

_UNREADABLE, _CUT_SHORT = "input-error", "left-out"


def render(report: Report, context: RenderContext) -> Iterator[str]:
    """Yield one entry per line: input errors, then open findings."""
    seen: set[str] = set()
    lead = "[\n"
    for entry in _entries(report, context):
        stem, number = entry["fingerprint"], 1
        while entry["fingerprint"] in seen:  # GitLab shows one of those that share a fingerprint
            number += 1
            entry["fingerprint"] = _digest(f"{stem}|{number}")
        seen.add(entry["fingerprint"])
        yield lead + json_text(entry)
        lead = ",\n"
    yield "[]\n" if lead == "[\n" else "\n]\n"


def _entries(report: Report, context: RenderContext) -> Iterator[dict[str, Any]]:
    for error in sorted(report.errors, key=lambda e: (e.path, e.line, e.column, e.message)):
        yield _error(error, context)
    left_out = cut_short(report)
    if left_out:  # GitLab requires a file in each entry
        path = relative(next(iter(context.files()), "."), context.root)
        yield _entry(left_out, _CUT_SHORT, _digest(left_out), "info", path, 1)
    for finding in by_place(open_findings(report)):
        yield _finding(finding, context)


def _error(error: InputError, context: RenderContext) -> dict[str, Any]:
    path = relative(error.path, context.root)
    return _entry(error.message, _UNREADABLE, _digest(f"{path}|{error.message}"), "blocker", path, error.line)


def _finding(finding: Finding, context: RenderContext) -> dict[str, Any]:
    where = annotated(finding.location)
    path, line = relative(where.path, context.root), where.span.line
    fingerprint = finding.fingerprint or _digest(f"{finding.rule}|{finding.object}")
    where_too = f" (targets: {', '.join(finding.targets)})" if finding.targets else ""
    where_too += f" (rendered: {finding.rendered})" if finding.rendered else ""
    others = len(members(finding)) - 1
    more = f" (and {others:,} more of the same cause)" if others else ""
    return _entry(f"{finding.message}{where_too}{more}", finding.rule, fingerprint, _severity(finding), path, line)


def _severity(finding: Finding) -> str:
    """Return GitLab's severity: a warning with a witness is higher than one with a pattern."""
    match finding.severity:
        case Severity.ERROR:
            return "critical"
        case Severity.WARNING:
            return "minor" if finding.evidence.kind == "pattern" else "major"
    return "info"


def _entry(text: str, check: str, fingerprint: str, severity: str, path: str, line: int) -> dict[str, Any]:
    return {
        "description": visible(text),
        "check_name": check,
        "fingerprint": fingerprint,
        "severity": severity,
        "location": {"path": path, "lines": {"begin": max(line, 1)}},
    }


def _digest(text: str) -> str:
    return blake2b(text.encode("utf-8", "backslashreplace"), digest_size=16).hexdigest()
