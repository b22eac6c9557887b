"""What a run's report means for whoever called it: 0 clean, 1 findings that matter, 2 input that could not be read."""

from __future__ import annotations

from kubesched_lint.findings import Report, Severity
from kubesched_lint.report.footer import open_findings

FAIL_ON: dict[str, Severity | None] = {
    "error": Severity.ERROR,
    "warning": Severity.WARNING,
    "note": Severity.NOTE,
    "never": None,
}
"""The words of ``--fail-on``; None lets findings pass, whatever their severity."""


def exit_code(report: Report, fail_on: Severity | None = Severity.ERROR, strict_skips: bool = False) -> int:
    """Suppressed and known findings never count; skipped rules count only when ``strict_skips``."""
    if report.errors:
        return 2
    if fail_on is not None and any(finding.severity >= fail_on for finding in open_findings(report)):
        return 1
    return 1 if strict_skips and report.skipped else 0
