"""Details of each cell of the matrix that is not fine: proof or course, message, line to blame, missing facts.

Cells of a workload with the same reason are grouped. A course of events that several cells share is printed once and
then named by its number.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from kubesched_lint.commands.simulate.run import SimulationReport
from kubesched_lint.lifecycle.event_outcomes import scaled_to
from kubesched_lint.lifecycle.verdicts import BAD, BY_SCORES, DEPENDS, FINE, NONE, UNKNOWN, Cell, Witness
from kubesched_lint.report.cell_details import bad_end
from kubesched_lint.report.cells import wrapped
from kubesched_lint.report.palette import Palette

TITLES = {"node-loss": "node loss", "zone-loss": "zone loss", "scale-down": "scale down", "hpa-max": "hpa max"}
_HEADINGS = {
    BAD: "always bad",
    DEPENDS: "depends on the order of events",
    BY_SCORES: "depends on the scheduler's scores",
    UNKNOWN: "not established",
}


def title(event: str) -> str:
    return TITLES.get(event) or (event if scaled_to(event) is None else event.replace("-", " "))


def shown(cells: Sequence[Cell]) -> list[Cell]:
    """The cells that need an explanation."""
    return [c for c in cells if c.verdict not in (FINE, NONE)]


class PrintedCourses:
    """The courses that the report has already printed, and their numbers."""

    def __init__(self, outlook: SimulationReport) -> None:
        witnesses = [w for row in outlook.rows for c in shown(row.cells) for w in (c.worst, c.best) if w is not None]
        self._uses = Counter(w.lines[: _shared(w)] for w in witnesses)
        self._numbers: dict[tuple[str, ...], int] = {}

    def told(self, witness: Witness) -> Iterator[str]:
        """The lines of a course; the part that several courses share gets a number when first printed."""
        count = _shared(witness)
        start, rest = witness.lines[:count], witness.lines[count:]
        if self._uses[start] < 2:
            yield from witness.lines
            return
        number = self._numbers.get(start)
        if number is not None:
            yield "; ".join((f"trace {number}, then {rest[0]}", *rest[1:])) if rest else f"trace {number}"
            return
        number = self._numbers[start] = len(self._numbers) + 1
        yield f"trace {number}: {'; '.join(start).removeprefix('deploy: ')}"
        if rest:
            yield "; ".join((f"then {rest[0]}", *rest[1:]))


def _shared(witness: Witness) -> int:
    """The number of lines before the event; a deployment's course is one line, which counts itself."""
    return max(len(witness.lines) - 1, 1)


def details(outlook: SimulationReport, palette: Palette, room: int = 0) -> Iterator[str]:
    """Yield the details of each workload's cells, wrapped at ``room`` cells (0: no wrapping)."""
    courses = PrintedCourses(outlook)
    for row in outlook.rows:
        cells = shown(row.cells)
        if cells:
            yield ""
            yield palette.bold(str(outlook.workloads[row.number]))
            for group in _alike(outlook, cells):
                for line, hang in _group(outlook, group, courses):
                    yield from wrapped(line, room, hang)


def _alike(outlook: SimulationReport, cells: Sequence[Cell]) -> Iterator[list[Cell]]:
    groups: dict[object, list[Cell]] = {}
    for cell in cells:
        key = (cell.verdict, cell.proven, cell.why, outlook.place(cell), cell.missing)
        groups.setdefault(key, []).append(cell)
    yield from groups.values()


def _group(outlook: SimulationReport, group: Sequence[Cell], courses: PrintedCourses) -> Iterator[tuple[str, int]]:
    """(line, indent of its continuation lines in cells) for a group of cells."""
    first = group[0]
    events = ", ".join(f"{title(c.event)} {c.text}" for c in group)
    proven = ", proven for any scheduler" if first.proven and first.verdict == BAD else ""
    yield f"  {events}: {_HEADINGS[first.verdict]}{proven}", 4
    yield f"    because: {first.why}", 6
    place = outlook.place(first)
    if place is not None:
        yield f"    at: {place.path}:{place.span.line}:{place.span.column}", 6
    yield from _messages(group)
    yield from _courses(bad_end(first), [(c, c.worst) for c in group], courses)
    yield from _courses("one way it ends well", [(c, c.best) for c in group], courses)
    for missing in first.missing:
        yield f"    missing: {missing}", 6


def _messages(group: Sequence[Cell]) -> Iterator[tuple[str, int]]:
    told: dict[tuple[str, str], list[str]] = {}
    for cell in group:
        if cell.message:
            told.setdefault((cell.says, cell.message), []).append(title(cell.event))
    for (says, message), events in told.items():
        after = f" after {', '.join(events)}" if len(told) > 1 else ""
        yield f"    {says}{after}: {message}", 6


def _courses(
    heading: str, ends: Sequence[tuple[Cell, Witness | None]], courses: PrintedCourses
) -> Iterator[tuple[str, int]]:
    found = [(cell, witness) for cell, witness in ends if witness is not None]
    if not found:
        return
    yield f"    {heading}{', each' if len(found) > 1 else ''}:", 6
    for cell, witness in found:
        for number, line in enumerate(courses.told(witness)):
            lead = f"{title(cell.event)}: " if len(found) > 1 and not number else ""
            yield f"      {lead}{line}", 8
