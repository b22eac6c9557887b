"""Write reports to the terminal and to files."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Sequence
from functools import lru_cache, partial
from typing import TYPE_CHECKING

from msgspec.structs import replace

from kubesched_lint.findings import Severity
from kubesched_lint.linter.results.causes import one_per_cause
from kubesched_lint.printing import tell
from kubesched_lint.progress import shown
from kubesched_lint.report.findings.context import RenderContext, cards_of
from kubesched_lint.report.findings.formats import ReportTarget, write
from kubesched_lint.report.findings.short_footer import short_footer
from kubesched_lint.report.terminal.palette import terminal_width, wants_color
from kubesched_lint.sources.manifests.document import RENDERED
from kubesched_lint.sources.manifests.loader import source_lines

if TYPE_CHECKING:
    from kubesched_lint.commands.fleet.run import FleetRun
    from kubesched_lint.commands.lint.report_extras import ReportExtras
    from kubesched_lint.commands.lint.run import LintRun
    from kubesched_lint.findings import InputError, Report
    from kubesched_lint.rulebook.library import Rulebook


def show(
    run: LintRun | FleetRun,
    chosen: Sequence[ReportTarget],
    rulebook: Rulebook,
    color: str,
    fail_on: Severity | None = Severity.ERROR,
    *,
    verbose: bool = False,
    quiet: bool = False,
    statistics: bool = False,
) -> None:
    """Write every chosen report, with one finding per cause. Raises OutputError when a file cannot be written."""
    run = replace(run, report=one_per_cause(run.report))
    on_screen = {target.format for target in chosen if not target.file}
    if on_screen == {"text"} and (told := _told(run.report, rulebook)):
        quiet = True
        left = tuple(error for error in run.report.errors if error not in told)
        chosen = chosen if run.report.findings or left else [target for target in chosen if target.file]
        run = replace(run, report=replace(run.report, errors=left))
    elif on_screen == {"concise"} and not quiet:
        tell(next(short_footer(run.report)))
    plain = RenderContext(
        verbose=verbose,
        quiet=quiet,
        statistics=statistics,
        sources=lru_cache(maxsize=64)(partial(_lines, run)),
        cards=cards_of(rulebook),
        fail_on=fail_on,
        root=_folder(),
        files=run.files,
        extras=lru_cache(maxsize=1)(lambda: _extras(run)),
    )
    painted = wants_color(color, sys.stdout, os.environ)
    screen = replace(plain, color=painted, width=terminal_width(sys.stdout, os.environ))
    write(run.report, chosen, screen, plain, sys.stdout)


def _told(report: Report, rulebook: Rulebook) -> Sequence[InputError]:
    """Print on stderr what is wrong with the names of the input, before anything else; all errors if nothing was read.

    Return these errors. That a rule failed is part of the report: the others judged.
    """
    cards = {rule.card or f"rules/{rule.slug}.md" for rule in rulebook}
    is_void = not report.findings and not report.summary.workloads
    of_input = [error for error in report.errors if not error.rule and error.path not in cards]
    told = [error for error in of_input if is_void or not error.line]
    for error in told:
        tell(f"error: {error.place}: {error.message}")
    return told


def tell_undecided(report: Report) -> None:
    """Print as errors what the user has to decide, for --require-node-groups."""
    for question in report.summary.questions:
        tell(f"error: {question}")


def _extras(run: LintRun | FleetRun) -> ReportExtras | None:
    gc.enable()  # a simulation, unlike lint, makes reference cycles
    with shown("simulating for the report"):
        return run.extras()


def _folder() -> str:
    try:
        return os.getcwd()
    except OSError:  # the folder was removed
        return ""


def _lines(run: LintRun | FleetRun, path: str) -> Sequence[str]:
    if path.endswith(RENDERED):
        return run.rendered_lines(path)
    return source_lines(path)
