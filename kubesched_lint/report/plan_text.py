"""The plan for people at a terminal: workloads with what changes for them, then findings, room and reasons."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kubesched_lint.commands.plan.found import CellChange, Plan, WorkloadPlan
from kubesched_lint.findings import Location, Severity
from kubesched_lint.lifecycle.verdict_order import BETTER, WORSE
from kubesched_lint.printing import visible
from kubesched_lint.report import plan_words as words
from kubesched_lint.report.cell_details import details
from kubesched_lint.report.cells import width, wrapped
from kubesched_lint.report.palette import Palette
from kubesched_lint.report.verdict_words import event_title
from kubesched_lint.text import brief


def as_text(plan: Plan, *, color: bool = False, room: int = 0) -> str:
    """Return the text for lines of ``room`` cells (0: no limit), without a newline at the end."""
    return "\n".join(_lines(plan, Palette(color), room))


def _lines(plan: Plan, palette: Palette, room: int) -> Iterator[str]:
    for line in wrapped(visible(words.result(plan)), room, 2):
        yield palette.severity(Severity.ERROR, line) if plan.is_worse else palette.bold(line)
    if words.started(plan):
        yield from wrapped(visible(words.started(plan)), room, 2)
    yield palette.bold(visible(words.title(plan)))
    for one in words.by_importance(plan.workloads):
        yield ""
        yield from _workload(one, palette, room)
    if plan.objects:
        yield ""
        for change in plan.objects:
            yield from wrapped(visible(f"{words.of_object(change)}{_at(change.location)}"), room, 2)
    if plan.workloads or plan.findings.changes:
        yield from _findings(plan, palette, room)
    further = list(words.consequences(plan))
    if further:
        yield ""
        for line in further:
            yield from wrapped(visible(line), room, 2)
    if plan.room:
        yield from _room(plan, palette, room)
    if plan.simulation is not None:
        yield from _reasons(plan, palette, room)
    yield from _end(plan, palette, room)


def _workload(one: WorkloadPlan, palette: Palette, room: int) -> Iterator[str]:
    change = one.change
    place = _at(change.location) if change else ""
    yield f"{palette.bold(visible(words.name(one)))}  {visible(words.actions(change))}{palette.dim(visible(place))}"
    if change is not None and change.fields:
        yield from wrapped(visible(f"  {'; '.join(words.fields(change))}"), room, 4)
    if change is not None and change.remark:
        yield from wrapped(visible(f"  {change.remark}"), room, 4)
    shown = [cell for cell in words.cells_in_order(one.cells) if not words.stays_fine(cell)]
    wide = max((width(event_title(cell.event)) for cell in shown), default=0)
    for cell in shown:
        yield _cell(cell, wide, palette)
    fine = words.fine_events(one.cells)
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
        line = f"{visible(brief(finding.message))} ({finding.rule}){visible(_at(finding.location))}"
        first, *others = wrapped(f"  {words.finding_sign(change)} {severity}: {line}", room, 4)
        yield first.replace(severity, palette.severity(finding.severity, severity), 1)  # wrapping shows no colour
        yield from others


def _at(place: Location | None) -> str:
    if place is None:
        return ""
    return f"  {place.path}:{place.span.line}" if place.span.line else f"  {place.path}"


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
    found = list(details(plan.simulation, palette, room))
    if found:
        yield ""
        yield "after the change:"
        yield from found


def _end(plan: Plan, palette: Palette, room: int) -> Iterator[str]:
    yield ""
    for what, errors in (("error", plan.errors), ("before the change", plan.errors_before)):
        for error in errors:
            line = f":{error.line}" if error.line else ""
            yield from wrapped(visible(f"{what}: {error.path}{line}: {error.message}"), room, 2)
    for note in plan.notes:
        yield from wrapped(visible(f"note: {note}"), room, 2)
    if words.untold(plan):
        yield from wrapped(visible(words.untold(plan)), room, 2)
    if words.rest(plan):
        yield from wrapped(words.rest(plan), room, 2)
    if words.judged(plan):
        yield from wrapped(visible(words.judged(plan)), room, 2)
