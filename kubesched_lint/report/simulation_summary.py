"""What stands below the matrix of ``simulate``: each reason once, the counts, and what is assumed."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping

from kubesched_lint.commands.simulate.found import SimulationReport
from kubesched_lint.engine.places import ObjectRef
from kubesched_lint.engine.text import first_few, joined, many, plural
from kubesched_lint.findings import Severity
from kubesched_lint.lifecycle.verdicts import NONE, REFUSED, UNKNOWN, Cell
from kubesched_lint.report.cell_reasons import MOST_REASONS, UNLESS, Reason, events_of, reasons, said, wants_nodes
from kubesched_lint.report.cells import width, wrapped
from kubesched_lint.report.matrix_text import names_of
from kubesched_lint.report.palette import Palette
from kubesched_lint.report.verdict_words import (
    FAILS,
    FAILS_HERE,
    LIKELY_OK,
    MAY_FAIL,
    NOT_CONCERNED,
    OK,
    WORST_FIRST,
    event_title,
    word,
)
from kubesched_lint.report.words import at

_HANG = 12
"""Cells before the text of a reason: the longest word, ``fails here``, and two blanks."""
_SEVERITIES: Mapping[str, Severity] = {
    REFUSED: Severity.ERROR,
    FAILS: Severity.ERROR,
    FAILS_HERE: Severity.WARNING,
    MAY_FAIL: Severity.WARNING,
    UNKNOWN: Severity.NOTE,
}
_COUNTED: Mapping[str, tuple[str, str]] = {
    REFUSED: ("is refused", "are refused"),
    FAILS: ("fails (!)", "fail (!)"),
    FAILS_HERE: ("fails here", "fail here"),
    MAY_FAIL: ("may fail", "may fail"),
    UNKNOWN: ("is unknown (?)", "are unknown (?)"),
    LIKELY_OK: ("is likely ok (ok~)", "are likely ok (ok~)"),
    OK: ("is ok", "are ok"),
    NOT_CONCERNED: ("has no pods", "have no pods"),
}
_WORKLOADS = re.compile(r"[A-Z][A-Za-z]+ [\w.-]+/[\w.-]+(, [A-Z][A-Za-z]+ [\w.-]+/[\w.-]+)*( and [\d,]+ more)?")


def summary(simulation: SimulationReport, palette: Palette, room: int) -> Iterator[str]:
    """Yield the reasons, the counts of workloads and the premises, each part after an empty line."""
    told = list(_reasons(simulation, palette, room))
    if told:
        yield ""
        yield from told
    if simulation.rows:
        yield ""
        yield from wrapped(_counts(simulation), room, 2)
        yield from wrapped(_assumed(simulation), room, 2)


def _reasons(simulation: SimulationReport, palette: Palette, room: int) -> Iterator[str]:
    every = _without_repeats(reasons(simulation))
    of_nodes = [_wants_nodes(reason) for reason in every if reason.word == FAILS_HERE]
    is_shared = len(of_nodes) > 1 and all(of_nodes)
    for word_, most in MOST_REASONS.items():
        of_word = [reason for reason in every if reason.word == word_]
        most += len(of_word) == most + 1  # a line that says so would be as long
        lines = [_told(simulation, reason, says_unless=not is_shared) for reason in of_word[:most]]
        if len(of_word) > most:
            left = {number for reason in of_word[most:] for number in reason.cells}
            lines.append(f"{many(len(left), 'workload')} for {many(len(of_word) - most, 'more reason')}: -v lists them")
        if word_ == FAILS_HERE and is_shared:
            lines.append("all of these unless an autoscaler adds a node")
        for number, line in enumerate(lines):
            lead = "" if number else word_
            first, *more = wrapped(line, room and room - _HANG)
            painted = palette.severity(_SEVERITIES[word_], lead) if lead else ""
            yield f"{painted}{' ' * (_HANG - width(lead))}{first}"
            yield from (f"{' ' * _HANG}{each}" for each in more)


def _without_repeats(every: Iterable[Reason]) -> list[Reason]:
    """Return the reasons; a workload that fails is told of once, and not again where it only fails here."""
    kept: list[Reason] = []
    failing: set[int] = set()
    for reason in every:
        cells = dict(reason.cells)
        if reason.word == FAILS:
            failing.update(cells)
        elif reason.word == FAILS_HERE:
            cells = {number: of_number for number, of_number in cells.items() if number not in failing}
        if cells:
            kept.append(Reason(reason.word, reason.cause, cells))
    return kept


def _wants_nodes(reason: Reason) -> bool:
    return any(wants_nodes(cell) for cells in reason.cells.values() for cell in cells)


def _told(simulation: SimulationReport, reason: Reason, *, says_unless: bool) -> str:
    """Return ``shop/web (deploy, rollout): CAUSE (PATH:LINE)``; more than one workload has no common line.

    The matrix marks the events that fail.
    """
    whose = first_few(names_of(simulation, reason.cells))
    cells = [cell for each in reason.cells.values() for cell in each]
    events = "every event" if reason.word == REFUSED else events_of(cells, simulation.events)
    when = "" if reason.word == FAILS else f" ({events})"
    place = simulation.place(cells[0]) if len(reason.cells) == 1 else None
    line = f" ({at(place)})" if place is not None else ""
    unless = UNLESS if says_unless and _wants_nodes(reason) else ""
    return f"{whose}{when}: {said(reason)}{unless}{line}"


def worst(cells: Iterable[Cell]) -> str:
    """Return the word of a workload: that of its worst cell."""
    words = set(map(word, cells))
    return next(each for each in WORST_FIRST if each in words)


def _counts(simulation: SimulationReport) -> str:
    """Return ``20 workloads: 1 fails (!), 3 may fail, 16 are ok``.

    Each counts once, whatever the number of its environments, by its worst cell.
    """
    of_each: dict[ObjectRef, list[Cell]] = {}
    for row in simulation.rows:
        of_each.setdefault(simulation.workloads[row.number].ref, []).extend(row.cells)
    counts = Counter(worst(cells) for cells in of_each.values() if cells)
    parts = [f"{counts[one]} {plural(counts[one], *_COUNTED[one])}" for one in WORST_FIRST if counts[one]]
    cells = [cell for each in of_each.values() for cell in each if cell.verdict != NONE]
    unknown = sum(cell.verdict == UNKNOWN for cell in cells)
    of_cells = f"; {unknown:,} of {many(len(cells), 'cell')} {plural(unknown, 'is', 'are')} unknown" if unknown else ""
    told = f"{many(len(of_each), 'workload')}{f' in {joined(simulation.environments)}' * bool(simulation.holds_in)}"
    if len(parts) == 1:
        return f"{told} {parts[0].partition(' ')[2]}{of_cells}"
    return f"{told}: {joined(parts)}{of_cells}"


def _assumed(simulation: SimulationReport) -> str:
    """Return one line about what the verdicts assume."""
    holders = premises(simulation)
    total = sum(cell.verdict != NONE for row in simulation.rows for cell in row.cells)
    every = [premise for premise, cells in holders.items() if len(cells) == total][:1]
    more = len(holders) - len(every) + len(simulation.background)
    parts = [*every, f"{more} more"] if every and more else every
    told = f"assumes that {joined(parts)}; " if every else ""
    return f"{told}-v lists {'all' if every else 'what is assumed'}, with traces; --explain NAME tells of one workload"


def premises(simulation: SimulationReport) -> dict[str, list[str]]:
    """Return premise → the cells that rest on it, in words. Premises that differ in their workloads only are one."""
    cells = [(row.number, cell) for row in simulation.rows for cell in row.cells if cell.verdict != NONE]
    alike: dict[str, set[str]] = {}
    for premise in {premise for _, cell in cells for premise in cell.assumes}:
        alike.setdefault(_WORKLOADS.sub("", premise), set()).add(premise)
    holders: dict[str, list[str]] = {}
    for number, cell in cells:
        title = f"{simulation.workloads[number].ref.title} {event_title(cell.event)}"
        for premise in dict.fromkeys(_for_all(premise, alike) for premise in cell.assumes):
            holders.setdefault(premise, []).append(title)
    return holders


def _for_all(premise: str, alike: Mapping[str, Collection[str]]) -> str:
    several = len(alike[_WORKLOADS.sub("", premise)]) > 1
    return _WORKLOADS.sub("some workloads", premise, count=1) if several else premise
