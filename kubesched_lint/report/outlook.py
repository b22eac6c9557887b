"""The report of ``simulate``: the matrix, under it what is behind each cell that is not fine, skews and pictures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kubesched_lint.engine.simulate import Outlook
from kubesched_lint.lifecycle.picture import Box, Picture
from kubesched_lint.lifecycle.skew import Skew, skew_of
from kubesched_lint.lifecycle.verdicts import BAD, DEPENDS, FINE, NONE, UNKNOWN, Cell, Witness
from kubesched_lint.model.workload import Workload
from kubesched_lint.report.palette import Palette

_TITLES = {"node-loss": "node loss", "zone-loss": "zone loss", "scale-down": "scale down", "hpa-max": "hpa max"}
_HEADINGS = {
    BAD: "always bad",
    DEPENDS: "depends on the order of events",
    UNKNOWN: "not established",
}


def as_text(outlook: Outlook, *, color: bool = False, details: bool = True) -> str:
    """For a terminal; ends without a newline."""
    return "\n".join(_lines(outlook, Palette(color), details))


def _lines(outlook: Outlook, palette: Palette, details: bool) -> Iterator[str]:
    yield from _matrix(outlook, palette)
    if details:
        for row in outlook.rows:
            yield from _details(outlook, outlook.workloads[row.number], row.cells, palette)
    for told in outlook.skews:
        yield ""
        yield from _skew(told.workload, told.skew)
    if outlook.before is not None and outlook.after is not None:
        yield ""
        yield from _pictures(outlook, palette)
    for error in outlook.errors:
        yield f"error: {error.path}{f':{error.line}' if error.line else ''}: {error.message}"
    if outlook.notes:
        yield ""
        yield from (f"note: {note}" for note in outlook.notes)


# --- the matrix -----------------------------------------------------------------------------------------------------


def _matrix(outlook: Outlook, palette: Palette) -> Iterator[str]:
    table = [["", "", *(_TITLES.get(e, e) for e in outlook.events)]]
    for row in outlook.rows:
        workload = outlook.workloads[row.number]
        table.append([f"{workload.namespace}/{workload.name}", workload.kind, *(c.text for c in row.cells)])
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for number, line in enumerate(table):
        cells = [text.ljust(width) for text, width in zip(line, widths, strict=True)]
        if number:
            verdicts = [c.verdict for c in outlook.rows[number - 1].cells]
            cells[2:] = [_painted(text, verdict, palette) for text, verdict in zip(cells[2:], verdicts, strict=True)]
        else:
            cells = [palette.bold(text) for text in cells]
        yield "  ".join(cells).rstrip()


def _painted(text: str, verdict: str, palette: Palette) -> str:
    from kubesched_lint.findings import Severity

    match verdict:
        case "fine":
            return palette.good(text)
        case "bad":
            return palette.severity(Severity.ERROR, text)
        case "depends":
            return palette.severity(Severity.WARNING, text)
        case "unknown":
            return palette.severity(Severity.NOTE, text)
    return palette.dim(text)


# --- behind the cells -----------------------------------------------------------------------------------------------


def _details(outlook: Outlook, workload: Workload, cells: Sequence[Cell], palette: Palette) -> Iterator[str]:
    shown = [c for c in cells if c.verdict not in (FINE, NONE)]
    if not shown:
        return
    yield ""
    yield palette.bold(str(workload))
    for cell in shown:
        proven = ", proven for any scheduler" if cell.proven and cell.verdict == BAD else ""
        yield f"  {_TITLES.get(cell.event, cell.event)}: {cell.text}: {_HEADINGS[cell.verdict]}{proven}"
        yield f"    because: {cell.why}"
        place = outlook.place(cell)
        if place is not None:
            yield f"    at: {place.path}:{place.span.line}:{place.span.column}"
        if cell.message:
            yield f"    the pods say: {cell.message}"
        if cell.worst is not None:
            yield from _course("one way it ends badly", cell.worst)
        if cell.best is not None:
            yield from _course("one way it ends well", cell.best)
        for missing in cell.missing:
            yield f"    missing: {missing}"


def _course(title: str, witness: Witness) -> Iterator[str]:
    yield f"    {title}:"
    for line in witness.lines:
        yield f"      {line}"


# --- skew -----------------------------------------------------------------------------------------------------------


def _skew(workload: Workload, skew: Skew) -> Iterator[str]:
    title = f"{workload}: pods per {skew.topology_key} after {skew.event}, {skew.runs} seeded runs"
    yield title
    yield f"  {'/'.join(skew.domains)}"
    for counts, times in skew.ends:
        apart = "/".join(map(str, skew_of(counts)))
        yield f"  {'/'.join(map(str, counts))}  {times}×  (skews {apart})"


# --- pictures -------------------------------------------------------------------------------------------------------

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def _pictures(outlook: Outlook, palette: Palette) -> Iterator[str]:
    legend = ", ".join(f"{_letter(i)} {w.name}" for i, w in enumerate(outlook.workloads))
    yield f"{legend}; lower case: an older revision"
    assert outlook.before is not None
    assert outlook.after is not None
    yield f"before {outlook.pictured}:"
    yield from drawn(outlook.before, palette)
    yield f"after {outlook.pictured}:"
    yield from drawn(outlook.after, palette)


def drawn(picture: Picture, palette: Palette) -> Iterator[str]:
    """Domains side by side, a box per node, a letter per pod."""
    columns = [list(_column(domain, boxes)) for domain, boxes in picture.columns]
    widths = [max(map(len, column), default=0) for column in columns]
    for line in range(max(map(len, columns), default=0)):
        cells = [
            (column[line] if line < len(column) else "").ljust(width)
            for column, width in zip(columns, widths, strict=True)
        ]
        yield f"  {'  '.join(cells)}".rstrip()
    if picture.waiting:
        yield f"  waiting: {_letters(picture.waiting)}"


def _column(domain: str, boxes: Sequence[Box]) -> Iterator[str]:
    inner = max([len(domain), *(len(_title(b)) for b in boxes), *(len(_letters(b.pods)) for b in boxes)])
    yield domain or "(no zone)"
    for box in boxes:
        yield f"┌{'─' * (inner + 2)}┐"
        yield f"│ {_title(box).ljust(inner)} │"
        yield f"│ {_letters(box.pods).ljust(inner)} │"
        yield f"└{'─' * (inner + 2)}┘"


def _title(box: Box) -> str:
    return f"{box.name} (cordoned)" if box.cordoned else box.name


def _letters(pods: Sequence[tuple[int, bool, int]]) -> str:
    """``AAAb``; more than twelve of a kind as ``A×30``."""
    return "".join(
        letter * count if count <= 12 else f"{letter}×{count}"
        for number, new, count in pods
        for letter in [_letter(number) if new else _letter(number).lower()]
    )


def _letter(number: int) -> str:
    return _LETTERS[number % len(_LETTERS)]


# --- for machines and pages -----------------------------------------------------------------------------------------


def as_json(outlook: Outlook) -> str:
    """One JSON object: ``workloads``, each with its ``cells``; ``skews``; ``notes`` and ``errors``."""
    import json

    value = {
        "workloads": [
            {"object": str(outlook.workloads[r.number]), "cells": [_cell(outlook, c) for c in r.cells]}
            for r in outlook.rows
        ],
        "skews": [
            {
                "object": str(t.workload),
                "topologyKey": t.skew.topology_key,
                "event": t.skew.event,
                "domains": t.skew.domains,
                "runs": t.skew.runs,
                "ends": [{"pods": counts, "times": times} for counts, times in t.skew.ends],
            }
            for t in outlook.skews
        ],
        "notes": outlook.notes,
        "errors": [{"path": e.path, "line": e.line, "message": e.message} for e in outlook.errors],
    }
    return json.dumps(value, ensure_ascii=False, indent=2)


def _cell(outlook: Outlook, cell: Cell) -> dict[str, object]:
    place = outlook.place(cell)
    return {
        "event": cell.event,
        "verdict": cell.verdict,
        "text": cell.text,
        "wanted": cell.wanted,
        "bound": {"min": cell.bound.least, "max": cell.bound.most, "by": cell.bound.by},
        "stuck": cell.stuck,
        "proven": cell.proven,
        "because": cell.why,
        "message": cell.message,
        "at": None if place is None else {"path": place.path, "line": place.span.line, "column": place.span.column},
        "worst": None if cell.worst is None else cell.worst.lines,
        "best": None if cell.best is None else cell.best.lines,
        "missing": cell.missing,
        "assumes": cell.assumes,
    }


def as_html_fragment(outlook: Outlook) -> str:
    """A table to put into a page: each cell has its verdict as class, and what is behind it as title."""
    from html import escape

    head = "".join(f"<th>{escape(_TITLES.get(e, e))}</th>" for e in outlook.events)
    rows = []
    for row in outlook.rows:
        workload = outlook.workloads[row.number]
        cells = "".join(f'<td class="{c.verdict}" title="{escape(c.why)}">{escape(c.text)}</td>' for c in row.cells)
        rows.append(
            f"<tr><th>{escape(f'{workload.namespace}/{workload.name}')}</th><td>{workload.kind}</td>{cells}</tr>"
        )
    body = "\n".join(rows)
    return f'<table class="kubesched-matrix">\n<tr><th></th><th></th>{head}</tr>\n{body}\n</table>'
