"""Details of the matrix's cells: reasons, traces, lines to blame and missing facts.

Text groups the cells of a workload that have the same reason. A trace that several cells share is printed once and then
named by its number.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from kubesched_lint.commands.simulate.simulation_report import SimulationReport
from kubesched_lint.engine.base.text import brief, many
from kubesched_lint.engine.events.answers.cells import BY_SCORES, NONE, REFUSED, UNKNOWN, Cell, Witness
from kubesched_lint.engine.verdicts.at_once import AtOnce
from kubesched_lint.report.simulation.cell_reasons import whole_reason
from kubesched_lint.report.terminal.cells import wrapped
from kubesched_lint.report.terminal.palette import Palette
from kubesched_lint.report.wording.verdict_words import event_title, mark, needs_a_word, verdict_words
from kubesched_lint.report.wording.words import at

_WELL = "one way it ends well"


def _bad_end(cell: Cell) -> str:
    """Return the label of a trace that ends badly."""
    return "one way it ends badly" + (", with other scores" if cell.verdict == BY_SCORES else "")


# --- one cell, for pages ----------------------------------------------------------------------------------------------


def behind(simulation: SimulationReport, cell: Cell) -> Iterator[tuple[str, str]]:
    """Yield (label, text); the lines of a trace share one label."""
    if cell.why:
        yield "because", whole_reason(cell)
    place = simulation.place(cell)
    if place is not None:
        yield "line", at(place)
    if cell.message:
        yield cell.says, cell.message
    for label, witness in ((_bad_end(cell), cell.worst), (_WELL, cell.best)):
        yield from ((label, line) for line in (witness.lines if witness is not None else ()))
    yield from (("missing", missing) for missing in cell.missing)
    yield from (("assumes", premise) for premise in cell.assumes)


# --- all cells, for the terminal --------------------------------------------------------------------------------------


class _PrintedTraces:
    """The traces that the report has already printed, and their numbers."""

    def __init__(self, groups: Iterable[Sequence[Cell]]) -> None:
        firsts = (_first([(c, end(c)) for c in group]) for group in groups for end in (_worst, _best))
        witnesses = [first[1] for first in firsts if first is not None]
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


def details(simulation: SimulationReport, palette: Palette, room: int = 0, *, every_row: bool = False) -> Iterator[str]:
    """Yield the details of each workload's cells, wrapped at ``room`` cells (0: no wrapping).

    ``every_row``: also of workloads that are ok in every event.
    """
    blocks = [(row, _by_reason(simulation, _told(row.cells, every_row))) for row in simulation.rows]
    printed = _PrintedTraces([group for _, groups in blocks for group in groups])
    for row, groups in blocks:
        if groups or every_row:
            yield ""
            yield palette.bold(simulation.named(row, str(simulation.workloads[row.number])))
        for group in groups:
            for line, hang in _group(simulation, group, printed):
                yield from wrapped(brief(line), room, hang)
        if every_row:
            for limit in (limit for limit in row.at_once if limit.wanted > 1):
                yield from wrapped(f"  at once: {taken_at_once(limit)}", room, 4)


def taken_at_once(limit: AtOnce) -> str:
    """Return it in words: ``the loss of one node may take 1 of 3 pods (anti-affinity over …); today 1``."""
    because = f" ({limit.because})" if limit.is_limited else ", and no hard rule keeps them apart"
    if limit.taken > limit.most:
        because = f" ({limit.because} lets in {limit.most}, but moves none that runs)"
    today = "" if limit.today is None else f"; the worst {limit.domain} has {limit.today} of them today"
    taken = f"{limit.taken} of {many(limit.wanted, 'pod')}"
    return f"the loss of one {limit.domain} may take {taken}{because}{today}"


def _told(cells: Sequence[Cell], is_sought: bool) -> Sequence[Cell]:
    """Return the cells that need a word; of a workload that is sought, all if none does."""
    open_ = [cell for cell in cells if needs_a_word(cell)]
    return open_ or [cell for cell in cells if is_sought and cell.verdict != NONE]


def _by_reason(simulation: SimulationReport, cells: Sequence[Cell]) -> list[list[Cell]]:
    groups: dict[object, list[Cell]] = {}
    for cell in cells:
        key = (cell.verdict, cell.proven, cell.why, simulation.place(cell), cell.missing)
        groups.setdefault(key, []).append(cell)
    return list(groups.values())


def _group(simulation: SimulationReport, group: Sequence[Cell], printed: _PrintedTraces) -> Iterator[tuple[str, int]]:
    """Yield (line, indent of its continuation lines in cells) for a group of cells."""
    first = group[0]
    every = first.verdict == REFUSED
    verdict = verdict_words(first)
    ends = (f"{event_title(c.event)} {_with_bound(c)}".removesuffix(f" {verdict}") for c in group)  # not "ok: ok"
    yield f"  {'every event' if every else ', '.join(ends)}: {verdict}", 4
    if first.why:
        yield f"    because: {whole_reason(first)}", 6
    place = simulation.place(first)
    if place is not None:
        yield f"    line: {at(place)}:{place.span.column}", 6
    yield from _message(group)
    yield from _trace(_bad_end(first), [(c, _worst(c)) for c in group], printed)
    yield from _trace(_WELL, [(c, _best(c)) for c in group], printed)
    for missing in first.missing:
        yield f"    missing: {missing}", 6


def _with_bound(cell: Cell) -> str:
    """Return the mark; with the known range, if the verdict is unknown."""
    if cell.verdict != UNKNOWN or (cell.bound.least == 0 and cell.bound.most >= cell.wanted):
        return mark(cell)
    return f"{mark(cell)} ({cell.bound} of {cell.wanted} run)"


def _message(group: Sequence[Cell]) -> Iterator[tuple[str, int]]:
    """Yield the message of Kubernetes that is the commonest in the group."""
    counts = Counter((cell.says, cell.message) for cell in group if cell.message)
    for (says, message), _ in counts.most_common(1):
        events = [event_title(cell.event) for cell in group if cell.message == message]
        after = f" after {', '.join(events)}" if len(counts) > 1 else ""
        yield f"    {says}{after}: {message}", 6


def _worst(cell: Cell) -> Witness | None:
    return cell.worst


def _best(cell: Cell) -> Witness | None:
    return cell.best


def _first(ends: Sequence[tuple[Cell, Witness | None]]) -> tuple[Cell, Witness] | None:
    return next(((cell, witness) for cell, witness in ends if witness is not None), None)


def _trace(
    heading: str, ends: Sequence[tuple[Cell, Witness | None]], printed: _PrintedTraces
) -> Iterator[tuple[str, int]]:
    """Yield one trace of the group, that of its first event."""
    first_end = _first(ends)
    if first_end is None:
        return
    cell, witness = first_end
    of_event = f" ({event_title(cell.event)})" if len(ends) > 1 else ""
    yield f"    {heading}{of_event}:", 6
    for line in printed.lines(witness):
        yield f"      {line}", 8
