"""The plan as one HTML page without scripts and without network access."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from kubesched_lint.commands.plan.found import CellChange, Plan, WorkloadPlan
from kubesched_lint.findings import Location
from kubesched_lint.lifecycle.verdict_order import BETTER, WORSE
from kubesched_lint.project.finding_changes import FindingChange
from kubesched_lint.report import plan_words as words
from kubesched_lint.report.cell_details import behind
from kubesched_lint.report.html.page import head, part
from kubesched_lint.report.verdict_words import event_title
from kubesched_lint.report.words import esc

_SIGNS = {WORSE: "✕", BETTER: "✓"}
_OF_CELLS = {WORSE: "error", BETTER: "fine"}
"""Direction of a change → class of its colour."""


def as_html(plan: Plan) -> Iterator[str]:
    """Yield the page in pieces."""
    yield from head(words.result(plan), scripted=False)
    yield "<main>\n"
    yield f'<section class="summary"><h1>{esc(words.result(plan))}</h1>\n<p>{esc(words.title(plan))}</p>'
    yield from (
        f"<p>{esc(line)}</p>"
        for line in (words.started(plan), words.judged(plan), words.untold(plan), words.rest(plan))
        if line
    )
    yield "</section>\n"
    if plan.errors:
        yield from part("errors", "Could not be read", _list(f"{e.path}:{e.line}: {e.message}" for e in plan.errors))
    if plan.workloads:
        yield from part("workloads", "Workloads", _workloads(words.by_importance(plan.workloads), plan))
    further = list(words.consequences(plan))
    if further:
        yield from part("further", "Nodes, evictions and budgets", _list(further))
    if plan.room:
        yield from part("room", "Room left, in one placement by the default scheduler", _room(plan))
    if plan.objects:
        yield from part("objects", "Other objects", _list(map(words.of_object, plan.objects)))
    if plan.findings.changes:
        yield from part("findings", words.findings_heading(plan).capitalize(), _findings(plan.findings.changes))
    before = (f"before the change: {e.path}:{e.line}: {e.message}" for e in plan.errors_before)
    notes = [*before, *plan.notes]
    if notes:
        yield from part("notes", "Notes", _list(notes))
    yield "</main>\n</body>\n</html>\n"


def _list(lines: Iterable[str]) -> Iterator[str]:
    yield f"<ul>{''.join(f'<li>{esc(line)}</li>' for line in lines)}</ul>\n"


def _table(heads: Sequence[str], rows: Iterable[str]) -> Iterator[str]:
    columns = "".join(f'<th scope="col">{esc(one)}</th>' for one in heads)
    yield f'<div class="scroll"><table class="matrix plain"><thead><tr>{columns}</tr></thead><tbody>\n'
    yield from rows
    yield "</tbody></table></div>\n"


def _workloads(found: Sequence[WorkloadPlan], plan: Plan) -> Iterator[str]:
    """Yield one table; a workload's changed cells are rows below it, with their reasons."""
    rows = (row for one in found for row in _workload(one, plan))
    yield from _table(("workload", "change", "after the change"), rows)


def _workload(one: WorkloadPlan, plan: Plan) -> Iterator[str]:
    change = one.change
    fields = "; ".join(words.fields(change)) if change else ""
    remark = f"<br><small>{esc(change.remark)}</small>" if change and change.remark else ""
    at = _at(change.location) if change else ""
    name = f"{esc(words.name(one))} <small>{esc(at)}</small>"
    yield f'<tr><th scope="row">{name}</th><td>{esc(words.actions(change))}{remark}</td><td>{esc(fields)}</td></tr>\n'
    for cell in words.cells_in_order(one.cells):
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


def _findings(found: Sequence[FindingChange]) -> Iterator[str]:
    yield from _table(("", "severity", "finding", "rule", "place"), map(_finding, found))


def _finding(change: FindingChange) -> str:
    finding = change.finding
    texts = (words.finding_sign(change), words.finding_words(change), finding.message, finding.rule)
    cells = "".join(f"<td>{esc(text)}</td>" for text in (*texts, _at(finding.location)))
    return f'<tr class="{finding.severity.word}">{cells}</tr>\n'


def _at(place: Location | None) -> str:
    if place is None:
        return ""
    return f"{place.path}:{place.span.line}" if place.span.line else place.path
