"""Workflow commands of GitHub Actions, which become annotations on the lines of a pull request."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kubesched_lint.engine.base.text import many
from kubesched_lint.findings import Finding, InputError, Report, Severity
from kubesched_lint.printing import visible
from kubesched_lint.report.causes import FindingGroup, causes, errors_first, once_per_run
from kubesched_lint.report.findings.context import RenderContext
from kubesched_lint.report.findings.footer import cut_short, open_findings, verdict
from kubesched_lint.report.limits import MOST_LINES
from kubesched_lint.report.wording.words import annotated, explanation, subject

ANNOTATIONS_OF_GITHUB = 10
"""Annotations of a kind (error, warning, notice) for each step; GitHub drops further ones and does not say so."""
_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "notice"}


def render(report: Report, context: RenderContext) -> Iterator[str]:
    """Yield one command per line: input errors, then open findings; then the verdict as plain text.

    Findings beyond what GitHub shows are plain lines of the log, and the last annotation of their severity counts them.
    """
    others = list(_others_than_findings(report))
    for error in sorted(report.errors, key=lambda e: (e.path, e.line, e.column, e.message)):
        yield _input_error(error)
    left: list[FindingGroup] = []
    findings = errors_first(open_findings(report))
    for severity in reversed(Severity):
        room = ANNOTATIONS_OF_GITHUB - sum(name == _COMMANDS[severity] for name, _ in others)
        room -= len(report.errors) if severity is Severity.ERROR else 0
        of_severity = [finding for finding in findings if finding.severity is severity]
        groups = list(once_per_run(of_severity))
        if len(groups) > room:  # what has one cause takes one annotation
            groups = list(causes(of_severity))
        shown = len(groups) if len(groups) <= room else max(room - 1, 0)
        yield from map(_finding, groups[:shown])
        if groups[shown:]:
            yield _more(severity, sum(1 + len(group.others) for group in groups[shown:]))
            left += groups[shown:]
    yield from (command for _, command in others)
    yield from (_in_the_log(finding) for group in left for finding in (group.first, *group.others))
    yield f"kubesched-lint: {verdict(report)}\n"


def _others_than_findings(report: Report) -> Iterator[tuple[str, str]]:
    """Yield (name of the command, command) for what the run says besides findings."""
    left_out = cut_short(report)
    if left_out:
        yield "warning", _command("warning", {"title": "kubesched-lint left something out"}, left_out)
    for question in report.summary.questions:
        yield "warning", _command("warning", {"title": "kubesched-lint: please decide"}, question)
    if report.summary.configuration:
        yield "notice", _command("notice", {"title": "kubesched-lint configuration"}, report.summary.configuration)


def _more(severity: Severity, number: int) -> str:
    most = f"GitHub shows {ANNOTATIONS_OF_GITHUB} annotations of a kind for a step"
    text = f"{many(number, f'more {severity.word}')}: {most}, and its log lists the others"
    return _command(_COMMANDS[severity], {"title": "kubesched-lint"}, text)


def _in_the_log(finding: Finding) -> str:
    """Return the line of a finding that gets no annotation."""
    where = annotated(finding.location)
    owner = f" ({finding.owner})" if finding.owner else ""
    text = f"{finding.severity.word}[{finding.rule}]: {finding.message}{owner}"
    return f"{visible(f'{_path(where.path)}:{where.span.line}: {text}')}\n"


def _input_error(error: InputError) -> str:
    properties: dict[str, object] = {"file": _path(error.path)}
    if error.line:
        properties["line"] = error.line
        properties["col"] = max(error.column, 1)
    return _command("error", {**properties, "title": "kubesched-lint could not read this"}, error.message)


def _finding(group: FindingGroup) -> str:
    finding = group.first
    where = annotated(finding.location)
    span = where.span
    properties: dict[str, object] = {"file": _path(where.path)}
    if span.line:
        properties["line"] = span.line
        if span.end_line == span.line:  # GitHub rejects columns for annotations of several lines
            properties.update(col=span.column, endLine=span.end_line, endColumn=span.end_column)
        else:
            properties["endLine"] = span.end_line
    related = (f"{r.location.path}:{r.location.span.line}: {r.label}" for r in finding.related if r.label)
    text = "\n".join((finding.message, *related, *explanation(finding), *_others(group)))
    title = f"{finding.rule}: {finding.object}"
    return _command(_COMMANDS[finding.severity], {**properties, "title": title}, text)


def _others(group: FindingGroup) -> Iterator[str]:
    findings = group.others
    if findings:
        yield f"and {len(findings):,} more of the same cause:"
    for finding in findings[:MOST_LINES]:
        yield f"{finding.location.path}:{finding.location.span.line}: {subject(finding, group.first)}"
    if len(findings) > MOST_LINES:
        yield f"… and {len(findings) - MOST_LINES:,} more places"


def _path(path: str) -> str:
    return path.removeprefix("./")


def _command(name: str, properties: Mapping[str, object], message: str) -> str:
    """Return one command, escaped like command.ts of actions/toolkit, so that no text starts another command."""
    shown = ",".join(f"{key}={_property(str(value))}" for key, value in properties.items())
    return f"::{name} {shown}::{_data(message)}\n"


def _data(text: str) -> str:
    return _on_one_line(text.replace("%", "%25"))


def _property(text: str) -> str:
    return _on_one_line(text.replace("%", "%25").replace(":", "%3A").replace(",", "%2C"))


def _on_one_line(text: str) -> str:
    return "%0A".join(map(visible, text.split("\n")))
