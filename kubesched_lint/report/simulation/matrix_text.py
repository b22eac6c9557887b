"""The matrix of ``simulate`` for a terminal: a row per workload, a column per event."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence

from kubesched_lint.commands.simulate.simulation_report import SimulationReport
from kubesched_lint.engine.base.places import ObjectRef
from kubesched_lint.engine.base.text import joined, many, shortened
from kubesched_lint.engine.events.answers.cells import UNKNOWN, Cell
from kubesched_lint.engine.events.start.simulated_set import LOSSES
from kubesched_lint.engine.verdicts.matrix import Row
from kubesched_lint.findings import Severity
from kubesched_lint.linter.environments.environments import unless_all, with_environments
from kubesched_lint.printing import visible
from kubesched_lint.report.limits import MOST_LINES
from kubesched_lint.report.terminal.cells import width, wrapped
from kubesched_lint.report.terminal.palette import Palette
from kubesched_lint.report.wording.verdict_words import (
    FAILS_HERE,
    LIKELY_OK,
    MAY_FAIL,
    NOT_CONCERNED,
    OK,
    event_title,
    mark,
    shade,
    signs,
    word,
)
from kubesched_lint.report.wording.words import short_names

_UNPROVEN = (FAILS_HERE, MAY_FAIL)
_AFTER_LOSS, _AFTER_DRAIN = "fails here or may fail after a loss", "fails here or may fail after a drain"
"""Of a workload that is ok until nodes are lost, or until one is drained."""
_LATER = (_AFTER_LOSS, _AFTER_DRAIN)
_QUIET = frozenset({OK, LIKELY_OK, NOT_CONCERNED, UNKNOWN, *_LATER})
_GAP = 2
"""Blanks between columns where a line has room for them."""
_NAME_CELLS = 16
"""Cells that a name keeps; if a line has room for fewer, the matrix comes in several blocks."""


def matrix(
    simulation: SimulationReport, palette: Palette, room: int, *, every_row: bool, says_signs: bool
) -> Iterator[str]:
    """Yield the matrix, in several blocks if the terminal is too narrow for all events; then what its signs mean."""
    rows = list(simulation.rows)
    folded = {} if every_row or len(rows) <= MOST_LINES else _folded(simulation)
    shown = [row for row in rows if _ref(simulation, row) not in folded]
    yield from _table(simulation, shown, palette, room)
    if folded:
        yield from wrapped(_of_folded(list(folded.values())), room, 2)
    meanings = signs(cell for row in shown for cell in row.cells) if says_signs else ""
    if meanings:
        yield from map(palette.dim, wrapped(meanings, room, 2))


def _ref(simulation: SimulationReport, row: Row) -> ObjectRef:
    return simulation.workloads[row.number].ref


def _folded(simulation: SimulationReport) -> Mapping[ObjectRef, str]:
    """Return the workloads that a long matrix leaves out → the least certain word of their cells.

    Those that are ok; beside one that fails, also those of which nothing bad is known but that a loss may leave short.
    """
    words: dict[ObjectRef, set[str]] = {}
    for row in simulation.rows:
        words.setdefault(_ref(simulation, row), set()).update(map(_told, row.cells))
    quiet = {ref: each for ref, each in words.items() if each <= _QUIET}
    doubts = (*_LATER, UNKNOWN, LIKELY_OK)
    least = {ref: next((doubt for doubt in doubts if doubt in each), OK) for ref, each in quiet.items()}
    is_bad = any(ref not in quiet for ref in words)
    return {ref: summary for ref, summary in least.items() if summary not in (*_LATER, UNKNOWN) or is_bad}


def _told(cell: Cell) -> str:
    if word(cell) in _UNPROVEN and cell.event in LOSSES:
        return _AFTER_DRAIN if cell.event == "drain" else _AFTER_LOSS
    return word(cell)


def _of_folded(words: Sequence[str]) -> str:
    """Return ``not shown: 5 workloads ok in every event, 2 of them likely (ok~), and 3 ok or unknown (--all)``."""
    unknown, likely = words.count(UNKNOWN), words.count(LIKELY_OK)
    later = {until: words.count(each) for until, each in zip(("loss", "drain"), _LATER, strict=True) if each in words}
    some = f" ({likely} ok~)" if likely and later else f", {likely} of them likely (ok~)" if likely else ""
    fine = len(words) - unknown - sum(later.values())
    when = "" if later else " in every event"
    parts = [f"{many(fine, 'workload')} ok{when}{some}"] if fine else []
    parts += [f"{unknown if parts else many(unknown, 'workload')} ok or unknown"] if unknown else []
    for until, count in later.items():
        parts.append(f"{count if parts else many(count, 'workload')} ok until a {until}")
    return f"not shown: {joined(parts)} (--all)"


def names_of(simulation: SimulationReport, numbers: Collection[int]) -> Sequence[str]:
    """Return the names of some workloads; one that is told of in several environments stands once, with all of them."""
    return _with_environments(simulation, _plain_names(simulation), numbers)


def _with_environments(simulation: SimulationReport, names: Sequence[str], numbers: Collection[int]) -> Sequence[str]:
    where = simulation.holds_in
    environments: dict[str, dict[str, None]] = {}
    for number in numbers:
        environments.setdefault(names[number], {}).update(dict.fromkeys(where.get(number, ())))
    every = simulation.environments
    return [visible(with_environments(n, unless_all(tuple(each), every))) for n, each in environments.items()]


def _plain_names(simulation: SimulationReport) -> Sequence[str]:
    refs = [workload.ref for workload in simulation.workloads]
    names = short_names(refs)
    return [names[ref] for ref in refs]


def environments_of(simulation: SimulationReport, alike: Sequence[Row]) -> list[str]:
    """Return the environments that the rows hold in; empty for all of them."""
    each = dict.fromkeys(name for row in alike for name in simulation.holds_in.get(row.number, ()))
    return list(unless_all(tuple(each), simulation.environments))


def title_of(simulation: SimulationReport, alike: Sequence[Row]) -> str:
    """Return ``Deployment shop/web (prod)``."""
    return with_environments(str(simulation.workloads[alike[0].number]), environments_of(simulation, alike))


def alike_rows(simulation: SimulationReport, rows: Sequence[Row]) -> list[list[Row]]:
    """Return the rows in groups: those of one workload whose marks are the same in several environments."""
    if not simulation.holds_in:
        return [[row] for row in rows]
    alike: dict[Hashable, list[Row]] = {}
    for row in rows:
        key = (simulation.workloads[row.number].ref, *map(mark, row.cells))
        alike.setdefault(key, []).append(row)
    return list(alike.values())


def _once_each(simulation: SimulationReport, rows: Sequence[Row]) -> Mapping[str, Row]:
    """Return name → row, one for rows that are alike."""
    names = _plain_names(simulation)
    groups = alike_rows(simulation, rows)
    return {_with_environments(simulation, names, [row.number for row in same])[0]: same[0] for same in groups}


def _table(simulation: SimulationReport, rows: Sequence[Row], palette: Palette, room: int) -> Iterator[str]:
    if not rows:
        return
    named = _once_each(simulation, rows)
    rows = list(named.values())
    columns = [
        [*_heads(event_title(event)), *(visible(mark(row.cells[i])) for row in rows)]
        for i, event in enumerate(simulation.events)
    ]
    widths = [max(map(width, column)) for column in columns]
    stubs, gap = list(named), _GAP
    left = room - sum(widths)
    if room and max(map(width, stubs)) > left - gap * len(widths):
        gap = 1  # a line for each namespace takes more of a screen
        if max(map(width, stubs)) > left - gap * len(widths):
            stubs = _below_namespaces(simulation, named, left - gap * len(widths))
    yield from _blocks(columns, widths, stubs, rows, palette, room, gap)


def _below_namespaces(simulation: SimulationReport, named: Mapping[str, Row], most: int) -> list[str]:
    """Return the names without their namespaces where one stands above; what is longer than ``most`` is cut."""
    stubs, above = [], ""
    for name, row in named.items():
        namespace = simulation.workloads[row.number].ref.namespace
        is_new, above = namespace != above, namespace
        short = f"  {name.replace(f'{namespace}/', '', 1)}"
        if most >= _NAME_CELLS:
            short = shortened(short, most)
        stubs.append(f"{namespace}\n{short}" if is_new else short)
    return stubs


def _blocks(
    columns: Sequence[Sequence[str]],
    widths: Sequence[int],
    stubs: Sequence[str],
    rows: Sequence[Row],
    palette: Palette,
    room: int,
    gap: int,
) -> Iterator[str]:
    """Yield the rows below their heads; once more for the columns that a line has no room for."""
    stub = max(width(part) for each in stubs for part in each.split("\n"))
    start = 0
    while start < len(columns):
        end, taken = start + 1, stub + gap + widths[start]
        while end < len(columns) and (not room or taken + gap + widths[end] <= room):
            taken += gap + widths[end]
            end += 1
        if start:
            yield ""
        for number, named in enumerate(("", "", *stubs)):
            texts = [_right(columns[i][number], widths[i]) for i in range(start, end)]
            if number < 2:
                texts = [palette.bold(text) if text.strip() else text for text in texts]
            else:
                texts = [_painted(text, rows[number - 2].cells[start + i], palette) for i, text in enumerate(texts)]
            above, _, name = named.rpartition("\n")
            if above:
                yield palette.bold(above)
            line = (" " * gap).join((name + " " * (stub - width(name)), *texts)).rstrip()
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
