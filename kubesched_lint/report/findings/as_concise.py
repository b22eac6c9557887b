"""One line per finding, as compilers and grep print places: ``PATH:LINE:COL: SEVERITY RULE MESSAGE``."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.engine.base.text import in_which
from kubesched_lint.findings import Finding, Report, Summary
from kubesched_lint.linter.results.causes import members
from kubesched_lint.printing import visible
from kubesched_lint.report.causes import by_place
from kubesched_lint.report.findings.context import RenderContext
from kubesched_lint.report.findings.footer import cut_short, open_findings
from kubesched_lint.report.findings.frame import place
from kubesched_lint.report.wording.words import overlays


def render(report: Report, context: RenderContext) -> Iterator[str]:
    """Yield a line per finding, by path and line; errors of the input and rules that were cut short come first."""
    for error in sorted(report.errors, key=lambda e: (e.path, e.line, e.column, e.message)):
        yield f"{visible(error.place)}: error input {visible(error.message)}\n"
    left_out = cut_short(report)
    if left_out:  # an editor puts it at a file
        yield f"{visible(next(iter(context.files()), '.'))}:1:1: note left-out {visible(left_out)}\n"
    for finding in by_place(open_findings(report)):
        yield _line(finding, report.summary)


def _line(finding: Finding, summary: Summary) -> str:
    named = overlays(members(finding), summary.environments)
    where = (f" ({named})" if named else "") + in_which(finding.targets, len(summary.targets))
    text = f"{finding.severity.word} {finding.rule} {finding.message}{where}"
    return f"{place(finding.location)}: {visible(text)}\n"
