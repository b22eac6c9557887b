"""Exceptions that end: what counts again for a change, and what a report says of the others."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from kubesched_lint.engine.base.identity import Itself
from kubesched_lint.explaining.waivers.exceptions import ends_soon, has_ended
from kubesched_lint.explaining.waivers.waiver import Waiver, WaiverUse
from kubesched_lint.findings import EndingException, Finding, Report
from kubesched_lint.linter.options import Options
from kubesched_lint.linter.results.rule_results import finding_of, numbered
from kubesched_lint.project.owners import OwnersOfFiles
from kubesched_lint.rulebook.library import Rulebook

if TYPE_CHECKING:
    from kubesched_lint.project.changed import Changes


def with_ended_entries(report: Report, options: Options, rulebook: Rulebook) -> Report:
    """Return the report with a finding for each entry of the baseline that has ended, where what it excepts is."""
    rules = [rule for rule in options.rules(rulebook) if rule.each == "waiver"]
    made = []
    for finding in _ended(report, options.today):
        excepted, place = finding.suppressed, finding.location
        if excepted is not None and excepted.known:
            entry = Waiver(finding.rule, "known", place.path, place.span, 0, 0, is_known=True)
            entry = replace(entry, object=finding.object, until=excepted.until, owner=excepted.owner)
            for rule in rules:
                severity = options.severity(rule.slug, place.path) or rule.severity
                if not options.ignores(rule.slug, place.path):
                    hazards = rule.check()(entry, WaiverUse(is_used=True, has_ended=True))
                    made += [replace(finding_of(rule, hazard, severity), location=place) for hazard in hazards]
    if not made:
        return report
    return replace(report, findings=tuple(numbered((*report.findings, *made))))


def counting_again(report: Report, judged: Report, changes: Changes, today: str) -> Report:
    """Return the report of a change in which exceptions that have ended count again, if it is of their owners' files.

    ``judged`` has all findings, also those that the change does not touch.
    """
    owners = OwnersOfFiles()
    changed: frozenset[str] | None = None
    again: dict[Itself[Finding], Finding] = {}
    for finding in _ended(judged, today):
        if changed is None:
            changed = frozenset(owner for path in changes.paths for owner in owners.of_file(path) or ())
        if _is_accountable(finding, changes, owners, changed):
            again[Itself(finding)] = _open(finding)
    if not again:
        return report
    findings = [again.pop(Itself(finding), finding) for finding in report.findings]
    return replace(report, findings=(*findings, *again.values()))


def _is_accountable(finding: Finding, changes: Changes, owners: OwnersOfFiles, changed: frozenset[str]) -> bool:
    """Whether the change is one of the owner of an exception: of any of the owner's files, else of this one."""
    assert finding.suppressed is not None
    place = finding.location.near or finding.location
    answering = finding.suppressed.owner.split() or owners.of_file(place.path) or ()
    if not changed.isdisjoint(answering):
        return True
    return os.path.realpath(place.path) in changes.paths


def _open(finding: Finding) -> Finding:
    excepted = finding.suppressed
    assert excepted is not None
    who = f" ({excepted.owner})" if excepted.owner else ""
    why = f"its exception has ended (until {excepted.until}){who}"
    return replace(finding, suppressed=None, help=f"{why}; {finding.help}" if finding.help else why)


def with_exceptions(report: Report, judged: Report, today: str) -> Report:
    """Return the report with the exceptions that have ended or end soon, whatever findings it shows."""
    exceptions = tuple(sorted(set(_ending(judged.findings, today))))
    return replace(report, summary=replace(report.summary, exceptions=exceptions)) if exceptions else report


def _ending(findings: Sequence[Finding], today: str) -> Iterator[EndingException]:
    for finding in findings:
        excepted = finding.suppressed
        if excepted is not None and ends_soon(excepted.until, today):
            place = excepted.location or finding.location
            yield EndingException(
                excepted.until,
                finding.rule,
                str(finding.object),
                place.path,
                place.span.line,
                excepted.owner,
                has_ended(excepted.until, today),
            )


def _ended(report: Report, today: str) -> Iterator[Finding]:
    yield from (f for f in report.findings if f.suppressed is not None and has_ended(f.suppressed.until, today))
