"""The report of ``simulate``: the matrix, its legend, details of its cells, skews and pictures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kubesched_lint.commands.simulate.proven_by_rules import Shortage
from kubesched_lint.commands.simulate.short_set import ShortAfterLoss
from kubesched_lint.commands.simulate.simulation_report import SimulationReport
from kubesched_lint.engine.base.places import Location
from kubesched_lint.engine.base.text import many
from kubesched_lint.engine.cluster.cluster import MAY_ADD_NODES, NO_MORE_NODES
from kubesched_lint.engine.events.answers.cells import NONE, UNKNOWN, Cell
from kubesched_lint.engine.model.nodes.node import ZONE
from kubesched_lint.engine.runs.skew import Skew, skew_of
from kubesched_lint.findings import Severity
from kubesched_lint.linter.environments.environments import with_environments
from kubesched_lint.printing import json_text, visible
from kubesched_lint.report.simulation.cell_details import details
from kubesched_lint.report.simulation.cell_reasons import UNLESS, whole_reason
from kubesched_lint.report.simulation.cluster_picture import drawn, legend
from kubesched_lint.report.simulation.matrix_text import matrix
from kubesched_lint.report.simulation.summary import cells_shown, premises, summary
from kubesched_lint.report.terminal.cells import width, wrapped
from kubesched_lint.report.terminal.palette import Palette
from kubesched_lint.report.wording.verdict_words import (
    MEANING_OF_UNREACHABLE,
    MEANINGS,
    NOT_CONCERNED_MARK,
    UNREACHABLE_MARK,
    WORST_FIRST,
    event_title,
    mark,
    needs_a_word,
    word,
)
from kubesched_lint.report.wording.words import environment_keys, esc


def as_text(
    simulation: SimulationReport,
    *,
    color: bool = False,
    matrix_only: bool = False,
    verbose: bool = False,
    every_row: bool = False,
    room: int = 0,
) -> str:
    """Return the text for lines of ``room`` cells (0: no limit), without a newline at the end.

    ``matrix_only`` leaves out reasons, counts and premises; ``verbose`` adds to each reason its traces, and lists all
    that is assumed.
    """
    palette, every_row = Palette(color), every_row or verbose
    show = _verbose if verbose else summary
    lines = iter(()) if matrix_only else show(simulation, palette, room)
    head = _head(simulation, palette, room, every_row, says_signs=not (matrix_only or verbose))
    return "\n".join((*head, *lines, *_end(simulation, palette, room, verbose)))


def explained(simulation: SimulationReport, *, color: bool = False, room: int = 0) -> str:
    """Return the reasons, messages and traces of the rows, without the matrix, and what could not be read."""
    palette = Palette(color)
    told = list(details(simulation, palette, room, every_row=True))[1:]  # begins with an empty line
    return "\n".join((*told, *_premises(simulation, room), *_errors(simulation)))


def _head(
    simulation: SimulationReport, palette: Palette, room: int, every_row: bool, *, says_signs: bool
) -> Iterator[str]:
    for shortage in simulation.shortages:
        yield from (palette.severity(Severity.ERROR, line) for line in wrapped(_short(shortage), room, 2))
    for short in simulation.short_after_losses:
        yield from (palette.severity(Severity.WARNING, line) for line in wrapped(_short_after(short), room, 2))
    if simulation.rows:
        if simulation.shortages or simulation.short_after_losses:
            yield ""
        yield from matrix(simulation, palette, room, every_row=every_row, says_signs=says_signs)
    elif not simulation.errors:
        yield "no workload: nothing to simulate"


def _verbose(simulation: SimulationReport, palette: Palette, room: int) -> Iterator[str]:
    yield from _how_to_read(simulation, palette, room)
    yield from details(simulation, palette, room)
    for entry in simulation.skews:
        if all(sum(counts) < 2 for counts, _ in entry.skew.ends):
            continue  # of one pod, or none, nothing is uneven
        yield ""
        yield from _skew(with_environments(str(entry.workload), entry.environments), entry.skew)
    yield from _premises(simulation, room)
    yield from _not_known(simulation, room)


def _pictured(simulation: SimulationReport, palette: Palette, room: int) -> Iterator[str]:
    if simulation.before is not None and simulation.after is not None:
        yield ""
        yield from _pictures(simulation, palette, room)


def _end(simulation: SimulationReport, palette: Palette, room: int, verbose: bool) -> Iterator[str]:
    yield from _pictured(simulation, palette, room)
    yield from _errors(simulation)
    told = set(simulation.background)
    if verbose:  # a premise says the same of the cells that rest on it
        rest_on_nodes = any(premise.startswith(NO_MORE_NODES) for premise in premises(simulation))
        told = {note for note in told if rest_on_nodes and note.startswith(MAY_ADD_NODES)}
    notes = [note for note in simulation.notes if note not in told]
    if simulation.refused or notes:
        yield ""
        for note in (*simulation.refused, *notes):
            yield from wrapped(f"note: {note}", room, 6)


def _errors(simulation: SimulationReport) -> Iterator[str]:
    return (visible(f"error: {error.place}: {error.message}") for error in simulation.errors)


def _short(shortage: Shortage) -> str:
    place = shortage.location
    message = with_environments(shortage.message, shortage.environments)
    return visible(f"{message}  {place.path}:{place.span.line}")


def _short_after(short: ShortAfterLoss) -> str:
    told, order, rest = short.message.partition("; the order decides")
    unless = UNLESS if short.is_elastic else ""
    return visible(with_environments(f"{told}{unless}{order}{rest}", short.environments))


# --- how to read it -------------------------------------------------------------------------------------------------


def _how_to_read(simulation: SimulationReport, palette: Palette, room: int) -> Iterator[str]:
    """The legend, with only the terms that this report uses."""
    terms = dict(_terms([c for row in simulation.rows for c in row.cells]))
    if not terms:
        return
    yield ""
    wide = max(map(width, terms))
    for term, meaning in terms.items():
        for line in wrapped(f"  {term + ' ' * (wide - width(term))}  {meaning}", room, wide + 4):
            yield palette.dim(line)


def _terms(cells: Sequence[Cell]) -> Iterator[tuple[str, str]]:
    """Yield the words that the report uses, and the terms of its reasons, each with its meaning."""
    for term in WORST_FIRST:
        of_word = [cell for cell in cells if word(cell) == term]
        if of_word and term in MEANINGS:
            yield f"{term} ({_shown_as(of_word)})", MEANINGS[term] + _more_states(of_word)
    marks = {mark(c).removesuffix(f" {UNREACHABLE_MARK}") for c in cells}
    shown = {each.removesuffix("!").partition(",")[0] for each in marks}
    yield from ((text, meaning) for text, meaning in _WORDS if text in shown)
    if any(mark(c).endswith(f" {UNREACHABLE_MARK}") for c in cells):
        yield UNREACHABLE_MARK, MEANING_OF_UNREACHABLE
    unready = next((c for c in cells if c.ready is not None), None)
    if unready is not None:
        yield (
            f"{unready.ready}/{unready.wanted} ready",
            "number of ready pods in the end, if new pods never become ready",
        )
    why = " ".join(f"{c.why} {' '.join(c.missing)}" for c in cells if needs_a_word(c))
    yield from ((term, meaning) for term, meaning in _TERMS if term in why)


def _shown_as(cells: Sequence[Cell]) -> str:
    """Return the marks of the first cells that differ: ``3/6!, stuck!``."""
    return ", ".join(list(dict.fromkeys(map(mark, cells)))[:2])


def _more_states(cells: Sequence[Cell]) -> str:
    further = any("--states" in m for c in cells for m in c.missing)
    return "; a larger --states extends the search and takes longer" if further else ""


_WORDS = (
    ("stuck", "the rollout never ends: no new pod can run, and no old pod may be deleted"),
    ("ok/stuck", "in some orders of events the rollout never ends"),
    ("blocked", "a disruption budget keeps the drain from ending"),
    ("ok/blocked", "in some orders, or on some nodes, a disruption budget keeps the drain from ending"),
    ("OnDelete", "pods are replaced only when somebody deletes them"),
    (NOT_CONCERNED_MARK, "the event does not affect the workload, or it has no autoscaler"),
)
_TERMS = (("random trace", "one random order of events, simulated with the exact scheduler: an example, not a proof"),)


def _premises(simulation: SimulationReport, room: int) -> Iterator[str]:
    """The assumptions of the verdicts; one that holds for some cells only names the first of them."""
    holders = premises(simulation)
    total = sum(cell.verdict != NONE for row in simulation.rows for cell in row.cells)
    if not holders:
        return
    yield ""
    yield "these verdicts assume that"
    for premise, cells in holders.items():
        whose = f"{cells[0]}, …" if len(cells) > 1 else cells[0]
        only = "" if len(cells) == total else f" ({whose})"
        yield from wrapped(f"  - {premise}{only}", room, 4)


def _not_known(simulation: SimulationReport, room: int) -> Iterator[str]:
    """The number of cells with a question mark, because the exit code does not count them."""
    cells = [cell for cell in cells_shown(simulation) if cell.verdict != NONE]
    unknown = sum(cell.verdict == UNKNOWN for cell in cells)
    if unknown:
        yield ""
        text = f"unknown: {unknown:,} of {many(len(cells), 'cell')} (?), which the exit code does not count"
        yield from wrapped(text, room, 2)


# --- skew -----------------------------------------------------------------------------------------------------------


def _skew(workload: str, skew: Skew) -> Iterator[str]:
    pods = f"{visible(workload)}: pods per {visible(skew.topology_key)}"
    yield f"{pods} after {event_title(skew.event)}, in {skew.runs} random runs"
    yield f"  {'/'.join(map(visible, skew.domains))}"
    for counts, _ in skew.ends:  # how often is no probability
        apart = "/".join(map(str, skew_of(counts)))
        yield f"  {'/'.join(map(str, counts))}  (skews {apart})"


# --- pictures -------------------------------------------------------------------------------------------------------


def _pictures(simulation: SimulationReport, palette: Palette, room: int) -> Iterator[str]:
    assert simulation.before is not None
    assert simulation.after is not None
    yield from wrapped(legend(simulation.workloads, (simulation.before, simulation.after)), room, 2)
    if simulation.before.key != ZONE:
        yield f"nodes by {visible(simulation.before.key)}"
    yield f"before {event_title(simulation.pictured)}:"
    yield from drawn(simulation.before, palette, room)
    yield f"after {event_title(simulation.pictured)}:"
    yield from drawn(simulation.after, palette, room)


# --- for machines and pages -----------------------------------------------------------------------------------------


def as_json(simulation: SimulationReport) -> str:
    """Return one JSON object: ``workloads``, each with its ``cells``; ``skews``; ``notes`` and ``errors``.

    What holds in some environments only has one entry for each; what holds in all of them stands once and names none.
    """
    value = {
        "workloads": [
            {
                "object": str(simulation.workloads[r.number]),
                **environment,
                "cells": [_cell(simulation, c) for c in r.cells],
                "atOnce": [
                    {"domain": limit.domain, "most": limit.taken, "wanted": limit.wanted, "today": limit.today}
                    for limit in r.at_once
                ],
            }
            for r in simulation.rows
            for environment in environment_keys(simulation.where(r))
        ],
        "skews": [
            {
                "object": str(t.workload),
                "topologyKey": t.skew.topology_key,
                "event": t.skew.event,
                "domains": t.skew.domains,
                "runs": t.skew.runs,
                "ends": [{"pods": counts, "times": times} for counts, times in t.skew.ends],
                **environment,
            }
            for t in simulation.skews
            for environment in environment_keys(t.environments)
        ],
        **_of_the_set(simulation),
        "refused": simulation.refused,
        "notes": simulation.notes,
        "errors": [{"path": e.path, "line": e.line, "message": e.message} for e in simulation.errors],
    }
    return json_text(value, 2)


def _of_the_set(simulation: SimulationReport) -> dict[str, object]:
    """Return what no workload lacks alone."""
    return {
        "shortages": [
            {
                "message": shortage.message,
                "because": shortage.evidence.text,
                "objects": list(map(str, shortage.workloads)),
                "assumes": shortage.evidence.assumes,
                "at": _place(shortage.location),
                **environment,
            }
            for shortage in simulation.shortages
            for environment in environment_keys(shortage.environments)
        ],
        "shortAfterLosses": [
            {
                "event": short.event,
                "message": short.message,
                "because": short.because,
                "lost": short.lost,
                "waiting": short.waiting,
                "objects": list(map(str, short.workloads)),
                "assumes": short.assumes,
                **environment,
            }
            for short in simulation.short_after_losses
            for environment in environment_keys(short.environments)
        ],
    }


def _place(place: Location) -> dict[str, object]:
    return {"path": place.path, "line": place.span.line, "column": place.span.column}


def _cell(simulation: SimulationReport, cell: Cell) -> dict[str, object]:
    ends = {"deleted": cell.deleted, "unreachable": cell.unreachable}
    both = {name: None if end is None else _end_of_loss(end) for name, end in ends.items()}
    return {**_told_of(simulation, cell), **both}


def _end_of_loss(cell: Cell) -> dict[str, object]:
    return {
        "verdict": cell.verdict,
        "text": cell.text,
        "bound": {"min": cell.bound.least, "max": cell.bound.most, "by": cell.bound.by},
        "proven": cell.proven,
        "because": whole_reason(cell),
        "missing": cell.missing,
    }


def _told_of(simulation: SimulationReport, cell: Cell) -> dict[str, object]:
    place = simulation.place(cell)
    return {
        "event": cell.event,
        "verdict": cell.verdict,
        "text": cell.text,
        "wanted": cell.wanted,
        "bound": {"min": cell.bound.least, "max": cell.bound.most, "by": cell.bound.by},
        "ready": None if cell.ready is None else {"min": cell.ready.least, "max": cell.ready.most},
        "stuck": cell.stuck,
        "proven": cell.proven,
        "because": whole_reason(cell),
        "message": cell.message,
        "says": cell.says if cell.message else "",
        "at": None if place is None else _place(place),
        "worst": None if cell.worst is None else cell.worst.lines,
        "best": None if cell.best is None else cell.best.lines,
        "missing": cell.missing,
        "assumes": cell.assumes,
    }


def as_html_fragment(simulation: SimulationReport) -> str:
    """Return a table for a page: each cell has its verdict as class and the reason as title."""
    head = "".join(f"<th>{esc(event_title(e))}</th>" for e in simulation.events)
    rows = []
    for row in simulation.rows:
        workload = simulation.workloads[row.number]
        cells = "".join(f'<td class="{c.verdict}" title="{esc(c.why)}">{esc(mark(c))}</td>' for c in row.cells)
        name = esc(simulation.named(row, workload.ref.title))
        rows.append(f"<tr><th>{name}</th><td>{workload.ref.kind}</td>{cells}</tr>")
    body = "\n".join(rows)
    told = [*map(_short, simulation.shortages), *map(_short_after, simulation.short_after_losses)]
    short = "".join(f"<p>{esc(line)}</p>\n" for line in (*told, *_errors(simulation)))
    return f'{short}<table class="kubesched-matrix">\n<tr><th></th><th></th>{head}</tr>\n{body}\n</table>'
