"""The plan as one comment on a pull request: what became worse first. What does not fit is counted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kubesched_lint.commands.plan.found import CellChange, Plan, WorkloadPlan
from kubesched_lint.findings import Location
from kubesched_lint.lifecycle.verdict_order import BETTER, WORSE
from kubesched_lint.limits import LONGEST_REASON
from kubesched_lint.project.finding_changes import FindingChange
from kubesched_lint.report import plan_words as words
from kubesched_lint.report.limits import MOST_LINES
from kubesched_lint.report.markdown import COMMENT_OF_GITHUB, Block, code, html, plain, size, within
from kubesched_lint.report.verdict_words import event_title
from kubesched_lint.text import brief, first_few, many

MARK = "<!-- kubesched-lint plan -->"
"""The first line; a bot finds its earlier comment by it."""
_SIGNS = {WORSE: "❌", BETTER: "✅"}
_OTHER = "ℹ️"


def as_markdown(plan: Plan) -> str:
    """Return the comment, of at most ``COMMENT_OF_GITHUB`` UTF-16 units."""
    head, tail = "".join(_head(plan)), "".join(_tail(plan))
    return "".join((head, *within(_blocks(plan), COMMENT_OF_GITHUB - size(head) - size(tail), _left_out), tail))


def _left_out(count: int) -> str:
    return f"\n… and **{many(count, 'more change')}** that did not fit: `kubesched-lint plan` prints all of them.\n"


def _head(plan: Plan) -> Iterator[str]:
    yield f"{MARK}\n## {'❌ ' if plan.is_worse else ''}kubesched-lint plan: {plain(words.result(plan))}\n"
    where = f" in {plain(first_few(plan.environments))}" if plan.environments else ""
    if words.started(plan):
        yield f"\n{plain(words.started(plan))}\n"
    yield f"\n{code(plan.before)} → {code(plan.after)}{where}{f' on {plain(plan.cluster)}' if plan.cluster else ''}\n"


def _blocks(plan: Plan) -> Iterator[Block]:
    """Yield the parts, the most important first."""
    if plan.errors:
        yield Block("\n### Could not be read\n\n")
        yield from (Block(f"- {_place(e.path, e.line)}: {plain(e.message)}\n", 1) for e in plan.errors)
    ordered = words.by_importance(plan.workloads)
    bad = [one for one in ordered if one.direction == WORSE]
    yield from _workloads("Worse", bad)
    severe = [change for change in plan.findings.changes if change.is_more_severe]
    yield from _findings("New findings", severe)
    further = list(words.consequences(plan))
    if further:
        yield Block("\n### Nodes, evictions and budgets\n\n")
        yield from (Block(f"- {plain(line)}\n", 1) for line in further)
    yield from _workloads("Workloads", [one for one in ordered if one.direction != WORSE])
    yield from _room(plan)
    if plan.objects:
        yield Block("\n### Other objects\n\n")
        yield from (Block(f"- {plain(words.of_object(change))}\n", 1) for change in plan.objects)
    yield from _findings("Findings gone", [change for change in plan.findings.changes if not change.is_more_severe])
    yield from _reasons(plan)


def _workloads(title: str, found: Sequence[WorkloadPlan]) -> Iterator[Block]:
    if found:
        yield Block(f"\n### {title}\n")
    for one in found:
        yield Block("".join(_workload(one)), 1)


def _workload(one: WorkloadPlan) -> Iterator[str]:
    change = one.change
    where = f" ({_at(change.location)})" if change and change.location else ""
    yield f"\n**{plain(words.name(one))}** {plain(words.actions(change))}{where}\n\n"
    if change is not None and change.fields:
        yield f"- {plain('; '.join(words.fields(change)))}\n"
    if change is not None and change.remark:
        yield f"- {plain(change.remark)}\n"
    cells = [cell for cell in words.cells_in_order(one.cells) if not words.stays_fine(cell)]
    if cells:
        yield "\n| | before → after | |\n|---|---|---|\n"
        yield from map(_cell, cells)
    fine = words.fine_events(one.cells)
    if fine:
        yield f"\n{plain(fine)}\n"


def _cell(cell: CellChange) -> str:
    sign = _SIGNS.get(cell.direction, _OTHER)
    at = f" {_at(cell.location)}" if cell.location and cell.direction != BETTER else ""
    return f"| {sign} {event_title(cell.event)} | {plain(words.arrow(cell))} | {words.cell_note(cell)}{at} |\n"


def _findings(title: str, found: Sequence[FindingChange]) -> Iterator[Block]:
    if found:
        yield Block(f"\n### {title}\n\n")
    for change in found:
        finding = change.finding
        message = plain(brief(finding.message)[:LONGEST_REASON])
        severity = plain(words.finding_words(change))
        yield Block(f"- **{severity}** {message} ({code(finding.rule)}, {_at(finding.location)})\n", 1)


def _room(plan: Plan) -> Iterator[Block]:
    if plan.room:
        head, rows = words.room(plan)
        lines = [" | ".join(map(plain, row)) for row in (head, ("---",) * len(head), *rows)]
        table = "".join(f"| {line} |\n" for line in lines)
        yield Block(f"\n### Room left, in one placement by the default scheduler\n\n{table}", 1)


def _reasons(plan: Plan) -> Iterator[Block]:
    """Yield the reason and one course for each workload with cells that did not become better."""
    if plan.simulation is None:
        return
    for row in plan.simulation.rows:
        lines = dict.fromkeys(line for cell in row.cells for line in words.reasons(cell))
        if lines:
            subject = html(plan.simulation.named(row, str(plan.simulation.workloads[row.number])))
            text = "".join(f"- {plain(brief(line)[:LONGEST_REASON])}\n" for line in lines)
            yield Block(f"\n<details><summary>Why: {subject}</summary>\n\n{text}\n</details>\n", 1)


def _tail(plan: Plan) -> Iterator[str]:
    counts = [
        words.unchanged(plan.findings.unchanged).replace("unchanged", "findings unchanged", 1),
        words.untold(plan),
        words.rest(plan),
    ]
    yield f"\n{plain('; '.join(filter(None, counts)))}.\n"
    errors = [f"before the change, {e.path}:{e.line}: {e.message}" for e in plan.errors_before]
    notes = [*errors, *plan.notes]
    if notes:
        listed = "".join(f"- {plain(note[:LONGEST_REASON])}\n" for note in notes[:MOST_LINES])
        more = f"- … and {len(notes) - MOST_LINES} more\n" if len(notes) > MOST_LINES else ""
        yield f"\n<details><summary>Notes</summary>\n\n{listed}{more}\n</details>\n"


def _at(place: Location | None) -> str:
    return "" if place is None else _place(place.path, place.span.line)


def _place(path: str, line: int) -> str:
    return code(f"{path}:{line}" if line else path)
