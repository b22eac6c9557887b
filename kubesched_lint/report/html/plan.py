"""The plan as one HTML page without scripts and without network access."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from kubesched_lint.commands.plan.plan_result import CellChange, Plan, WorkloadPlan
from kubesched_lint.engine.events.answers.order import BETTER, WORSE
from kubesched_lint.project.finding_changes import FindingChange
from kubesched_lint.report.html.page import head, part
from kubesched_lint.report.plan import words as words
from kubesched_lint.report.plan.result import below, result
from kubesched_lint.report.plan.rows import Entry, finding_line, rows_of
from kubesched_lint.report.simulation.cell_details import behind
from kubesched_lint.report.wording.verdict_words import event_title
from kubesched_lint.report.wording.words import at, at_line, esc

_SIGNS = {WORSE: "✕", BETTER: "✓"}
_OF_CELLS = {WORSE: "error", BETTER: "fine"}
"""Direction of a change → class of its colour."""


def as_html(plan: Plan) -> Iterator[str]:
    """Yield the page in pieces: what the text and the comment say, then each event in full."""
    rows = rows_of(plan)
    yield from head(result(plan), scripted=False)
    yield "<main>\n"
    yield f'<section class="summary"><h1>{esc(result(plan))}</h1>\n'
    yield from (f"<p>{esc(line)}</p>" for line in (*below(plan), words.judged(plan)))
    yield "</section>\n"
    if plan.errors:
        yield from part(
            "errors", "Could not be read", _list(f"{at_line(e.path, e.line)}: {e.message}" for e in plan.errors)
        )
    if rows.changed:
        yield from part("changed", "Changed", _entries(rows.changed))
    other = [*map(finding_line, rows.findings), *rows.lines]
    if rows.elsewhere or other:
        entries = _entries(rows.elsewhere) if rows.elsewhere else ()
        yield from part("elsewhere", "Elsewhere", (*entries, *(_list(other) if other else ())))
    if rows.same:
        yield from _list([rows.same])
    yield from _in_full(plan)
    yield "</main>\n</body>\n</html>\n"


def _entries(entries: Sequence[Entry]) -> Iterator[str]:
    yield from _table(("object", "change", "effect"), map(_entry, entries), " told")


def _entry(entry: Entry) -> str:
    change = "<br>".join(esc(text) for text in (entry.action, entry.fields) if text)
    effects = "<br>".join(map(esc, entry.lines[bool(entry.fields) :]))
    color = "error" if entry.is_bad else _OF_CELLS.get(entry.direction, "note")
    name = f'<th scope="row">{esc(entry.name)}<br><small>{esc(entry.place)}</small></th>'
    return f'<tr class="{color}">{name}<td>{change}</td><td>{effects}</td></tr>\n'


def _in_full(plan: Plan) -> Iterator[str]:
    """Yield what the text says with ``-v``."""
    if plan.workloads:
        yield from part("workloads", "Every event that ends otherwise", _workloads(plan))
    if plan.findings.changes:
        yield from part("findings", words.findings_heading(plan).capitalize(), _findings(plan.findings.changes))
    if plan.room:
        yield from part("room", "Room left, in one placement by the default scheduler", _room(plan))
    before = (f"before the change: {at_line(e.path, e.line)}: {e.message}" for e in plan.errors_before)
    notes = [*before, *plan.notes]
    if notes:
        yield from part("notes", "Notes", _list(notes))


def _list(lines: Iterable[str]) -> Iterator[str]:
    yield f'<ul class="lines">{"".join(f"<li>{esc(line)}</li>" for line in lines)}</ul>\n'


def _table(heads: Sequence[str], rows: Iterable[str], name: str = "") -> Iterator[str]:
    columns = "".join(f'<th scope="col">{esc(heading)}</th>' for heading in heads)
    yield f'<div class="scroll{name}"><table class="matrix plain{name}"><thead><tr>{columns}</tr></thead><tbody>\n'
    yield from rows
    yield "</tbody></table></div>\n"


def _workloads(plan: Plan) -> Iterator[str]:
    """Yield one table; a workload's changed cells are rows below it, with their reasons."""
    rows = (row for workload in words.by_importance(plan.workloads) for row in _workload(workload, plan))
    yield from _table(("workload", "change", "after the change"), rows)


def _workload(workload: WorkloadPlan, plan: Plan) -> Iterator[str]:
    change = workload.change
    fields = "; ".join(words.fields(change)) if change else ""
    remark = f"<br><small>{esc(change.remark)}</small>" if change and change.remark else ""
    place = at(change.location) if change else ""
    name = f"{esc(words.name(workload))} <small>{esc(place)}</small>"
    yield f'<tr><th scope="row">{name}</th><td>{esc(words.actions(change))}{remark}</td><td>{esc(fields)}</td></tr>\n'
    for cell in words.cells_in_order(workload.cells):
        yield _cell(cell, plan)


def _cell(change: CellChange, plan: Plan) -> str:
    sign, color = _SIGNS.get(change.direction, "~"), _OF_CELLS.get(change.direction, "note")
    event, arrow = esc(event_title(change.event)), esc(words.arrow(change))
    first = f'<th scope="row"><small>{event}</small></th>'
    return f'<tr class="{color}">{first}<td><b>{sign}</b> {arrow}</td><td>{_reason(change, plan)}</td></tr>\n'


def _reason(change: CellChange, plan: Plan) -> str:
    note = esc(words.cell_note(change))
    if change.after is None or plan.simulation is None or change.direction == BETTER or words.stays_fine(change):
        return note
    lines = "".join(
        f"<dt>{esc(label)}</dt><dd>{esc(text)}</dd>" for label, text in behind(plan.simulation, change.after)
    )
    return f"<details><summary>{note}</summary><dl>{lines}</dl></details>"


def _room(plan: Plan) -> Iterator[str]:
    heads, rows = words.room(plan)
    shown = (f"<tr>{''.join(f'<td>{esc(cell)}</td>' for cell in row)}</tr>\n" for row in rows)
    yield from _table(heads, shown)


def _findings(finding_changes: Sequence[FindingChange]) -> Iterator[str]:
    yield from _table(("", "severity", "finding", "rule", "place"), map(_finding, finding_changes))


def _finding(change: FindingChange) -> str:
    finding = change.finding
    texts = (words.finding_sign(change), words.finding_words(change), finding.message, finding.rule)
    cells = "".join(f"<td>{esc(text)}</td>" for text in (*texts, at(finding.location)))
    return f'<tr class="{finding.severity.word}">{cells}</tr>\n'
