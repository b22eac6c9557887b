"""The report of ``check`` as text, Markdown and JSON, which ``schemas/check.schema.json`` describes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kubesched_lint.commands.check.check_result import BLOCKED, PASSES, Check, JudgedChange, ScaledOutside, Started
from kubesched_lint.engine.base.limits import LONGEST_REASON
from kubesched_lint.engine.base.text import brief, many
from kubesched_lint.findings import Severity
from kubesched_lint.printing import json_text, visible
from kubesched_lint.report.check import words as words
from kubesched_lint.report.markdown import COMMENT_OF_GITHUB, Block, code_in_row, plain, size, within
from kubesched_lint.report.plan.as_json import of_cell, of_error, of_evictions, of_object_change, of_place, of_ref
from kubesched_lint.report.terminal.cells import width, wrapped
from kubesched_lint.report.terminal.palette import Palette
from kubesched_lint.report.wording.words import environment_keys

VERSION = 1
"""The version of the format; new keys alone do not change it."""
MARK = "<!-- kubesched-lint check -->"
"""The first line of the comment; a bot finds its earlier comment by it."""


def as_text(check: Check, *, color: bool = False, room: int = 0) -> str:
    """Return the text for lines of ``room`` cells (0: no limit), without a newline at the end."""
    return "\n".join(_lines(check, Palette(color), room))


def _lines(check: Check, palette: Palette, room: int) -> Iterator[str]:
    for line in wrapped(visible(words.headline(check)), room, 2):
        yield palette.severity(Severity.ERROR, line) if check.verdict != PASSES else palette.bold(line)
    rows = list(words.rows_of(check))
    wide = max((width(visible(row.name)) for row in rows), default=0)
    for row in rows:
        name = visible(row.name)
        place = f"  {palette.dim(visible(row.place))}" if row.place else ""
        yield f"  {palette.bold(name)}{' ' * (wide - width(name))}  {visible(row.action)}{place}"
        for line in row.lines:
            yield from wrapped(visible(f"    {line}"), room, 6)
    for fact in words.facts_of(check):
        yield from wrapped(visible(fact), room, 2)
    for note in check.notes:
        yield from wrapped(visible(f"note: {note}"), room, 2)
    yield from wrapped(visible(words.judged(check)), room, 2)


def as_markdown(check: Check) -> str:
    """Return a comment of at most ``COMMENT_OF_GITHUB`` UTF-16 units."""
    sign = {PASSES: "✅", BLOCKED: "⛔"}.get(check.verdict, "⚠️")
    head = f"{MARK}\n### {sign} {plain(words.headline(check))}\n"
    tail = f"\n<sub>{plain(brief(words.judged(check)))}</sub>\n"
    left = COMMENT_OF_GITHUB - size(head) - size(tail)
    return "".join((head, *within(_blocks(check), left, _left_out), tail))


def _left_out(count: int) -> str:
    return f"\n… and **{many(count, 'more workload')}** that did not fit: `kubesched-lint check` prints all of them.\n"


def _blocks(check: Check) -> Iterator[Block]:
    rows = list(words.rows_of(check))
    if rows:
        yield Block("\n| workload | this apply | how it ends |\n|---|---|---|\n")
    for row in rows:
        name = f"**{plain(row.name)}**" if row.is_blocked else plain(row.name)
        place = f" {code_in_row(row.place)}" if row.place else ""
        ends = "<br>".join(plain(line[:LONGEST_REASON]) for line in row.lines)
        yield Block(f"| {name}{place} | {plain(row.action)} | {ends} |\n", 1)
    yield Block("\n")
    yield from (Block(f"- {plain(fact)}\n") for fact in words.facts_of(check))
    yield from (Block(f"- note: {plain(note)}\n") for note in check.notes)


def as_json(check: Check) -> str:
    """Return one JSON object without a newline at its end."""
    return json_text(as_value(check), 2)


def as_value(check: Check) -> Mapping[str, Any]:
    """Return the report as plain values."""
    return {
        "version": VERSION,
        "verdict": check.verdict,
        "exitCode": check.exit_code,
        "result": words.headline(check),
        "failOn": "never" if check.least is None else check.least.word,
        "workloads": [
            {**_started(workload, check.least), **each}
            for workload in check.started
            for each in environment_keys(workload.environments)
        ],
        "unchanged": check.unchanged,
        "objects": [of_object_change(change) for change in check.objects],
        "shortages": [
            {
                "message": shortage.message,
                "workloads": [of_ref(ref) for ref in shortage.workloads],
                "at": of_place(shortage.location),
            }
            for shortage in check.shortages
        ],
        "refused": list(check.refused),
        "nodes": [{"pool": n.pool, "zone": n.zone, "machine": n.shape, "count": n.count} for n in check.nodes],
        "evictions": of_evictions(check.evictions),
        "scaledOutside": [_outside(scaled) for scaled in check.outside],
        "mutations": [
            {
                "object": of_ref(mutated_workload.object),
                "names": list(mutated_workload.mutation.names),
                "larger": dict(mutated_workload.larger),
                "pods": mutated_workload.mutation.pods,
                "learntFrom": list(mutated_workload.mutation.others),
            }
            for mutated_workload in check.mutations
        ],
        "shadow": check.shadow,
        "wouldHaveBlocked": [of_ref(workload.object) for workload in check.blocked] if check.shadow else [],
        "breakGlass": check.broken_glass,
        "missing": list(check.missing),
        "errors": [of_error(error) for error in check.errors],
        "notes": list(check.notes),
        "environments": list(check.environments),
        "cluster": check.cluster,
    }


def _started(workload: Started, least: Severity | None) -> Mapping[str, Any]:
    change = workload.change
    what = of_object_change(change) if change is not None else {"object": of_ref(workload.object), "actions": []}
    findings = [
        {"rule": f.rule, "severity": f.severity.word, "message": f.message, "help": f.help, "at": of_place(f.location)}
        for f in workload.findings
    ]
    events = [_judged(event, least) for event in workload.events]
    broken = {"breakGlass": workload.broken_glass} if workload.broken_glass else {}
    return {**what, "blocks": workload.blocks(least), **broken, "events": events, "findings": findings}


def _judged(event: JudgedChange, least: Severity | None) -> Mapping[str, Any]:
    ends = {"event": event.cell.event, "blocks": event.blocks(least), "isStarted": event.is_started}
    waived = {"waived": event.waived} if event.waived else {}
    return {**ends, **waived, **(of_cell(event.cell) or {}), "at": of_place(event.location)}


def _outside(scaled: ScaledOutside) -> Mapping[str, Any]:
    return {
        "object": of_ref(scaled.object),
        "running": scaled.running,
        "written": scaled.written,
        "by": scaled.by,
        "isAutomatic": scaled.is_automatic,
    }
