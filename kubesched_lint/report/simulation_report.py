"""The report of ``simulate``: the matrix, its legend, details of its cells, skews and pictures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kubesched_lint.commands.simulate.found import SimulationReport
from kubesched_lint.commands.simulate.proven_by_rules import Shortage
from kubesched_lint.findings import Location, Severity
from kubesched_lint.lifecycle.skew import Skew, skew_of
from kubesched_lint.lifecycle.verdicts import BY_SCORES, NONE, Cell
from kubesched_lint.linter.environments import with_environments
from kubesched_lint.model.node import ZONE
from kubesched_lint.printing import json_text, visible
from kubesched_lint.report.cell_details import BAD_HERE, event_title, needs_a_word, shade
from kubesched_lint.report.cell_details import details as behind
from kubesched_lint.report.cells import width, wrapped
from kubesched_lint.report.cluster_picture import drawn, legend
from kubesched_lint.report.palette import Palette
from kubesched_lint.report.words import esc
from kubesched_lint.text import many


def as_text(simulation: SimulationReport, *, color: bool = False, details: bool = True, room: int = 0) -> str:
    """Return the text for lines of ``room`` cells (0: no limit), without a newline at the end."""
    return "\n".join(_lines(simulation, Palette(color), details, room))


def _lines(simulation: SimulationReport, palette: Palette, details: bool, room: int) -> Iterator[str]:
    for shortage in simulation.shortages:
        yield from (palette.severity(Severity.ERROR, line) for line in wrapped(_short(shortage), room, 2))
    if simulation.rows or not simulation.errors:
        yield from _matrix(simulation, palette, room)
    if details:
        yield from _how_to_read(simulation, palette, room)
        yield from behind(simulation, palette, room)
    for entry in simulation.skews:
        yield ""
        yield from _skew(with_environments(str(entry.workload), entry.environments), entry.skew)
    if simulation.before is not None and simulation.after is not None:
        yield ""
        yield from _pictures(simulation, palette, room)
    for error in simulation.errors:
        yield visible(f"error: {error.path}{f':{error.line}' if error.line else ''}: {error.message}")
    if details:
        yield from _premises(simulation, room)
        yield from _not_established(simulation, room)
    if simulation.refused or simulation.notes:
        yield ""
        for note in (*simulation.refused, *simulation.notes):
            yield from wrapped(f"note: {note}", room, 6)


def _short(shortage: Shortage) -> str:
    place = shortage.location
    message = with_environments(shortage.message, shortage.environments)
    return visible(f"{message}  {place.path}:{place.span.line}")


# --- the matrix -----------------------------------------------------------------------------------------------------


def _matrix(simulation: SimulationReport, palette: Palette, room: int) -> Iterator[str]:
    """The matrix, in several blocks if the terminal is too narrow for all events."""
    refs = [workload.ref for workload in simulation.workloads]
    names = [visible(simulation.named(row, refs[row.number].title)) for row in simulation.rows]
    heads = [("", ""), *((name, refs[r.number].kind) for name, r in zip(names, simulation.rows, strict=True))]
    wide = [max(map(width, column)) for column in zip(*heads, strict=True)]
    columns = [
        [event_title(e), *(visible(r.cells[i].text) for r in simulation.rows)] for i, e in enumerate(simulation.events)
    ]
    widths = [max(map(width, column)) for column in columns]
    start = 0
    while start < len(columns):
        end, taken = start + 1, sum(wide) + 4 + widths[start]
        while end < len(columns) and (not room or taken + 2 + widths[end] <= room):
            taken += 2 + widths[end]
            end += 1
        if start:
            yield ""
        for number, head in enumerate(heads):
            cells = [_padded(text, size) for text, size in zip(head, wide, strict=True)]
            for i in range(start, end):
                text = _padded(columns[i][number], widths[i])
                cells.append(
                    _painted(text, simulation.rows[number - 1].cells[i], palette) if number else palette.bold(text)
                )
            yield "  ".join(cells).rstrip()
        start = end


def _padded(text: str, size: int) -> str:
    return text + " " * (size - width(text))


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


# --- how to read it -------------------------------------------------------------------------------------------------


def _how_to_read(simulation: SimulationReport, palette: Palette, room: int) -> Iterator[str]:
    """The legend, with only the terms that this report uses."""
    terms = dict(_terms([c for row in simulation.rows for c in row.cells]))
    if not terms:
        return
    yield ""
    wide = max(map(width, terms))
    for term, meaning in terms.items():
        for line in wrapped(f"  {_padded(term, wide)}  {meaning}", room, wide + 4):
            yield palette.dim(line)


def _terms(cells: Sequence[Cell]) -> Iterator[tuple[str, str]]:
    lacking = next((c for c in cells if " −" in c.text), None)
    if lacking is not None:
        here, missing = lacking.bound.most, lacking.wanted - lacking.bound.most
        yield (
            _bare(lacking.text),
            f"{here} of the {lacking.wanted} wanted pods run in the end, {missing} not",
        )
    ranging = next((c for c in cells if c.verdict != NONE and not c.bound.is_single and "–" in c.text), None)
    if ranging is not None:
        how = "depending on the order of events, or on the node or zone"
        yield (
            _bare(ranging.text),
            f"{ranging.bound} of the {ranging.wanted} wanted pods run in the end, {how}",
        )
    unready = next((c for c in cells if c.ready is not None), None)
    if unready is not None:
        yield (
            f"{unready.ready}/{unready.wanted} ready",
            "number of ready pods in the end, if new pods never become ready",
        )
    if any(c.text.endswith(" *") for c in cells):
        yield "*", "depends on an assumption about the pod's volumes or classes, listed below"
    shown = {_bare(c.text).partition(" (")[0].partition(",")[0] for c in cells}
    if any(c.text.endswith(" ?") for c in cells):
        yield "?", "not established: the missing facts are listed below" + _more_states(cells)
    if any("ok~" in c.text for c in cells):
        yield "ok~", _LIKELY + _more_states([c for c in cells if "ok~" in c.text])
    hanging = next((c.text for c in cells if c.verdict == BY_SCORES), None)
    if hanging is not None:
        yield _bare(hanging), _BY_SCORES
    for text, meaning in _WORDS:
        if text in shown:
            yield text, meaning
    if any(shade(c) == BAD_HERE for c in cells):
        meaning = "ends badly with these manifests and nodes, but that is no proof; the exit code counts proofs only"
        yield "not proven", meaning + _more_states([c for c in cells if shade(c) == BAD_HERE])
    why = " ".join(f"{c.why} {' '.join(c.missing)}" for c in cells if needs_a_word(c))
    if "counting" in why:
        yield (
            "counting",
            "bounds for every order of events and any scheduler; the range between them was not searched",
        )
    if "random trace" in why:
        yield (
            "random trace",
            "one random order of events, simulated with the exact scheduler: an example, not a proof",
        )


def _more_states(cells: Sequence[Cell]) -> str:
    further = any("--states" in m for c in cells for m in c.missing)
    return "; a larger --states extends the search and takes longer" if further else ""


def _bare(text: str) -> str:
    return text.removesuffix(" ?").removesuffix(" *")


_BY_SCORES = "fine in every simulated trace of the default scheduler; with other scores, some trace ends badly"
_LIKELY = "likely: every trace that was followed ends well, also those aimed at a bad end; nothing is proven"
_WORDS = (
    ("stuck", "the rollout never ends: no new pod can run, and no old pod may be deleted"),
    ("may get stuck", "in some orders of events the rollout never ends"),
    ("refused", "the API server refuses the object: it is not applied, and makes no pods"),
    ("blocked", "a disruption budget keeps the drain from ending"),
    ("may block", "in some orders, or on some nodes, a disruption budget keeps the drain from ending"),
    ("OnDelete", "pods are replaced only when somebody deletes them"),
    ("–", "the event does not affect the workload"),
)


def _premises(simulation: SimulationReport, room: int) -> Iterator[str]:
    """The assumptions of the verdicts; one that holds for some cells only names the first of them."""
    holders: dict[str, list[str]] = {}
    total = 0
    for row in simulation.rows:
        workload = simulation.workloads[row.number]
        for cell in row.cells:
            if cell.verdict != NONE:
                total += 1
                for premise in cell.assumes:
                    holders.setdefault(premise, []).append(f"{workload.ref.title} {event_title(cell.event)}")
    if not holders:
        return
    yield ""
    yield "these verdicts assume that"
    for premise, cells in holders.items():
        whose = f"{cells[0]}, …" if len(cells) > 1 else cells[0]
        only = "" if len(cells) == total else f" ({whose})"
        yield from wrapped(f"  - {premise}{only}", room, 4)


def _not_established(simulation: SimulationReport, room: int) -> Iterator[str]:
    """The number of cells with a question mark, because the exit code does not count them."""
    cells = [cell for row in simulation.rows for cell in row.cells if cell.verdict != NONE]
    unknown = sum(cell.text.endswith(" ?") for cell in cells)
    if unknown:
        yield ""
        text = f"not established: {unknown:,} of {many(len(cells), 'cell')} (?), which the exit code does not count"
        yield from wrapped(text, room, 2)


# --- skew -----------------------------------------------------------------------------------------------------------


def _skew(workload: str, skew: Skew) -> Iterator[str]:
    pods = f"{visible(workload)}: pods per {visible(skew.topology_key)}"
    yield f"{pods} after {event_title(skew.event)}, {skew.runs} random runs"
    yield f"  {'/'.join(map(visible, skew.domains))}"
    for counts, times in skew.ends:
        apart = "/".join(map(str, skew_of(counts)))
        yield f"  {'/'.join(map(str, counts))}  {times}×  (skews {apart})"


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
            }
            for r in simulation.rows
            for environment in _each_of(simulation.where(r))
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
            for environment in _each_of(t.environments)
        ],
        "shortages": [
            {
                "message": one.message,
                "because": one.evidence.text,
                "objects": list(map(str, one.workloads)),
                "assumes": one.evidence.assumes,
                "at": _place(one.location),
                **environment,
            }
            for one in simulation.shortages
            for environment in _each_of(one.environments)
        ],
        "refused": simulation.refused,
        "notes": simulation.notes,
        "errors": [{"path": e.path, "line": e.line, "message": e.message} for e in simulation.errors],
    }
    return json_text(value, 2)


def _each_of(environments: Sequence[str]) -> Iterator[dict[str, str]]:
    yield from ({"environment": name} for name in environments)
    if not environments:
        yield {}


def _place(place: Location) -> dict[str, object]:
    return {"path": place.path, "line": place.span.line, "column": place.span.column}


def _cell(simulation: SimulationReport, cell: Cell) -> dict[str, object]:
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
        "because": cell.why,
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
        cells = "".join(f'<td class="{c.verdict}" title="{esc(c.why)}">{esc(c.text)}</td>' for c in row.cells)
        rows.append(
            f"<tr><th>{esc(simulation.named(row, workload.ref.title))}</th><td>{workload.ref.kind}</td>{cells}</tr>"
        )
    body = "\n".join(rows)
    short = "".join(f"<p>{esc(_short(shortage))}</p>\n" for shortage in simulation.shortages)
    return f'{short}<table class="kubesched-matrix">\n<tr><th></th><th></th>{head}</tr>\n{body}\n</table>'
