"""The matrix of ``simulate`` for a terminal: a row per workload, a column per event."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kubesched_lint.commands.simulate.found import SimulationReport
from kubesched_lint.findings import Severity
from kubesched_lint.lifecycle.matrix import Row
from kubesched_lint.lifecycle.verdicts import Cell
from kubesched_lint.linter.environments import with_environments
from kubesched_lint.printing import visible
from kubesched_lint.report.cells import width
from kubesched_lint.report.limits import MOST_LINES
from kubesched_lint.report.palette import Palette
from kubesched_lint.report.verdict_words import (
    LIKELY_OK,
    NOT_CONCERNED,
    OK,
    event_title,
    mark,
    shade,
    word,
)
from kubesched_lint.report.words import short_names
from kubesched_lint.text import plural


def matrix(simulation: SimulationReport, palette: Palette, room: int, *, every_row: bool) -> Iterator[str]:
    """Yield the matrix, in several blocks if the terminal is too narrow for all events."""
    rows = list(simulation.rows)
    if len(rows) > MOST_LINES and not every_row:
        rows = [row for row in rows if not _is_ok(row)]
    folded = len(simulation.rows) - len(rows)
    yield from _table(simulation, rows, palette, room)
    if folded:
        likely = sum(any(word(cell) == LIKELY_OK for cell in row.cells) for row in simulation.rows if _is_ok(row))
        some = f", {likely} of them likely (ok~)" if likely else ""
        more = f"{folded} {'more ' * bool(rows)}{plural(folded, 'workload is', 'workloads are')}"
        yield f"{more} ok in every event{some}; --all shows them"


def names_in(simulation: SimulationReport) -> Sequence[str]:
    """Return the name of each workload: ``shop/web``, with the kind where two share it."""
    refs = [workload.ref for workload in simulation.workloads]
    names, where = short_names(refs), simulation.holds_in
    return [visible(with_environments(names[ref], where.get(number, ()))) for number, ref in enumerate(refs)]


def _is_ok(row: Row) -> bool:
    return all(word(cell) in (OK, LIKELY_OK, NOT_CONCERNED) for cell in row.cells)


def _table(simulation: SimulationReport, rows: Sequence[Row], palette: Palette, room: int) -> Iterator[str]:
    if not rows:
        return
    every_name = names_in(simulation)
    names = [every_name[row.number] for row in rows]
    columns = [
        [*_heads(event_title(event)), *(visible(mark(row.cells[i])) for row in rows)]
        for i, event in enumerate(simulation.events)
    ]
    widths = [max(map(width, column)) for column in columns]
    stub = max(map(width, names))
    start = 0
    while start < len(columns):
        end, taken = start + 1, stub + 2 + widths[start]
        while end < len(columns) and (not room or taken + 2 + widths[end] <= room):
            taken += 2 + widths[end]
            end += 1
        if start:
            yield ""
        for number, name in enumerate(("", "", *names)):
            texts = [_right(columns[i][number], widths[i]) for i in range(start, end)]
            if number < 2:
                texts = [palette.bold(text) if text.strip() else text for text in texts]
            else:
                texts = [_painted(text, rows[number - 2].cells[start + i], palette) for i, text in enumerate(texts)]
            line = "  ".join((name + " " * (stub - width(name)), *texts)).rstrip()
            if line or number > 1:
                yield line
        start = end


def _heads(title: str) -> tuple[str, str]:
    """Return the two lines of a column's head: ``zone`` above ``loss``."""
    first, _, second = visible(title).partition(" ")
    return (first, second) if second else ("", first)


def _right(text: str, size: int) -> str:
    return " " * (size - width(text)) + text


def _painted(text: str, cell: Cell, palette: Palette) -> str:
    match shade(cell):
        case "fine" | "likely":
            return palette.good(text)
        case "bad" | "refused":
            return palette.severity(Severity.ERROR, text)
        case "depends" | "bad-here":
            return palette.severity(Severity.WARNING, text)
        case "unknown" | "by-scores":
            return palette.severity(Severity.NOTE, text)
    return palette.dim(text)
