"""Details of one cell of the matrix, for pages: its verdict in words, then labelled lines with the reasons."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.commands.simulate.run import SimulationReport
from kubesched_lint.lifecycle.verdicts import BAD, BY_SCORES, DEPENDS, FINE, NONE, UNKNOWN, Cell, Witness

_WORDS = {
    FINE: "fine",
    BAD: "always ends badly",
    DEPENDS: "depends on the order of events",
    BY_SCORES: "depends on the scheduler's scores",
    UNKNOWN: "not established",
    NONE: "does not affect it",
}


def event_title(event: str) -> str:
    """``HPA max``, ``zone loss``."""
    return event.replace("hpa", "HPA").replace("-", " ")


def verdict_words(cell: Cell) -> str:
    proven = ", proven for any scheduler" if cell.proven and cell.verdict == BAD else ""
    return f"{_WORDS[cell.verdict]}{proven}"


def needs_a_word(cell: Cell) -> bool:
    return cell.verdict not in (FINE, NONE)


def behind(outlook: SimulationReport, cell: Cell) -> Iterator[tuple[str, str]]:
    """Yield (label, text); the lines of a course share one label."""
    if cell.why:
        yield "because", cell.why
    place = outlook.place(cell)
    if place is not None:
        yield "at", f"{place.path}:{place.span.line}"
    if cell.message:
        yield cell.says, cell.message
    yield from _course(bad_end(cell), cell.worst)
    yield from _course("one way it ends well", cell.best)
    yield from (("missing", missing) for missing in cell.missing)
    yield from (("assumes", premise) for premise in cell.assumes)


def bad_end(cell: Cell) -> str:
    """The label of a course that ends badly."""
    return "one way it ends badly" + (", with other scores" if cell.verdict == BY_SCORES else "")


def _course(label: str, witness: Witness | None) -> Iterator[tuple[str, str]]:
    if witness is not None:
        yield from ((label, line) for line in witness.lines)
