"""The matrix of events as an HTML table; every cell opens to show its reasons."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from kubesched_lint.commands.simulate.simulation_report import SimulationReport
from kubesched_lint.engine.base.places import ObjectRef
from kubesched_lint.engine.base.text import many, shortened
from kubesched_lint.engine.events.answers.cells import (
    BAD,
    BY_SCORES,
    DEPENDS,
    FINE,
    LIKELY,
    NONE,
    REFUSED,
    UNKNOWN,
    Cell,
)
from kubesched_lint.engine.verdicts.matrix import Row
from kubesched_lint.report.simulation.cell_details import behind
from kubesched_lint.report.simulation.matrix_text import alike_rows, environments_of, title_of
from kubesched_lint.report.wording.verdict_words import (
    AVOIDED,
    BAD_HERE,
    FAILS,
    FAILS_HERE,
    LIKELY_OK,
    MAY_FAIL,
    MEANINGS,
    OK,
    event_title,
    mark,
    needs_a_word,
    shade,
    signs,
    verdict_words,
)
from kubesched_lint.report.wording.words import esc

_SIGNS = {
    FINE: "✓",
    LIKELY: "✓",
    BAD: "✕",
    BAD_HERE: "✕",
    DEPENDS: "~",
    BY_SCORES: "≈",
    UNKNOWN: "?",
    REFUSED: "⊘",
    NONE: "",
}
_KEY = (
    (FINE, OK),
    (LIKELY, LIKELY_OK),
    (REFUSED, REFUSED),
    (BAD, FAILS),
    (BAD_HERE, FAILS_HERE),
    (DEPENDS, MAY_FAIL),
    (BY_SCORES, MAY_FAIL),
    (UNKNOWN, UNKNOWN),
)


def table(simulation: SimulationReport, errors: Collection[ObjectRef]) -> Iterator[str]:
    """Yield the table: rows that need an explanation first; a hidden row below each has the details of its cells.

    ``errors`` are the objects with errors: only their cells have the colour of errors.
    """
    rows = sorted(simulation.rows, key=lambda row: not any(map(needs_a_word, row.cells)))
    common = _common(rows)
    heads = "".join(f'<th scope="col">{esc(event_title(event))}</th>' for event in simulation.events)
    head = f'<thead><tr><th scope="col">workload</th>{heads}</tr></thead>'
    yield f'<div class="scroll"><table class="matrix">{head}<tbody>\n'
    groups = alike_rows(simulation, rows)
    names = [title_of(simulation, alike) for alike in groups]
    for alike, name in zip(groups, names, strict=True):
        yield from _row(simulation, alike, common, errors, several=names.count(name) > 1)
    yield "</tbody></table></div>\n"
    shades = {each for row in rows for each in _shades(simulation, row, errors)}
    key = "".join(
        f'<li class="{v}"><b>{_SIGNS[v]}</b> {esc(_meaning(v, words))}</li>' for v, words in _KEY if v in shades
    )
    yield f'<ul class="key">{key}</ul>\n'
    if meanings := signs(cell for row in rows for cell in row.cells):
        yield f'<p class="premises">{esc(meanings)}</p>\n'
    if simulation.holds_in:
        every = f"{len(simulation.environments)} environments: {', '.join(simulation.environments)}"
        yield f'<p class="premises">A row that names none holds in all {esc(every)}.</p>\n'
    if common:
        yield f'<p class="premises">All cells assume: {esc("; ".join(common))}.</p>\n'


def _meaning(its_shade: str, words: str) -> str:
    if its_shade == BY_SCORES:
        return f"{words}: {AVOIDED}, as far as simulated"
    return f"{words}: {MEANINGS[words]}"


def _common(rows: Sequence[Row]) -> tuple[str, ...]:
    """The premises that all cells share."""
    cells = [cell for row in rows for cell in row.cells if cell.verdict != NONE]
    if not cells:
        return ()
    return tuple(premise for premise in cells[0].assumes if all(premise in cell.assumes for cell in cells))


def _shades(simulation: SimulationReport, row: Row, errors: Collection[ObjectRef]) -> list[str]:
    is_error = simulation.workloads[row.number].ref in errors
    return [shade(cell, is_error=is_error) for cell in row.cells]


def _row(
    simulation: SimulationReport,
    alike: Sequence[Row],
    common: Collection[str],
    errors: Collection[ObjectRef],
    *,
    several: bool,
) -> Iterator[str]:
    """The row of one workload, with its file where ``several`` have one name; rows that are ``alike`` are one."""
    row, environments = alike[0], environments_of(simulation, alike)
    workload = simulation.workloads[row.number]
    shades = _shades(simulation, row, errors)
    shown = "".join(_cell(cell, shades[i], f"c{row.number}-{i}") for i, cell in enumerate(row.cells))
    ref = workload.ref
    name = f'<span class="name">{esc(ref.namespace)}/<wbr>{esc(ref.name)}</span>'
    file = workload.source.path if workload.source is not None else ""
    whole = f"{many(len(environments), 'environment')}: " if len(environments) > 1 else ""
    where = [f"{whole}{', '.join(environments)}", *([shortened(file, 40)] if several else [])]
    kind = " · ".join((ref.kind, *filter(None, where)))
    own = ", ".join(simulation.holds_in.get(row.number, ()))
    of_first = f"<dt>where</dt><dd>the details are of {esc(own)}</dd>" if len(alike) > 1 else ""
    yield f'<tr><th scope="row" title="{esc(file)}">{name} <small>{esc(kind)}</small></th>{shown}</tr>\n'
    for i, (event, cell) in enumerate(zip(simulation.events, row.cells, strict=True)):
        if cell.verdict != NONE:
            title = f"{esc(title_of(simulation, alike))}, {esc(event_title(event))}: {esc(mark(cell))}"
            lines = "".join(_lines(simulation, cell, common)) + of_first
            yield (
                f'<tr class="behind {shades[i]}" id="c{row.number}-{i}" hidden><td colspan="{len(row.cells) + 1}">'
                f"<h4>{title} <small>{esc(verdict_words(cell))}</small></h4><dl>{lines}</dl></td></tr>\n"
            )


def _cell(cell: Cell, its_shade: str, target: str) -> str:
    if cell.verdict == NONE:
        return f'<td class="none">{esc(mark(cell))}</td>'
    sign, text = _SIGNS[its_shade], mark(cell)
    return (
        f'<td class="{its_shade}"><button type="button" aria-expanded="false" aria-controls="{target}">'
        f"<b>{sign}</b> {esc(text.removeprefix(sign).strip())}</button></td>"  # a question mark is both
    )


def _lines(simulation: SimulationReport, cell: Cell, common: Collection[str]) -> Iterator[str]:
    previous = ""
    for label, text in behind(simulation, cell):
        if label == "assumes" and text in common:
            continue
        yield f"<dt>{esc(label) if label != previous else ''}</dt><dd>{esc(text)}</dd>"
        previous = label
