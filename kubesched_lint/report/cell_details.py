"""Details of the matrix's cells: verdicts in words, reasons, traces, lines to blame and missing facts.

Text groups the cells of a workload that have the same reason. A trace that several cells share is printed once and then
named by its number.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from kubesched_lint.commands.simulate.found import SimulationReport
from kubesched_lint.lifecycle.verdicts import (
    BAD,
    BY_SCORES,
    DEPENDS,
    FINE,
    LIKELY,
    NONE,
    REFUSED,
    UNKNOWN,
    Cell,
    Witness,
)
from kubesched_lint.report.cells import wrapped
from kubesched_lint.report.palette import Palette
from kubesched_lint.text import brief

_WORDS = {
    FINE: "fine",
    LIKELY: "likely fine: no followed trace ends badly, and nothing is proven",
    DEPENDS: "depends on the order of events",
    BY_SCORES: "depends on the scheduler's scores",
    UNKNOWN: "not established",
    REFUSED: "the API server refuses the object",
    NONE: "does not affect it",
}
BAD_HERE = "bad-here"
"""The shade of a cell that ends badly with these manifests and nodes, but is not proven or is no error of ``lint``."""
_WELL = "one way it ends well"


def event_title(event: str) -> str:
    """Return the event in words: ``HPA max``, ``zone loss``; a hypothesis as it was written: ``lose node/worker-1``."""
    return event if " " in event else event.replace("hpa", "HPA").replace("-", " ")


def verdict_words(cell: Cell) -> str:
    if cell.verdict == BAD:
        return "always bad, proven for any scheduler" if cell.proven else "bad, not proven"
    return _WORDS[cell.verdict]


def shade(cell: Cell, *, is_error: bool = True) -> str:
    """Return the verdict that gives the cell its colour. ``is_error``: whether lint reports an error of the workload.

    ``BAD`` has the colour of errors, so a cell beside a warning does not have it.
    """
    return BAD_HERE if cell.verdict == BAD and not (cell.proven and is_error) else cell.verdict


def needs_a_word(cell: Cell) -> bool:
    """Return whether the cell needs an explanation."""
    return cell.verdict not in (FINE, LIKELY, NONE)


def _bad_end(cell: Cell) -> str:
    """Return the label of a trace that ends badly."""
    return "one way it ends badly" + (", with other scores" if cell.verdict == BY_SCORES else "")


# --- one cell, for pages ----------------------------------------------------------------------------------------------


def behind(simulation: SimulationReport, cell: Cell) -> Iterator[tuple[str, str]]:
    """Yield (label, text); the lines of a trace share one label."""
    if cell.why:
        yield "because", cell.why
    place = simulation.place(cell)
    if place is not None:
        yield "at", f"{place.path}:{place.span.line}"
    if cell.message:
        yield cell.says, cell.message
    for label, witness in ((_bad_end(cell), cell.worst), (_WELL, cell.best)):
        yield from ((label, line) for line in (witness.lines if witness is not None else ()))
    yield from (("missing", missing) for missing in cell.missing)
    yield from (("assumes", premise) for premise in cell.assumes)


# --- all cells, for the terminal --------------------------------------------------------------------------------------


class _PrintedTraces:
    """The traces that the report has already printed, and their numbers."""

    def __init__(self, simulation: SimulationReport) -> None:
        cells = [cell for row in simulation.rows for cell in row.cells if needs_a_word(cell)]
        witnesses = [w for cell in cells for w in (cell.worst, cell.best) if w is not None]
        self._uses = Counter(w.lines[: _shared(w)] for w in witnesses)
        self._numbers: dict[tuple[str, ...], int] = {}

    def lines(self, witness: Witness) -> Iterator[str]:
        """Yield the lines of a trace; the part that several traces share gets a number when first printed."""
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
    """Return the number of lines before the event; the trace of a deployment is one line, which counts itself."""
    return max(len(witness.lines) - 1, 1)


def details(simulation: SimulationReport, palette: Palette, room: int = 0) -> Iterator[str]:
    """Yield the details of each workload's cells, wrapped at ``room`` cells (0: no wrapping)."""
    printed = _PrintedTraces(simulation)
    for row in simulation.rows:
        groups = _by_reason(simulation, [cell for cell in row.cells if needs_a_word(cell)])
        if groups:
            yield ""
            yield palette.bold(simulation.named(row, str(simulation.workloads[row.number])))
        for group in groups:
            for line, hang in _group(simulation, group, printed):
                yield from wrapped(brief(line), room, hang)


def _by_reason(simulation: SimulationReport, cells: Sequence[Cell]) -> list[list[Cell]]:
    groups: dict[object, list[Cell]] = {}
    for cell in cells:
        key = (cell.verdict, cell.proven, cell.why, simulation.place(cell), cell.missing)
        groups.setdefault(key, []).append(cell)
    return list(groups.values())


def _group(simulation: SimulationReport, group: Sequence[Cell], printed: _PrintedTraces) -> Iterator[tuple[str, int]]:
    """Yield (line, indent of its continuation lines in cells) for a group of cells."""
    first = group[0]
    events = "every event" if first.verdict == REFUSED else ", ".join(f"{event_title(c.event)} {c.text}" for c in group)
    yield f"  {events}: {verdict_words(first)}", 4
    if first.why:
        yield f"    because: {first.why}", 6
    place = simulation.place(first)
    if place is not None:
        yield f"    at: {place.path}:{place.span.line}:{place.span.column}", 6
    yield from _messages(group)
    yield from _traces(_bad_end(first), [(c, c.worst) for c in group], printed)
    yield from _traces(_WELL, [(c, c.best) for c in group], printed)
    for missing in first.missing:
        yield f"    missing: {missing}", 6


def _messages(group: Sequence[Cell]) -> Iterator[tuple[str, int]]:
    events_of: dict[tuple[str, str], list[str]] = {}
    for cell in group:
        if cell.message:
            events_of.setdefault((cell.says, cell.message), []).append(event_title(cell.event))
    for (says, message), events in events_of.items():
        after = f" after {', '.join(events)}" if len(events_of) > 1 else ""
        yield f"    {says}{after}: {message}", 6


def _traces(
    heading: str, ends: Sequence[tuple[Cell, Witness | None]], printed: _PrintedTraces
) -> Iterator[tuple[str, int]]:
    found = [(cell, witness) for cell, witness in ends if witness is not None]
    if not found:
        return
    yield f"    {heading}{', each' if len(found) > 1 else ''}:", 6
    for cell, witness in found:
        for number, line in enumerate(printed.lines(witness)):
            lead = f"{event_title(cell.event)}: " if len(found) > 1 and not number else ""
            yield f"      {lead}{line}", 8
