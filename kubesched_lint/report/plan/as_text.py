"""The plan for people at a terminal: what the change does, in at most a page; with ``verbose`` everything."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from kubesched_lint.commands.plan.plan_result import CellChange, Plan, WorkloadPlan
from kubesched_lint.engine.base.text import brief, many
from kubesched_lint.engine.events.answers.order import BETTER, WORSE
from kubesched_lint.findings import Severity
from kubesched_lint.printing import visible
from kubesched_lint.report.limits import MOST_LINES
from kubesched_lint.report.plan import words as words
from kubesched_lint.report.plan.result import below, result
from kubesched_lint.report.plan.rows import Entry, Rows, finding_line, rows_of
from kubesched_lint.report.simulation.cell_details import details
from kubesched_lint.report.terminal.cells import width, wrapped
from kubesched_lint.report.terminal.palette import Palette
from kubesched_lint.report.wording.verdict_words import event_title
from kubesched_lint.report.wording.words import at, at_line


def as_text(plan: Plan, *, color: bool = False, room: int = 0, verbose: bool = False) -> str:
    """Return the text for lines of ``room`` cells (0: no limit), without a newline at the end."""
    palette = Palette(color)
    body = _in_full if verbose else _in_short
    return "\n".join((*_head(plan, palette, room), *body(plan, palette, room)))


def _head(plan: Plan, palette: Palette, room: int) -> Iterator[str]:
    for line in wrapped(visible(result(plan)), room, 2):
        yield palette.severity(Severity.ERROR, line) if plan.is_blocked else palette.bold(line)
    for line in below(plan):
        yield from wrapped(visible(line), room, 2)


# --- a page ----------------------------------------------------------------------------------------------------------


def _in_short(plan: Plan, palette: Palette, room: int) -> Iterator[str]:
    rows = rows_of(plan)
    changed = list(_entries(rows.changed, palette, room))
    elsewhere = [*_entries(rows.elsewhere, palette, room), *_elsewhere(rows, palette, room)]
    for title, lines in ((f"Changed from {plan.before} to {plan.after}", changed), ("Elsewhere", elsewhere)):
        if lines:
            yield ""
            yield palette.bold(visible(title))
            yield from lines
    yield ""
    yield from wrapped(visible(rows.same), room, 2) if rows.same else ()
    yield from _end(plan, room)
    sides = "" if changed else f" from {plan.before} to {plan.after}"
    ends = [f"{judged}{sides}; -v: more" for judged in words.judged_in_short(plan)]
    end = next((line for line in ends if not room or width(visible(line)) <= room), ends[-1])
    yield from wrapped(visible(end), room, 2)


def _entries(entries: Sequence[Entry], palette: Palette, room: int) -> Iterator[str]:
    shown = entries[:MOST_LINES]
    wide = max((width(visible(entry.name)) for entry in shown if entry.action), default=0)
    for entry in shown:
        name, place = visible(entry.name), visible(entry.place)
        told = f"{name}{' ' * (wide - width(name))}  {visible(entry.action)}" if entry.action else name
        painted = palette.bold(name) + told[len(name) :]
        gap = room - 2 - width(told) - width(place) if room and place else 2
        if gap < 2:
            yield f"  {painted}"
            yield f"    {palette.dim(place)}"
        else:
            yield f"  {painted}{' ' * min(gap, 2) + palette.dim(place) if place else ''}"
        for line in entry.lines:
            yield from wrapped(f"    {line}", room, 6)
    if len(entries) > len(shown):
        yield f"  and {len(entries) - len(shown):,} more: -v lists them"


def _elsewhere(rows: Rows, palette: Palette, room: int) -> Iterator[str]:
    for change in rows.findings[:MOST_LINES]:
        severity = words.finding_words(change)
        first, *more = wrapped(f"  {visible(finding_line(change))}", room, 4)
        yield first.replace(severity, palette.severity(change.finding.severity, severity), 1)
        yield from more
    if len(rows.findings) > MOST_LINES:
        yield f"  and {many(len(rows.findings) - MOST_LINES, 'more finding')}: -v lists them"
    for line in rows.lines:
        yield from wrapped(f"  {visible(line)}", room, 4)


def _end(plan: Plan, room: int) -> Iterator[str]:
    """Yield what could not be read, and the notes that are no background of every plan."""
    for what, errors in (("error", plan.errors), ("before the change", plan.errors_before)):
        for error in errors:
            yield from wrapped(visible(f"{what}: {at_line(error.path, error.line)}: {error.message}"), room, 2)
    for note in plan.notes:
        if note not in plan.background:
            yield from wrapped(visible(f"note: {note}"), room, 2)


# --- everything ------------------------------------------------------------------------------------------------------


def _in_full(plan: Plan, palette: Palette, room: int) -> Iterator[str]:
    for workload in words.by_importance(plan.workloads):
        yield ""
        yield from _workload(workload, palette, room)
    if plan.objects:
        yield ""
        for change in plan.objects:
            yield from wrapped(visible(f"{words.of_object(change)}  {at(change.location)}".rstrip()), room, 2)
    if plan.workloads or plan.findings.changes:
        yield from _findings(plan, palette, room)
    if plan.room:
        yield from _room(plan, palette, room)
    if plan.simulation is not None:
        yield from _reasons(plan, palette, room)
    rows = rows_of(plan)
    yield ""
    for line in filter(None, (*rows.lines, rows.same)):
        yield from wrapped(visible(line), room, 2)
    yield from _end(replace(plan, background=()), room)
    yield from wrapped(visible(words.judged(plan)), room, 2)


def _workload(subject: WorkloadPlan, palette: Palette, room: int) -> Iterator[str]:
    change = subject.change
    place = f"  {at(change.location)}" if change and change.location else ""
    yield f"{palette.bold(visible(words.name(subject)))}  {visible(words.actions(change))}{palette.dim(visible(place))}"
    if change is not None and change.fields:
        yield from wrapped(visible(f"  {'; '.join(words.fields(change))}"), room, 4)
    if change is not None and change.remark:
        yield from wrapped(visible(f"  {change.remark}"), room, 4)
    shown = [cell for cell in words.cells_in_order(subject.cells) if not words.stays_fine(cell)]
    wide = max((width(event_title(cell.event)) for cell in shown), default=0)
    for cell in shown:
        yield _cell(cell, wide, palette)
    fine = words.fine_events(subject.cells)
    if fine:
        yield from wrapped(visible(f"  {fine}"), room, 4)


def _cell(cell: CellChange, wide: int, palette: Palette) -> str:
    sign, paint = {WORSE: ("worse ", Severity.ERROR), BETTER: ("better", None)}.get(cell.direction, (" " * 6, None))
    event = event_title(cell.event).ljust(wide)
    shown = palette.severity(paint, sign) if paint else palette.good(sign) if cell.direction == BETTER else sign
    return f"  {shown}  {event}  {visible(words.arrow(cell))}  {palette.dim(words.cell_note(cell))}"


def _findings(plan: Plan, palette: Palette, room: int) -> Iterator[str]:
    yield ""
    yield words.findings_heading(plan)
    for change in plan.findings.changes:
        finding = change.finding
        severity = words.finding_words(change)
        line = visible(f"{brief(finding.message)} ({finding.rule})  {at(finding.location)}")
        first, *others = wrapped(f"  {words.finding_sign(change)} {severity}: {line}", room, 4)
        yield first.replace(severity, palette.severity(finding.severity, severity), 1)  # wrapping shows no colour
        yield from others


def _room(plan: Plan, palette: Palette, room: int) -> Iterator[str]:
    head, rows = words.room(plan)
    table: Sequence[tuple[str, ...]] = [head, *rows]
    wide = [max(map(width, column)) for column in zip(*table, strict=True)]
    yield ""
    yield from wrapped("room left in one placement by the default scheduler, before → after:", room, 2)
    for number, row in enumerate(table):
        text = "  ".join(visible(cell) + " " * (size - width(cell)) for cell, size in zip(row, wide, strict=True))
        yield f"  {text.rstrip()}" if number else f"  {palette.bold(text.rstrip())}"


def _reasons(plan: Plan, palette: Palette, room: int) -> Iterator[str]:
    """Yield the reasons and courses of the changed cells that are not fine."""
    assert plan.simulation is not None
    reason_lines = list(details(plan.simulation, palette, room))
    if reason_lines:
        yield ""
        yield "after the change:"
        yield from reason_lines
