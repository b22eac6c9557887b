"""Findings for the terminal, like cargo's: message, place, source line, reason with numbers, and help."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from kubesched_lint.engine.base.places import Location, Span
from kubesched_lint.engine.base.text import brief, first_few
from kubesched_lint.findings import Evidence, Finding, InputError, Report, Severity
from kubesched_lint.printing import visible_lines
from kubesched_lint.report.causes import (
    FindingGroup,
    by_owner,
    causes,
    difference,
    distinct_place,
    errors_first,
    in_environments,
)
from kubesched_lint.report.cells import wrapped
from kubesched_lint.report.findings.context import RenderContext
from kubesched_lint.report.findings.footer import counts, footer, open_findings, standing_premises, statistics
from kubesched_lint.report.findings.frame import Canvas, Underline, frame, place
from kubesched_lint.report.findings.short_footer import short_footer
from kubesched_lint.report.limits import MOST_LINES, MOST_ROWS
from kubesched_lint.report.palette import Palette
from kubesched_lint.report.premises import own_premises, without_more_nodes
from kubesched_lint.report.words import PREVIEW, evidence_word

_ALL = 1_000_000
_ELSEWHERE = "--format json lists them all"


def render(report: Report, context: RenderContext) -> Iterator[str]:
    """Yield the report in pieces that end with a line end."""
    return (visible_lines(piece, painted=context.color) for piece in _pieces(report, context))


def _pieces(report: Report, context: RenderContext) -> Iterator[str]:
    paint = Palette(context.color)
    for part in by_owner(causes(errors_first(open_findings(report)))):
        if part.owner:
            yield _block([paint.bold(part.title)])
        for cause in part.groups:
            yield _block(_finding(cause, report.summary.environments, context, paint))
    known = errors_first(f for f in report.findings if f.suppressed and f.suppressed.known)
    if known and context.verbose:
        yield _block(_known(known, context, paint))
    # Errors come last, because they limit the value of all findings and must not scroll away.
    for error in sorted(report.errors, key=lambda e: (e.path, e.line, e.column, e.message)):
        yield _block(_input_error(error, context, paint))
    if context.statistics and report.findings:
        yield _block(_statistics(report, paint))
    if context.verbose and not context.quiet:
        yield from footer_lines([*standing_premises(report), *footer(report, _ALL)], report, context, paint)
        return
    for number, line in enumerate(short_footer(report, context.width)):
        if context.quiet and (number or line == "no findings"):
            return
        parts = wrapped(line, context.width, 2)
        yield from (f"{part if number else _verdict(part, report, paint)}\n" for part in parts)


def _block(lines: Iterable[str]) -> str:
    return "\n".join(lines) + "\n\n"


def _headline(severity: Severity, slug: str, message: str, context: RenderContext, paint: Palette) -> Iterator[str]:
    tag = f"{severity.word}[{slug}]" if slug else severity.word
    words = message if context.verbose else brief(message)
    for number, line in enumerate(wrapped(f"{tag}: {words}", context.width, 2)):
        if not number and line.startswith(tag):
            yield paint.severity(severity, tag) + paint.bold(line[len(tag) :])
        else:
            yield paint.bold(line)


def _input_error(error: InputError, context: RenderContext, paint: Palette) -> Iterator[str]:
    yield from _headline(Severity.ERROR, error.rule, error.message, context, paint)
    column = max(error.column, 1)
    mark = Underline(Location(error.path, Span(error.line, column, error.line, column)), primary=True)
    canvas = Canvas(len(str(error.line)), context.width, paint, Severity.ERROR)
    yield from frame([mark], context.sources(error.path) if error.line else (), canvas)


def _finding(cause: FindingGroup, environments: Sequence[str], context: RenderContext, paint: Palette) -> Iterator[str]:
    cause, where = in_environments(cause, environments)
    finding = cause.first
    yield from _headline(finding.severity, finding.rule, finding.message, context, paint)
    marks = [Underline(finding.location, primary=True)]
    marks += [Underline(related.location, related.label) for related in finding.related]
    files: dict[str, list[Underline]] = {}
    for mark in marks:
        files.setdefault(mark.location.path, []).append(mark)
    digits = len(str(max(mark.location.span.end_line for mark in marks)))
    canvas = Canvas(digits, context.width, paint, finding.severity)
    for number, (path, its_marks) in enumerate(files.items()):
        if number:
            yield canvas.gutter()
        rows = frame(its_marks, context.sources(path), canvas)
        yield from rows if number or not where else (f"{next(rows)} ({where})", *rows)
    remarks = list(_remarks(finding, context.verbose))
    if remarks or cause.others:
        yield canvas.gutter()
    for label, text in remarks:
        yield from _remark(label, text if context.verbose else brief(text), canvas)
    if cause.others:
        yield from _others(cause, canvas)


def _remarks(finding: Finding, verbose: bool) -> Iterator[tuple[str, str]]:
    evidence: Evidence = finding.evidence
    if finding.location.near is not None:
        yield "from", place(finding.location.near)
    if finding.targets:
        yield "targets", ", ".join(finding.targets)
    if evidence.text or evidence.trace:
        text = evidence.text if verbose else without_more_nodes(evidence.text)
        yield evidence_word(evidence), text or "this happened in order:"
    for number, event in enumerate(evidence.trace[:MOST_LINES], 1):
        yield "", f"{number}. {event}"
    if len(evidence.trace) > MOST_LINES:
        yield "", f"… and {len(evidence.trace) - MOST_LINES} more events ({_ELSEWHERE})"
    yield from own_premises(finding)
    if finding.help:
        yield "help", finding.help
    for fix in finding.fixes:
        yield "fix", f"{fix.title} ({'safe' if fix.safe else 'may change placement'})"
    of_other_rules = [part for part in finding.also if part.rule != finding.rule]
    if of_other_rules and verbose:
        yield "also", ", ".join(f"{part.rule} ({_beside(part.location, finding.location)})" for part in of_other_rules)
    if finding.preview:
        yield "preview", PREVIEW


def _beside(where: Location, first: Location) -> str:
    return f"line {where.span.line}" if where.path == first.path else place(where)


def _remark(label: str, text: str, canvas: Canvas) -> Iterator[str]:
    """Yield ``= label: text``; without a label, a continuation of the line before."""
    lead = " " * (canvas.digits + 1)
    hang = 4 if not label else len(label) + 2
    room = max(24, canvas.width - len(lead) - 2) if canvas.width else 0
    first = f"{label}: {text}" if label else f"    {text}"
    for number, line in enumerate(wrapped(first, room, hang + (0 if label else 3))):
        if number or not label:
            yield f"{lead}  {line}"
        else:
            yield f"{lead}{canvas.paint.gutter('=')} {canvas.paint.bold(label)}{line[len(label) :]}"


def _others(cause: FindingGroup, canvas: Canvas) -> Iterator[str]:
    count = len(cause.others)
    lead = " " * (canvas.digits + 1)
    yield f"{lead}{canvas.paint.gutter('=')} {canvas.paint.bold(f'and {count:,} more of the same cause')}:"
    rows: dict[tuple[str, str], list[str]] = {}
    for finding in cause.others:
        other = difference(finding, cause.first)
        row = (place(distinct_place(finding, cause.first)), f"{finding.object}{f': {brief(other)}' if other else ''}")
        targets = "" if finding.targets == cause.first.targets else first_few(finding.targets)
        rows.setdefault(row, []).append(finding.rendered or targets)
    across = min(48, max(len(where) for where, _ in rows))
    room = max(24, canvas.width - len(lead) - 6) if canvas.width else 0
    for (where, subject), rendered in list(rows.items())[:MOST_ROWS]:
        named = first_few([name for name in rendered if name])
        often = f" ({named})" if named else f" ({len(rendered)} times)" if len(rendered) > 1 else ""
        yield from (f"{lead}      {line}" for line in wrapped(f"{where:<{across}}  {subject}{often}", room, 4))
    if len(rows) > MOST_ROWS:
        yield f"{lead}      … and {len(rows) - MOST_ROWS:,} more places ({_ELSEWHERE})"


def _known(findings: Sequence[Finding], context: RenderContext, paint: Palette) -> Iterator[str]:
    """Yield one line per finding of the baseline."""
    yield paint.bold(f"known: {len(findings):,} from the baseline")
    for finding in findings[:MOST_LINES]:
        line = f"{place(finding.location)}: {finding.severity.word}[{finding.rule}] {finding.object}"
        yield from (f"  {paint.dim(part)}" for part in wrapped(line, max(0, context.width - 2), 4))
    if len(findings) > MOST_LINES:
        yield f"  {paint.dim(f'… and {len(findings) - MOST_LINES:,} more ({_ELSEWHERE})')}"


def _statistics(report: Report, paint: Palette) -> Iterator[str]:
    head, rows = statistics(report)
    first, *others = (max(len(row[column]) for row in (head, *rows)) for column in range(len(head)))
    for number, (rule, *cells) in enumerate((head, *rows)):
        numbers = "".join(f"  {cell:>{wide}}" for cell, wide in zip(cells, others, strict=True))
        line = f"{rule:{first}}{numbers}".rstrip()
        yield paint.bold(line) if not number else line


def footer_lines(
    pairs: Sequence[tuple[str, str]], report: Report, context: RenderContext, paint: Palette
) -> Iterator[str]:
    """Yield the lines of (label, sentence), the labels right-aligned and each repeated one left out."""
    broad = max(len(label) for label, _ in pairs)
    previous = ""
    for label, text in pairs:
        shown = "" if label == previous else label
        previous = label
        room = max(24, context.width - broad - 2) if context.width else 0
        for number, line in enumerate(wrapped(text, room)):
            lead = paint.dim(f"{'' if number else shown:>{broad}}")
            yield f"{lead}  {_verdict(line, report, paint) if label == 'result' else line}\n"


def _verdict(line: str, report: Report, paint: Palette) -> str:
    worst = next((severity for severity, number in counts(open_findings(report)).items() if number), None)
    if report.errors:
        worst = Severity.ERROR
    if worst is None and report.summary.unjudged:
        return line  # not green: something was not read
    return paint.severity(worst, line) if worst else paint.good(line)
