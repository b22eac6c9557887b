"""A pull-request comment: findings, worst first, and the matrix of events.

GitHub rejects comments of more than 65,536 characters, so the comment counts findings that do not fit. Names come from
manifests, so nothing in them becomes markup, a mention or a link.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from msgspec.structs import replace

from kubesched_lint.commands.simulate.simulation_report import SimulationReport
from kubesched_lint.engine.answers.cells import Cell
from kubesched_lint.engine.base.places import ObjectRef
from kubesched_lint.engine.base.text import brief, many, plural
from kubesched_lint.findings import Finding, Fix, InputError, Report, Severity
from kubesched_lint.printing import visible
from kubesched_lint.report.causes import FindingGroup, by_owner, causes, errors_first, in_environments
from kubesched_lint.report.findings.context import RenderContext
from kubesched_lint.report.findings.footer import footer, objects_with_errors, open_findings, standing_premises
from kubesched_lint.report.limits import LONGEST_MATRIX, MOST_LINES, MOST_ROWS
from kubesched_lint.report.markdown import COMMENT_OF_GITHUB, Block, code, html, longest_run, plain, size, within
from kubesched_lint.report.simulation.matrix_text import alike_rows, title_of
from kubesched_lint.report.verdict_words import BAD_HERE, event_title, mark, needs_a_word, shade, verdict_words
from kubesched_lint.report.words import annotated, evidence_word, explanation, relative, subject

MARK = "<!-- kubesched-lint -->"
"""The first line; a bot finds its earlier comment by it."""
_SIGNS = {Severity.ERROR: "❌", Severity.WARNING: "⚠️", Severity.NOTE: "ℹ️"}
_VERDICTS = {
    "fine": "✅",
    "bad": "❌",
    BAD_HERE: "⚠️",
    "depends": "⚠️",
    "likely": "☑️",
    "by-scores": "☑️",
    "unknown": "❔",
    "refused": "⛔",
    "none": "",
}


def render(report: Report, context: RenderContext) -> Iterator[str]:
    """Yield the comment in blocks of together at most ``COMMENT_OF_GITHUB`` UTF-16 units."""
    head, tail = "".join(_head(report)), "".join(_tail(report))
    seen = context.extras()
    matrix = ""
    if seen is not None:
        blocks = (
            list(_matrix(seen.simulation, context, seen.notes, objects_with_errors(report))) if seen.simulation else []
        )
        matrix = "".join(within(blocks, LONGEST_MATRIX, _workloads_left_out))
        matrix = matrix or "".join(f"\n_{plain(note)}_\n" for note in seen.notes)
    room = COMMENT_OF_GITHUB - size(head) - size(matrix) - size(tail)
    yield head
    yield from within(_findings(report, context), room, _findings_left_out)
    yield matrix
    yield tail


def _findings_left_out(count: int) -> str:
    return f"\n… and **{many(count, 'more finding')}** that did not fit: `--format html=FILE` shows all of them.\n"


def _workloads_left_out(count: int) -> str:
    return f"\n… and {many(count, 'more workload')} without reasons: `kubesched-lint simulate` prints them.\n"


# --- head and tail ----------------------------------------------------------------------------------------------------


_NOTED = ("skipped", "left out", "not read", "ends", "note")
_HEADS = {"config": "Configuration"}


def _head(report: Report) -> Iterator[str]:
    lines = dict(footer(report))
    yield f"{MARK}\n## kubesched-lint: {lines['result']}\n"
    yield f"\n{plain(lines['checked'])}\n"
    for shown in ("cluster", "target", "decide", "config"):
        texts = (text for label, text in footer(report) if label == shown)
        yield from (f"**{_HEADS.get(shown, shown.capitalize())}:** {plain(text)}\n" for text in texts)


def _tail(report: Report) -> Iterator[str]:
    lines = [(label, text) for label, text in footer(report) if label in _NOTED]
    lines += standing_premises(report)
    if not lines:
        return
    yield "\n<details><summary>What was not checked, and notes</summary>\n\n"
    for label, text in lines[:MOST_LINES]:
        yield f"- {label}: {plain(text[:500])}\n"
    if len(lines) > MOST_LINES:
        yield f"- … and {len(lines) - MOST_LINES} more\n"
    yield "\n</details>\n"


# --- findings ---------------------------------------------------------------------------------------------------------


def _findings(report: Report, context: RenderContext) -> Iterator[Block]:
    if report.errors:
        yield Block("\n### Could not be read\n\n")
        for error in sorted(report.errors, key=lambda e: (e.path, e.line, e.column, e.message)):
            yield Block(_error(error, context), 1)
    for part in by_owner(causes(errors_first(open_findings(report)))):
        if part.owner:
            yield Block(f"\n### {plain(part.title)}\n")
        for severity in (Severity.ERROR, Severity.WARNING, Severity.NOTE):
            its = [cause for cause in part.groups if cause.first.severity is severity]
            if its and not part.owner:
                yield Block(f"\n### {many(sum(cause.count for cause in its), severity.word)}\n")
            for cause in its:
                found = _finding(*in_environments(cause, report.summary.environments), context)
                yield Block("".join(found), 1 + len(cause.others))


def _error(error: InputError, context: RenderContext) -> str:
    where = relative(error.path, context.root) + (f":{error.line}:{max(error.column, 1)}" if error.line else "")
    return f"- {code(where)}: {plain(error.message)}\n"


def _finding(cause: FindingGroup, where: str, context: RenderContext) -> Iterator[str]:
    finding = replace(cause.first, rendered="")
    place = code(_where(finding, context)) + (f" ({plain(where)})" if where else "")
    yield f"\n{_SIGNS[finding.severity]} {place} **{plain(brief(finding.message))}**\n\n"
    text = "".join((*_excerpt(finding, context), *_remarks(finding)))
    if text:
        rule = f"<code>{html(finding.rule)}</code>"
        why = evidence_word(finding.evidence)
        yield f"<details><summary>{why}, and what to do ({rule})</summary>\n\n{text}\n</details>\n"
    if cause.others:
        yield from _others(cause.first, cause.others, context)


def _remarks(finding: Finding) -> Iterator[str]:
    for line in explanation(finding, in_short=True):
        label, _, text = brief(line).partition(": ")
        is_event = label[:1].isdigit() or not text
        yield f"- {plain(brief(line))}\n" if is_event else f"- **{label}:** {plain(text)}\n"
    yield from (f"- **fix:** {plain(fix.title)} ({_safety(fix)})\n" for fix in finding.fixes)


def _others(first: Finding, others: Sequence[Finding], context: RenderContext) -> Iterator[str]:
    yield f"\n<details><summary>and {len(others):,} more of the same cause</summary>\n\n"
    for finding in others[:MOST_LINES]:
        rule = f" ({code(finding.rule)})" if finding.rule != first.rule else ""
        yield f"- {code(_where(finding, context))} {plain(subject(finding, first))}{rule}\n"
    if len(others) > MOST_LINES:
        yield f"- … and {len(others) - MOST_LINES:,} more\n"
    yield "\n</details>\n"


def _where(finding: Finding, context: RenderContext) -> str:
    where = annotated(finding.location)
    return relative(where.path, context.root) + (f":{where.span.line}" if where.span.line else "")


def _safety(fix: Fix) -> str:
    return "safe" if fix.safe else "may change placement"


def _excerpt(finding: Finding, context: RenderContext) -> Iterator[str]:
    """Yield at most six lines of source, in a fence longer than any inside."""
    span = finding.location.span
    lines = context.sources(finding.location.path)
    shown = [visible(line)[:160] for line in lines[max(span.line - 1, 0) : min(span.end_line, span.line + 5)]]
    if span.line and shown:
        fence = "`" * max(3, longest_run(shown) + 1)
        yield f"{fence}yaml\n" + "\n".join(shown) + f"\n{fence}\n\n"


# --- the matrix -------------------------------------------------------------------------------------------------------


def _matrix(
    simulation: SimulationReport, context: RenderContext, notes: Sequence[str], errors: Collection[ObjectRef]
) -> Iterator[Block]:
    """Yield the rows with a cell that is not fine, then the reasons of each row."""
    groups = alike_rows(simulation, simulation.rows)
    bad = [alike for alike in groups if any(map(needs_a_word, alike[0].cells))]
    rows = [(title_of(simulation, alike), alike[0]) for alike in bad]
    fine = len(groups) - len(rows)
    text = "\n### What happens when\n\n"
    if rows:
        text += f"| | {' | '.join(map(event_title, simulation.events))} |\n|---|{'---|' * len(simulation.events)}\n"
    for title, row in rows[:MOST_ROWS]:
        is_error = simulation.workloads[row.number].ref in errors
        cells = (f"{_VERDICTS[shade(c, is_error=is_error)]} {plain(mark(c))}".strip() for c in row.cells)
        text += f"| {plain(title)} | {' | '.join(cells)} |\n"
    below = [f"{many(len(rows) - MOST_ROWS, 'more workload')} with problems"] if rows[MOST_ROWS:] else []
    below += [f"{many(fine, 'workload')} {plural(fine, 'is', 'are')} ok in every event"] if fine else []
    text += "".join(f"\n{plain(line)}\n" for line in (*below, *notes))
    yield Block(text)
    for title, row in rows:
        reasons = "".join(_reasons(simulation, [cell for cell in row.cells if needs_a_word(cell)], context))
        yield Block(f"\n<details><summary>Why: {html(title)}</summary>\n\n{reasons}\n</details>\n", 1)


def _reasons(simulation: SimulationReport, cells: Sequence[Cell], context: RenderContext) -> Iterator[str]:
    """Yield one line per reason with all its events. Only text and HTML reports have the traces."""
    groups: dict[object, list[Cell]] = {}
    for cell in cells:
        groups.setdefault((cell.verdict, cell.proven, cell.why, cell.missing), []).append(cell)
    for group in groups.values():
        first = group[0]
        events = ", ".join(event_title(cell.event) for cell in group)
        place = simulation.place(first)
        at = f" ({code(f'{relative(place.path, context.root)}:{place.span.line}')})" if place else ""
        yield f"- **{events}** ({verdict_words(first)}): {plain(first.why or first.message)}{at}\n"
        yield from (f"  - missing: {plain(missing)}\n" for missing in first.missing)
