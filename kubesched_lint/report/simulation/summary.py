"""What stands below the matrix of ``simulate``: each reason once, the counts, and what is assumed."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence

from kubesched_lint.commands.simulate.simulation_report import SimulationReport
from kubesched_lint.engine.base.places import ObjectRef
from kubesched_lint.engine.base.text import SHOWN, first_few, many, plural
from kubesched_lint.engine.events.answers.cells import NONE, REFUSED, UNKNOWN, Cell
from kubesched_lint.engine.events.start.simulated_set import LOSSES
from kubesched_lint.findings import Severity
from kubesched_lint.report.simulation.cell_reasons import (
    MOST_REASONS,
    UNLESS,
    Reason,
    cause_of,
    events_of,
    reasons,
    said,
    wants_nodes,
)
from kubesched_lint.report.simulation.matrix_text import alike_rows, names_of
from kubesched_lint.report.terminal.cells import wrapped
from kubesched_lint.report.terminal.palette import Palette
from kubesched_lint.report.wording.verdict_words import (
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
from kubesched_lint.report.wording.words import at

_SEVERITIES: Mapping[str, Severity] = {
    REFUSED: Severity.ERROR,
    FAILS: Severity.ERROR,
    FAILS_HERE: Severity.WARNING,
    MAY_FAIL: Severity.WARNING,
    UNKNOWN: Severity.NOTE,
}
_FAILING: Mapping[str, tuple[str, str]] = {
    FAILS: ("fails", "fail"),
    FAILS_HERE: ("fails here", "fail here"),
    MAY_FAIL: ("may fail", "may fail"),
}
"""The words that are verbs, for one workload and for several."""
_STATES: Mapping[str, str] = {
    REFUSED: "refused",
    UNKNOWN: "unknown",
    LIKELY_OK: LIKELY_OK,
    OK: "ok",
    NOT_CONCERNED: "without pods",
}
_HEADS: Mapping[str, str] = {
    REFUSED: "refused",
    FAILS: "fails (!)",
    FAILS_HERE: "fails here",
    MAY_FAIL: "may fail",
    UNKNOWN: "unknown (?)",
}
_BAD_HERE = (FAILS_HERE, MAY_FAIL)
_AFTER = re.compile(r" after a (loss or drain|loss|drain)")
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
    """Yield each word as a heading, and below it its reasons, the commonest first.

    While some rollouts fail, the matrix alone tells of workloads that fail only after a loss.
    """
    every = _told_reasons(simulation)
    open_cells = _unknown_cells(simulation)
    for word_, most in MOST_REASONS.items():
        of_word = [reason for reason in every if reason.word == word_]
        if word_ == UNKNOWN and open_cells and not of_word:
            head = palette.severity(_SEVERITIES[word_], _HEADS[word_])
            yield f"{head}{_of_cells(simulation)}: of workloads that fail; -v says why"
        for helps in (False, True):
            told = [reason for reason in of_word if _wants_nodes(reason) is helps]
            if told:
                more = UNLESS if helps else _of_cells(simulation) if word_ == UNKNOWN else ""
                head = palette.severity(_SEVERITIES[word_], _HEADS[word_])
                if word_ == UNKNOWN and len(told) == 1:
                    first, *rest = _of_one_reason(simulation, told[0], room)
                    yield from (first.replace(_HEADS[word_], head, 1), *rest)
                    continue
                yield f"{head}{more}"
                yield from _lines_of(simulation, told, most, room)


def _told_reasons(simulation: SimulationReport) -> Sequence[Reason]:
    """Return the reasons that the summary tells: while some rollouts fail, none of what fails only after a loss."""
    every = _once_each(simulation, _without_repeats(reasons(simulation)))
    if not any(map(_is_of_a_rollout, every)):
        return every
    return [_before_losses(reason) for reason in every if not _is_left_to_the_matrix(reason)]


def _is_left_to_the_matrix(reason: Reason) -> bool:
    return reason.word in _BAD_HERE and all(cell.event in LOSSES for cell in _cells_of(reason))


def _of_one_reason(simulation: SimulationReport, reason: Reason, room: int) -> Sequence[str]:
    """Return the only reason of unknown cells on the line of its heading.

    It names no workload where the matrix shows whose it is, and the number of cells only where that takes no line.
    """
    text = said(reason) if not _untold(simulation, [reason]) else _told(simulation, reason)
    told = (f"{_HEADS[UNKNOWN]}{cells}: {text}" for cells in (_of_cells(simulation), ""))
    return min((list(wrapped(each, room, 2)) for each in told), key=len)


def _lines_of(simulation: SimulationReport, told: Sequence[Reason], most: int, room: int) -> Iterator[str]:
    """Yield the reasons of a heading; what only comes later has its place where that takes no line of its own."""
    most += len(told) == most + 1  # a line that says so would be as long
    tellings = Counter(number for reason in told for number in reason.cells)
    for reason in told[:most]:
        is_one_of_several = any(tellings[number] > 1 for number in reason.cells)
        texts = [_told(simulation, reason, names_events=is_one_of_several)]
        if not _is_of_a_rollout(reason):
            texts.append(_told(simulation, reason, names_events=is_one_of_several, with_place=False))
        yield from min((list(wrapped(f"  {text}", room, 4)) for text in texts), key=len)
    if len(told) > most:
        left = {number for reason in told[most:] for number in reason.cells}
        rest = f"{many(len(left), 'workload')} for {many(len(told) - most, 'more reason')}: -v lists them"
        yield from wrapped(f"  {rest}", room, 4)


def _is_of_a_rollout(reason: Reason) -> bool:
    bad = reason.word in (FAILS, *_BAD_HERE)
    return bad and any(cell.event in ("deploy", "rollout") for cell in _cells_of(reason))


def _cells_of(reason: Reason) -> Sequence[Cell]:
    return [cell for cells in reason.cells.values() for cell in cells]


def _before_losses(reason: Reason) -> Reason:
    """Return the reason of what fails here or may fail without the losses of which the matrix tells.

    These are, where a rollout fails for this reason, those of workloads that do so only after a loss.
    """
    if reason.word not in _BAD_HERE:
        return reason
    early = {number: [c for c in cells if c.event not in LOSSES] for number, cells in reason.cells.items()}
    left = {number: cells for number, cells in early.items() if cells}
    if _is_of_a_rollout(reason):
        left = {number: reason.cells[number] for number in left}
    causes = {cause_of(cell) for cells in left.values() for cell in cells}  # without the numbers of the losses
    return Reason(reason.word, causes.pop() if len(causes) == 1 else reason.cause, left)


def _without_repeats(every: Iterable[Reason]) -> list[Reason]:
    """Return the reasons; a workload that fails is told of once, and not again where it fails here or is unknown."""
    kept: list[Reason] = []
    failing: set[int] = set()
    for reason in every:
        cells = dict(reason.cells)
        if reason.word == FAILS:
            failing.update(cells)
        elif reason.word in (FAILS_HERE, UNKNOWN):
            cells = {number: of_number for number, of_number in cells.items() if number not in failing}
        if cells:
            kept.append(Reason(reason.word, reason.cause, cells))
    return kept


def _once_each(simulation: SimulationReport, every: Iterable[Reason]) -> list[Reason]:
    """Return the reasons; one that a workload has in several environments stands once."""
    kept: dict[Hashable, Reason] = {}
    for reason in every:
        refs = {simulation.workloads[number].ref for number in reason.cells}
        key: Hashable = (reason.word, reason.cause, *(refs if len(refs) == 1 else reason.cells))
        known = kept.setdefault(key, reason)
        known.cells.update(reason.cells)
    return list(kept.values())


def _wants_nodes(reason: Reason) -> bool:
    return any(wants_nodes(cell) for cells in reason.cells.values() for cell in cells)


def _told(simulation: SimulationReport, reason: Reason, *, names_events: bool = False, with_place: bool = True) -> str:
    """Return ``shop/web (zone loss): CAUSE (PATH:LINE)``; more than one workload has no common line.

    The matrix marks the events of what fails from the start, and of what is unknown in many. ``names_events``: a
    workload has several reasons, which differ in their events.
    """
    names = names_of(simulation, reason.cells)
    whose = ", ".join(names) if len(names) <= SHOWN else many(len(names), "workload")
    cells = _cells_of(reason)
    events = {cell.event for cell in cells}
    is_of_few = not _is_of_a_rollout(reason) and len(events) <= SHOWN
    of_rows = (cell for row in simulation.rows if row.number in reason.cells for cell in row.cells)
    concerned = {cell.event for cell in of_rows if cell.verdict != NONE}
    says_when = is_of_few and not (len(simulation.events) > 1 and concerned == events)
    when = f" ({events_of(cells, simulation.events)})" if says_when or names_events else ""
    is_alone = len({simulation.workloads[number].ref for number in reason.cells}) == 1
    place = simulation.place(cells[0]) if is_alone and with_place else None
    line = f" ({at(place)})" if place is not None else ""
    return f"{whose}{when}: {said(reason)}{line}"


def worst(cells: Iterable[Cell]) -> str:
    """Return the word of a workload: that of its worst cell."""
    words = set(map(word, cells))
    return next((each for each in WORST_FIRST if each in words), NOT_CONCERNED)


def _counts(simulation: SimulationReport) -> str:
    """Return ``20 workloads (prod, staging): 1 fails, 3 may fail, 16 ok``, or ``3 workloads are ok``.

    Each counts once, whatever the number of its environments, by its worst cell; of those that fail here or may fail,
    it says how many do so only after a loss.
    """
    of_each: dict[ObjectRef, list[Cell]] = {}
    for row in simulation.rows:
        of_each.setdefault(simulation.workloads[row.number].ref, []).extend(row.cells)
    counts = Counter(worst(cells) for cells in of_each.values() if cells)
    told = f"{many(len(of_each), 'workload')}{f' ({first_few(simulation.environments)})' * bool(simulation.holds_in)}"
    later: dict[str, list[str]] = {}
    for cells in filter(None, of_each.values()):
        term = worst(cells)
        if worst(c for c in cells if c.event not in LOSSES) != term:
            later.setdefault(term, []).append(_after([c.event for c in cells if word(c) == term]))
    parts = [_part(term, counts[term], later.get(term, ())) for term in WORST_FIRST if counts[term]]
    if len(parts) == 1:
        are = "" if counts.keys() <= _FAILING.keys() else f"{plural(len(of_each), 'is', 'are')} "
        text = f"{told} {are}{parts[0].partition(' ')[2]}"
    else:
        text = f"{told}: {', '.join(parts)}"
    left_out = _leaves_losses_out(simulation)
    return _AFTER.sub(r"\g<0>, -v says why", text, count=1) if left_out else text


def _leaves_losses_out(simulation: SimulationReport) -> bool:
    """Whether the report tells no reason of some workloads that fail here, or may fail, after a loss."""
    every, told = reasons(simulation), _told_reasons(simulation)
    of_told = {simulation.workloads[number].ref for reason in told for number in reason.cells}
    return any(simulation.workloads[number].ref not in of_told for reason in every for number in reason.cells)


def _part(word_: str, count: int, later: Sequence[str]) -> str:
    """Return ``5 fail here (2 after a loss)``; ``later``: after what each of those does so that is better before."""
    when = later[0] if len(set(later)) == 1 else "loss or drain"
    only = f" ({len(later)} after a {when})" if word_ in _BAD_HERE and later else ""
    return f"{count} {_counted_as(word_, count)}{only}"


def _after(events: Sequence[str]) -> str:
    """Return ``drain`` for a workload of which only the drain ends so, else ``loss``."""
    return "drain" if set(events) == {"drain"} else "loss"


def _counted_as(word_: str, count: int) -> str:
    return plural(count, *_FAILING[word_]) if word_ in _FAILING else _STATES[word_]


def _of_cells(simulation: SimulationReport) -> str:
    """Return how many cells of the whole matrix are unknown: the exit code does not count them."""
    cells = sum(cell.verdict != NONE for cell in cells_shown(simulation))
    return f", {_unknown_cells(simulation):,} of {many(cells, 'cell')}"


def _untold(simulation: SimulationReport, told: Sequence[Reason]) -> int:
    """Return the number of unknown cells of workloads of which no reason tells."""
    listed = {simulation.workloads[number].ref for reason in told for number in reason.cells}
    of_others = (c for number, c in _numbered(simulation) if simulation.workloads[number].ref not in listed)
    return sum(cell.verdict == UNKNOWN for cell in of_others)


def _unknown_cells(simulation: SimulationReport) -> int:
    return sum(cell.verdict == UNKNOWN for cell in cells_shown(simulation))


def cells_shown(simulation: SimulationReport) -> Iterator[Cell]:
    """Yield the cells of the whole matrix, those that are alike in several environments once."""
    return (cell for _, cell in _numbered(simulation))


def _numbered(simulation: SimulationReport) -> Iterator[tuple[int, Cell]]:
    """Yield (number of the workload, cell) of each row of the matrix: what is alike in environments has one row."""
    for same in alike_rows(simulation, simulation.rows):
        yield from ((same[0].number, cell) for cell in same[0].cells)


def _assumed(simulation: SimulationReport) -> str:
    """Return one line about what the verdicts assume, and how to learn more."""
    holders = premises(simulation)
    total = sum(cell.verdict != NONE for row in simulation.rows for cell in row.cells)
    every = [premise for premise, cells in holders.items() if len(cells) == total][:1]
    more = len(holders) - len(every)
    also = f", and {more:,} more (-v)" if more else ""
    return f"assumes that {every[0]}{also}" if every else "-v says what is assumed"


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
