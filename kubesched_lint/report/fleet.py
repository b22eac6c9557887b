"""The report of ``fleet``: a table of rules by clusters or targets, and the findings with their names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from kubesched_lint.commands.fleet.run import FleetOutcome
from kubesched_lint.commands.lint.merging import merged, merged_errors, merged_findings
from kubesched_lint.engine.base.text import in_which, many
from kubesched_lint.findings import Finding, Report, Severity
from kubesched_lint.linter.causes import members, one_per_cause
from kubesched_lint.printing import json_text, visible, visible_lines
from kubesched_lint.report.cells import width
from kubesched_lint.report.findings.as_json import VERSION
from kubesched_lint.report.findings.as_json import render as as_json
from kubesched_lint.report.findings.as_text import footer_lines
from kubesched_lint.report.findings.context import RenderContext
from kubesched_lint.report.findings.footer import counts, exit_code, footer, open_findings, summary_of
from kubesched_lint.report.palette import Palette

FORMATS = ("text", "json")
_NARROW = 110
"""Cells of a table that goes to no terminal."""
_LETTERS = {Severity.ERROR: "E", Severity.WARNING: "W", Severity.NOTE: "N"}
_ALL = 1_000_000
_UNREAD = "!"
_SKIPPED = "skip"
_NOTHING = "·"


class Fleet(Struct, frozen=True):
    """The outcome of every cluster or target (``noun``), and the report that they make together."""

    outcomes: tuple[FleetOutcome, ...]
    report: Report
    noun: str = "cluster"


def fleet_of(outcomes: tuple[FleetOutcome, ...]) -> Fleet:
    """Return the fleet of clusters, which read the same manifests by the same configuration."""
    common = next((o.report.summary.configuration for o in outcomes), "")
    report = merged(_reports(outcomes), dict.fromkeys(_reports(outcomes), ""), common)
    clusters = tuple(summary_of(outcome.name, outcome.report) for outcome in outcomes)
    return Fleet(outcomes, replace(report, summary=replace(report.summary, targets=clusters)))


def worst_exit_code(
    outcomes: Sequence[FleetOutcome],
    fail_on: Severity | None,
    strict_skips: bool = False,
    require_node_groups: bool = False,
) -> int:
    """The highest exit code of ``lint`` on the clusters."""
    reports = (outcome.report for outcome in outcomes)
    return max((exit_code(report, fail_on, strict_skips, require_node_groups) for report in reports), default=0)


def render_text(fleet: Fleet, context: RenderContext) -> Iterator[str]:
    """The distinct findings with the clusters that have them, problems with the input, then the table."""
    return (visible_lines(piece, painted=context.color) for piece in _text(fleet, context))


def _text(fleet: Fleet, context: RenderContext) -> Iterator[str]:
    paint = Palette(context.color)
    outcomes, report = fleet.outcomes, one_per_cause(fleet.report)
    has_lines = False
    for line in (*_problems(outcomes, paint), *_findings(outcomes, paint)):
        has_lines = True
        yield f"{line}\n"
    if has_lines:
        yield "\n"
    for rules, block in _tables(_folded(outcomes), context.width or _NARROW):
        yield from (f"{line}\n" for line in _table(rules, block, paint))
        yield "\n"
    lines = footer(report, _ALL if context.verbose else 0)
    pairs = [(fleet.noun if label == "target" else label, text) for label, text in lines]
    yield from footer_lines(pairs, report, context, paint)
    clean = sum(not exit_code(outcome.report) for outcome in outcomes)
    yield f"{many(len(outcomes), fleet.noun)}, {clean} without errors\n"


def _folded(outcomes: Iterable[FleetOutcome]) -> Sequence[FleetOutcome]:
    """Return the outcomes with one finding per cause."""
    return [replace(outcome, report=one_per_cause(outcome.report)) for outcome in outcomes]


def render_json(fleet: Fleet, context: RenderContext) -> Iterator[str]:
    """``clusters``, or targets, hold the reports as ``lint`` has them; ``table``: rule → name → severity → how many."""
    outcomes = _folded(fleet.outcomes)
    yield f'{{"version": {VERSION},\n"table": {json_text(_counted(outcomes))},\n"clusters": ['
    for number, outcome in enumerate(outcomes):
        head = {"name": outcome.name, "path": outcome.path, "exitCode": exit_code(outcome.report, context.fail_on)}
        yield ",\n" if number else "\n"
        yield f'{json_text(head)[:-1]}, "report": '
        yield "".join(as_json(outcome.report, context)).rstrip("\n") + "}"
    yield "\n]}\n"


def _counted(outcomes: Sequence[FleetOutcome]) -> dict[str, dict[str, dict[str, int]]]:
    table: dict[str, dict[str, dict[str, int]]] = {}
    for outcome in outcomes:
        for finding in open_findings(outcome.report):
            cell = table.setdefault(finding.rule, {}).setdefault(outcome.name, {})
            cell[finding.severity.word] = cell.get(finding.severity.word, 0) + 1
    return dict(sorted(table.items()))


# --- text -----------------------------------------------------------------------------------------------------------


def _problems(outcomes: Sequence[FleetOutcome], paint: Palette) -> Iterator[str]:
    """Those of the manifests once, those of clusters each."""
    found = merged_errors(_reports(outcomes))
    for error, names in sorted(found, key=lambda pair: (pair[0].path, pair[0].line, pair[0].column, pair[0].message)):
        tag = paint.severity(Severity.ERROR, f"error[{error.rule}]" if error.rule else "error")
        yield f"{visible(error.place)}: {tag}: {visible(error.message)}{_where(names, outcomes)}"


def _findings(outcomes: Sequence[FleetOutcome], paint: Palette) -> Iterator[str]:
    """Each message once, with the clusters where it holds: nodes, zones and numbers are those of the clusters named."""
    found = one_per_cause(Report(merged_findings(_reports(outcomes))))
    for finding in sorted(open_findings(found), key=_order):  # then as the clusters are listed
        more = len(members(finding)) - 1
        text = f"{finding.message} (and {more:,} more of the same cause)" if more else finding.message
        span = finding.location.span
        tag = paint.severity(finding.severity, f"{finding.severity.word}[{finding.rule}]")
        at = visible(f"{finding.location.path}:{span.line}:{span.column}")
        yield f"{at}: {tag}: {visible(text)}{_where(finding.targets, outcomes)}"


def _order(finding: Finding) -> tuple[Any, ...]:
    return finding.location.path, finding.location.span, finding.rule, str(finding.object), -finding.severity


def _reports(outcomes: Sequence[FleetOutcome]) -> Mapping[str, Report]:
    return {outcome.name: outcome.report for outcome in outcomes}


def _where(names: Sequence[str], outcomes: Sequence[FleetOutcome]) -> str:
    if len(names) == len(outcomes):
        return " (everywhere)" if len(outcomes) > 1 else ""
    return visible(in_which(names, len(outcomes)))


class _Column(Struct, frozen=True):
    """A cluster's part of the table: cells as text with their worst severity, rule by rule, and the total."""

    name: str
    cells: tuple[tuple[str, Severity | None], ...]
    total: str

    @property
    def width(self) -> int:
        return max(map(width, (self.name, self.total, *(text for text, _ in self.cells))))


def _column(outcome: FleetOutcome, rules: Sequence[str]) -> _Column:
    found: dict[str, list[Finding]] = {}
    for finding in open_findings(outcome.report):
        found.setdefault(finding.rule, []).append(finding)
    skipped = {skip.rule for skip in outcome.report.skipped}
    cells = tuple(
        (_numbers(found[rule]), max(f.severity for f in found[rule]))
        if rule in found
        else (_SKIPPED if rule in skipped else _NOTHING, None)
        for rule in rules
    )
    numbers = _numbers(open_findings(outcome.report))
    total = f"{numbers} {_UNREAD}".strip() if outcome.report.errors else numbers or "clean"
    return _Column(visible(outcome.name), cells, total)


def _tables(outcomes: Sequence[FleetOutcome], room: int) -> Iterator[tuple[Sequence[str], Sequence[_Column]]]:
    """The rules that found something, and as many clusters side by side as fit."""
    rules = sorted({finding.rule for outcome in outcomes for finding in open_findings(outcome.report)})
    block: list[_Column] = []
    lead = used = _lead(rules)
    for column in (_column(outcome, rules) for outcome in outcomes):
        if block and used + 2 + column.width > room:
            yield rules, block
            block, used = [], lead
        block.append(column)
        used += 2 + column.width
    yield rules, block


def _lead(rules: Sequence[str]) -> int:
    return max(map(width, (*rules, "total")))


def _table(rules: Sequence[str], block: Sequence[_Column], paint: Palette) -> Iterator[str]:
    lead = _lead(rules)
    yield paint.bold(" " * lead + "".join(f"  {_right(column.name, column.width)}" for column in block))
    for number, rule in enumerate(rules):
        yield f"{rule:{lead}}" + "".join(f"  {_painted(*c.cells[number], c.width, paint)}" for c in block)
    yield paint.bold(f"{'total':{lead}}" + "".join(f"  {_right(column.total, column.width)}" for column in block))


def _right(text: str, room: int) -> str:
    return " " * (room - width(text)) + text


def _painted(text: str, worst: Severity | None, room: int, paint: Palette) -> str:
    return paint.dim(_right(text, room)) if worst is None else paint.severity(worst, _right(text, room))


def _numbers(findings: Iterable[Finding]) -> str:
    """``2E 1W``."""
    found = sorted(counts(findings).items(), reverse=True)
    return " ".join(f"{count}{_LETTERS[severity]}" for severity, count in found if count)
