"""The report of ``fleet``: a table of rules by clusters or targets, and the findings with their names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from kubesched_lint.commands.fleet.judge import PairOutcome
from kubesched_lint.commands.fleet.run import FleetRun
from kubesched_lint.engine.base.text import in_which, many
from kubesched_lint.findings import Finding, Report, Severity
from kubesched_lint.linter.results.causes import members, one_per_cause
from kubesched_lint.printing import json_text, visible, visible_lines
from kubesched_lint.report.causes import by_place
from kubesched_lint.report.findings.as_json import render as as_json
from kubesched_lint.report.findings.as_text import footer_lines
from kubesched_lint.report.findings.context import RenderContext
from kubesched_lint.report.findings.footer import counts, exit_code, footer, open_findings
from kubesched_lint.report.findings.frame import place
from kubesched_lint.report.terminal.cells import width
from kubesched_lint.report.terminal.palette import Palette

FORMATS = ("text", "json")
_NARROW = 110
"""Cells of a table that goes to no terminal."""
_LETTERS = {Severity.ERROR: "E", Severity.WARNING: "W", Severity.NOTE: "N"}
_ALL = 1_000_000
_UNREAD = "!"
_SKIPPED = "skip"
_NOTHING = "·"


def render_text(run: FleetRun, context: RenderContext) -> Iterator[str]:
    """The findings with the names of what has them, problems with the input, then the table."""
    return (visible_lines(piece, painted=context.color) for piece in _text(run, context))


def _text(run: FleetRun, context: RenderContext) -> Iterator[str]:
    paint = Palette(context.color)
    outcomes, report = run.outcomes, one_per_cause(run.report)
    has_lines = False
    for line in (*_problems(report, paint), *_findings(report, len(outcomes), paint)):
        has_lines = True
        yield f"{line}\n"
    if has_lines:
        yield "\n"
    for rules, block in _tables(_folded(outcomes), context.width or _NARROW):
        yield from (f"{line}\n" for line in _table(rules, block, paint))
        yield "\n"
    lines = footer(report, _ALL if context.verbose else 0)
    pairs = [(run.noun if label == "target" else label, text) for label, text in lines]
    yield from footer_lines(pairs, report, context, paint)
    clean = sum(not exit_code(outcome.report) for outcome in outcomes)
    yield f"{many(len(outcomes), run.noun)}, {clean} without errors\n"


def _folded(outcomes: Iterable[PairOutcome]) -> Sequence[PairOutcome]:
    """Return the outcomes with one finding per cause."""
    return [replace(outcome, report=one_per_cause(outcome.report)) for outcome in outcomes]


def render_json(run: FleetRun, context: RenderContext) -> Iterator[str]:
    """The document of ``lint`` for the merged report, then what only a fleet has.

    ``clusters``, or targets, hold the reports of each; ``table``: rule → name → severity → how many.
    """
    outcomes = _folded(run.outcomes)
    merged = "".join(as_json(one_per_cause(run.report), context)).rstrip("\n")
    yield f'{merged[:-1]},\n"table": {json_text(_counted(outcomes))},\n"clusters": ['
    for number, outcome in enumerate(outcomes):
        head = {"name": outcome.name, "path": outcome.cluster, "exitCode": exit_code(outcome.report, context.fail_on)}
        yield ",\n" if number else "\n"
        yield f'{json_text(head)[:-1]}, "report": '
        yield "".join(as_json(outcome.report, context)).rstrip("\n") + "}"
    yield "\n]}\n"


def _counted(outcomes: Sequence[PairOutcome]) -> dict[str, dict[str, dict[str, int]]]:
    table: dict[str, dict[str, dict[str, int]]] = {}
    for outcome in outcomes:
        for finding in open_findings(outcome.report):
            cell = table.setdefault(finding.rule, {}).setdefault(outcome.name, {})
            cell[finding.severity.word] = cell.get(finding.severity.word, 0) + 1
    return dict(sorted(table.items()))


# --- text -----------------------------------------------------------------------------------------------------------


def _problems(report: Report, paint: Palette) -> Iterator[str]:
    """Yield a line for each problem with the input, which says where it is not that of all."""
    for error in sorted(report.errors, key=lambda e: (e.path, e.line, e.column, e.message)):
        tag = paint.severity(Severity.ERROR, f"error[{error.rule}]" if error.rule else "error")
        yield f"{visible(error.place)}: {tag}: {visible(error.message)}"


def _findings(report: Report, total: int, paint: Palette) -> Iterator[str]:
    """Yield a line for each finding, with those of ``total`` names that have it: its numbers are theirs."""
    for finding in by_place(open_findings(report)):
        more = len(members(finding)) - 1
        text = f"{finding.message} (and {more:,} more of the same cause)" if more else finding.message
        tag = paint.severity(finding.severity, f"{finding.severity.word}[{finding.rule}]")
        yield f"{place(finding.location)}: {tag}: {visible(text + in_which(finding.targets, total))}"


class _Column(Struct, frozen=True):
    """A cluster's part of the table: cells as text with their worst severity, rule by rule, and the total."""

    name: str
    cells: tuple[tuple[str, Severity | None], ...]
    total: str

    @property
    def width(self) -> int:
        return max(map(width, (self.name, self.total, *(text for text, _ in self.cells))))


def _column(outcome: PairOutcome, rules: Sequence[str]) -> _Column:
    by_rule: dict[str, list[Finding]] = {}
    for finding in open_findings(outcome.report):
        by_rule.setdefault(finding.rule, []).append(finding)
    skipped = {skip.rule for skip in outcome.report.skipped}
    cells = tuple(
        (_numbers(by_rule[rule]), max(f.severity for f in by_rule[rule]))
        if rule in by_rule
        else (_SKIPPED if rule in skipped else _NOTHING, None)
        for rule in rules
    )
    numbers = _numbers(open_findings(outcome.report))
    total = f"{numbers} {_UNREAD}".strip() if outcome.report.errors else numbers or "clean"
    return _Column(visible(outcome.name), cells, total)


def _tables(outcomes: Sequence[PairOutcome], room: int) -> Iterator[tuple[Sequence[str], Sequence[_Column]]]:
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
    by_severity = sorted(counts(findings).items(), reverse=True)
    return " ".join(f"{count}{_LETTERS[severity]}" for severity, count in by_severity if count)
