"""Notes for the footer on what a user may do next: fixes, and a baseline that lies unused."""

from __future__ import annotations

import os
from collections.abc import Container

from kubesched_lint.findings import Report
from kubesched_lint.record import replace
from kubesched_lint.rulebook.library import Rulebook
from kubesched_lint.text import many

BASELINE = "kubesched-baseline.json"
"""The file that ``baseline write`` writes unless the user names another one."""


def with_fixable(report: Report, rulebook: Rulebook, written: Container[str]) -> Report:
    """Return the report with a note on findings that rules can fix in files that somebody has ``written``.

    Other files are rendered. Whether a fix helps here, only ``commands.fix`` finds out.
    """
    open_there = (f for f in report.findings if f.suppressed is None and f.location.path in written)
    known = [rulebook.rules[f.rule].fix for f in open_there if f.rule in rulebook.rules]
    safe, unsafe = known.count("safe"), known.count("unsafe")
    if not safe + unsafe:
        return report
    flags = "--fix" if safe else "--fix --unsafe-fixes"
    more = f", {unsafe} more with --unsafe-fixes" if safe and unsafe else ""
    return _noting(report, f"{safe or unsafe} fixable with {flags}{more}; --diff shows how")


def with_unused_baseline(report: Report, rulebook: Rulebook) -> Report:
    """Return the report with a note if the working folder has a baseline that lists some of the open findings."""
    if not report.findings or not os.path.isfile(BASELINE):
        return report
    from kubesched_lint.linter.options import BaselineError
    from kubesched_lint.project.baseline import held_against, read_baseline

    try:
        held = held_against(report, read_baseline(BASELINE, rulebook)).report
    except BaselineError:  # the user has not asked for it
        return report
    known = sum(1 for finding in held.findings if finding.suppressed and finding.suppressed.known)
    if not known:
        return report
    listed = f"{BASELINE} lists {many(known, 'finding')} of this run, but the run does not use it"
    return _noting(report, f"{listed}: --baseline {BASELINE}, or `baseline` in kubesched.toml, does")


def _noting(report: Report, note: str) -> Report:
    return replace(report, summary=replace(report.summary, notes=(*report.summary.notes, note)))
