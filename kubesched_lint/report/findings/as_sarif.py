"""SARIF 2.1.0 for code-scanning services: results, fixes, waivers, and rule help from the cards."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from kubesched_lint.engine.base.places import Location, Span
from kubesched_lint.engine.base.text import many, plural
from kubesched_lint.findings import Finding, Fix, InputError, Report, Severity, Skip
from kubesched_lint.printing import json_text, visible
from kubesched_lint.report.causes import by_place
from kubesched_lint.report.findings.as_json import evidence
from kubesched_lint.report.findings.context import CardView, RenderContext
from kubesched_lint.report.wording.words import annotated, explanation

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_ROOT = "%SRCROOT%"
_TAGS = ("kubernetes", "scheduling")
_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "note"}
_SURE = {"proof": "very-high", "policy": "very-high", "witness": "high", "pattern": "medium"}


RESULTS_OF_GITHUB = 5_000
"""Results per run: GitHub's code scanning drops all further ones, and refuses files with more than 25,000."""
RELATED_OF_GITHUB = 100
"""Related places per result: GitHub drops further ones, and refuses results with more than 1,000 places."""
BYTES_OF_GITHUB = 10_000_000
"""Size after gzip: GitHub refuses larger files."""


def render(report: Report, context: RenderContext) -> Iterator[str]:
    """Yield the log: as many results as GitHub takes, the most severe ones; a notification counts the others."""
    findings = by_place(report.findings)
    most = min(len(findings), RESULTS_OF_GITHUB)
    text = _log(report, _most_severe(findings, most), context)
    while most > 1 and _is_too_large(text):
        most //= 2
        text = _log(report, _most_severe(findings, most), context)
    yield text
    yield "\n"


def _most_severe(findings: Sequence[Finding], most: int) -> Sequence[Finding]:
    """Return at most ``most`` findings in their order: open ones before suppressed ones, the most severe first."""
    if len(findings) <= most:
        return findings
    ranked = sorted(enumerate(findings), key=lambda pair: (pair[1].suppressed is not None, -pair[1].severity))
    return [finding for _, finding in sorted(ranked[:most], key=lambda pair: pair[0])]


def _is_too_large(text: str) -> bool:
    if len(text) <= BYTES_OF_GITHUB // 4:  # a character has at most four bytes
        return False
    return len(zlib.compress(text.encode("utf-8", "surrogateescape"))) > BYTES_OF_GITHUB


def _log(report: Report, findings: Sequence[Finding], context: RenderContext) -> str:
    rules = sorted(({finding.rule for finding in findings} | {skip.rule for skip in report.skipped}) - {""})
    index = {rule: number for number, rule in enumerate(rules)}
    run = {
        "tool": {"driver": _driver(rules, findings, context)},
        "columnKind": "unicodeCodePoints",
        "invocations": [_invocation(report, len(report.findings) - len(findings))],
        "results": [
            _result(finding, index) | state
            for finding, state in zip(findings, _states(findings, report.findings), strict=True)
        ],
    }
    log = {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}
    return json_text(log, 1)


def _driver(rules: Sequence[str], findings: Sequence[Finding], context: RenderContext) -> dict[str, Any]:
    kinds = {finding.rule: finding.evidence.kind for finding in findings}
    return {
        "name": "kubesched-lint",
        "version": context.version,
        "semanticVersion": context.version,
        "rules": [_rule(rule, kinds.get(rule, ""), context.cards(rule)) for rule in rules],
    }


def _rule(slug: str, evidence_kind: str, card: CardView | None) -> dict[str, Any]:
    rule: dict[str, Any] = {"id": slug, "properties": {"tags": list(_TAGS)}}
    if evidence_kind:
        rule["properties"]["precision"] = _SURE[evidence_kind]
    if card is None:
        return rule
    rule["properties"]["tags"] = _tags(card)
    if card.preview:
        rule["properties"]["preview"] = True
    sentence = f"{card.summary.rstrip('.')}."
    rule["shortDescription"] = {"text": sentence}
    rule["fullDescription"] = {"text": sentence}
    rule["defaultConfiguration"] = {"level": _LEVELS[card.severity]}
    if card.markdown:
        rule["help"] = {"text": card.markdown, "markdown": card.markdown}
    if card.address:
        rule["helpUri"] = card.address
    return rule


def _invocation(report: Report, left: int) -> dict[str, Any]:
    """Return the invocation: an unreadable input makes it unsuccessful, a skipped rule is a notification.

    ``left`` is the number of results that the log leaves off.
    """
    errors = [_error(error) for error in sorted(report.errors, key=_error_order)]
    return {
        "executionSuccessful": not report.errors,
        "toolExecutionNotifications": [*errors, *_gaps(report), *_left_off(left)],
        "toolConfigurationNotifications": [*_configuration(report), *map(_skip, report.skipped)],
    }


def _tags(card: CardView) -> list[str]:
    """Return the tags, each once, as the schema demands: a family may be named like one of ours."""
    return list(dict.fromkeys(filter(None, (*_TAGS, card.family, "preview" if card.preview else ""))))


def _left_off(left: int) -> Iterator[dict[str, Any]]:
    if left:
        left_off = f"{many(left, 'result')} {plural(left, 'is', 'are')} left off"
        text = f"{left_off}: this file has the most severe ones, as many as code scanning takes; JSON has all"
        yield {"level": "warning", "message": {"text": text}}


def _gaps(report: Report) -> Iterator[dict[str, Any]]:
    """Yield what makes pods and was not judged: no results are no clean bill then."""
    if report.summary.gaps:
        yield {"level": "warning", "message": {"text": _message(report.summary.gaps)}}


def _configuration(report: Report) -> Iterator[dict[str, Any]]:
    if report.summary.configuration:
        yield {"level": "note", "message": {"text": _message(f"configuration: {report.summary.configuration}")}}


def _error_order(error: InputError) -> tuple[str, int, int, str]:
    return (error.path, error.line, error.column, error.message)


def _error(error: InputError) -> dict[str, Any]:
    place: dict[str, Any] = {"artifactLocation": _artifact(error.path)}
    if error.line:
        place["region"] = {"startLine": error.line, "startColumn": max(error.column, 1)}
    return {
        "level": "error",
        "message": {"text": _message(error.message)},
        "locations": [{"physicalLocation": place}],
    }


def _skip(skip: Skip) -> dict[str, Any]:
    if not skip.rule:
        return {"level": "note", "message": {"text": _message(skip.reason)}}
    return {
        "level": "note",
        "message": {"text": _message(f"{skip.rule} was skipped: {skip.reason}")},
        "associatedRule": {"id": skip.rule},
    }


def _result(finding: Finding, index: Mapping[str, int]) -> dict[str, Any]:
    subject = finding.object
    result: dict[str, Any] = {
        "ruleId": finding.rule,
        "ruleIndex": index[finding.rule],
        "level": _LEVELS[finding.severity],
        "message": {"text": _message("\n".join((finding.message, *explanation(finding))))},
        "locations": [
            {
                "physicalLocation": _physical(finding.location),
                "logicalLocations": [
                    {"name": subject.name, "fullyQualifiedName": str(subject), "kind": "resource"}
                ],
            }
        ],
        "suppressions": _suppressions(finding),
        "properties": {"evidence": evidence(finding.evidence)},
    }  # fmt: skip
    if finding.owner:
        result["properties"]["owner"] = finding.owner
    if finding.targets:
        result["properties"]["targets"] = list(finding.targets)
    if finding.rendered:
        result["properties"]["rendered"] = finding.rendered
    related = [(r.location, r.label) for r in finding.related]
    related += [(part.location, _beside(part)) for part in finding.also]
    if related:
        result["relatedLocations"] = [
            {"id": number, "physicalLocation": _physical(where), "message": {"text": _message(label)}}
            for number, (where, label) in enumerate(related[:RELATED_OF_GITHUB], 1)
        ]
    if finding.fingerprint:
        result["partialFingerprints"] = {"kubeschedLint/v1": finding.fingerprint}
    fixes = [_fix(fix) for fix in finding.fixes if fix.edits]
    if fixes:
        result["fixes"] = fixes
    return result


def _beside(part: Finding) -> str:
    return f"{part.rule}: {part.message}{f' ({part.rendered})' if part.rendered else ''}"


def _suppressions(finding: Finding) -> list[dict[str, Any]]:
    """Return the suppressions; an absent list would mean "not known" in SARIF (section 3.27.23)."""
    waiver = finding.suppressed
    if waiver is None:
        return []
    shown: dict[str, Any] = {"kind": "external" if waiver.known else "inSource", "status": "accepted"}
    if waiver.reason:
        shown["justification"] = waiver.reason
    if waiver.location:
        shown["location"] = {"physicalLocation": _physical(waiver.location)}
    return [shown]


def _states(findings: Sequence[Finding], every: Sequence[Finding]) -> Iterator[dict[str, Any]]:
    """Yield the baseline state of each finding (section 3.27.24); empty if none of ``every`` is in a baseline."""
    compared = any(f.suppressed is not None and f.suppressed.known for f in every)
    for finding in findings:
        known = finding.suppressed is not None and finding.suppressed.known
        yield {"baselineState": "unchanged" if known else "new"} if compared else {}


def _fix(fix: Fix) -> dict[str, Any]:
    files: dict[str, list[dict[str, Any]]] = {}
    for edit in fix.edits:
        replacement = {"deletedRegion": _region(edit.span), "insertedContent": {"text": edit.text}}
        files.setdefault(edit.path, []).append(replacement)
    changes = [{"artifactLocation": _artifact(path), "replacements": edits} for path, edits in files.items()]
    return {"description": {"text": _message(fix.title)}, "artifactChanges": changes}


def _physical(location: Location) -> dict[str, Any]:
    location = annotated(location)
    place: dict[str, Any] = {"artifactLocation": _artifact(location.path)}
    if location.span.line:
        place["region"] = _region(location.span)
    return place


def _region(span: Span) -> dict[str, int]:
    return {
        "startLine": span.line,
        "startColumn": span.column,
        "endLine": span.end_line,
        "endColumn": span.end_column,
    }


def _artifact(path: str) -> dict[str, str]:
    address = quote(path.encode("utf-8", "surrogateescape").removeprefix(b"./"))
    if path.startswith("/"):
        return {"uri": f"file://{address}"}
    if ":" in address.partition("/")[0]:  # a URI parser would take the first segment for a scheme
        address = f"./{address}"
    return {"uri": address, "uriBaseId": _ROOT}


def _message(text: str) -> str:
    """Return the message; ``{0}`` becomes ``{{0}}``, because braces mark a placeholder (section 3.11.5)."""
    text = "\n".join(map(visible, text.split("\n")))
    if "{" not in text:
        return text or " "
    return re.sub(r"\{(\d+)\}", r"{{\1}}", text)
