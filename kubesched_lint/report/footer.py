"""What was looked at and what was not: the lines below the findings, and the counts that every report shares."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from kubesched_lint.findings import Finding, Report, Severity

_SEVERITIES = (Severity.ERROR, Severity.WARNING, Severity.NOTE)
_MOST_NAMES = 8
"""Rules or kinds that one line names before it only counts."""


def open_findings(report: Report) -> Iterator[Finding]:
    """Findings that count: neither waived nor known from a baseline."""
    return (finding for finding in report.findings if finding.suppressed is None)


def counts(findings: Iterable[Finding]) -> Mapping[Severity, int]:
    count = dict.fromkeys(_SEVERITIES, 0)
    for finding in findings:
        count[finding.severity] += 1
    return count


def suppressed(report: Report) -> tuple[int, int]:
    """How many findings somebody waived, and how many a baseline knows."""
    known = sum(1 for f in report.findings if f.suppressed and f.suppressed.known)
    return sum(1 for f in report.findings if f.suppressed) - known, known


def verdict(report: Report) -> str:
    """``2 errors, 1 warning (3 suppressed, 1 known)``, or ``no findings``."""
    said = [many(n, severity.word) for severity, n in counts(open_findings(report)).items() if n]
    waived, known = suppressed(report)
    aside = [f"{n} {word}" for n, word in ((waived, "suppressed"), (known, "known")) if n]
    return (", ".join(said) or "no findings") + (f" ({', '.join(aside)})" if aside else "")


def footer(report: Report) -> Iterator[tuple[str, str]]:
    """Pairs of a short label and a sentence, in reading order; the verdict is the last."""
    summary = report.summary
    documents = many(summary.documents, "document")
    checked = f"{many(summary.files, 'file')} ({documents}), {many(summary.workloads, 'workload')}"
    yield "checked", f"{checked}, by {many(summary.rules, 'rule')}"
    yield "cluster", summary.cluster or "none given (--cluster)"
    yield from (("skipped", line) for line in skips(report))
    if summary.unread_kinds:
        kinds = sorted(summary.unread_kinds.items(), key=lambda pair: (-pair[1], pair[0]))
        yield "not read", _named([f"{count:,} {kind}" for kind, count in kinds])
    yield from (("note", note) for note in summary.notes)
    if report.errors:
        yield "errors", f"{many(len(report.errors), 'problem')} with the input, listed first"
    unread = f", {many(len(report.errors), 'problem')} with the input" if report.errors else ""
    yield "result", verdict(report) + unread


def skips(report: Report) -> Iterator[str]:
    """One line a reason: ``needs a cluster (--cluster): 5 rules: a, b, …``."""
    reasons: dict[str, list[str]] = {}
    for skip in report.skipped:
        reasons.setdefault(skip.reason, []).append(skip.rule)
    for reason, rules in sorted(reasons.items(), key=lambda pair: (-len(pair[1]), pair[0])):
        named = sorted(filter(None, rules))  # a document that was skipped has no rule
        yield f"{reason}: {many(len(named), 'rule')}: {_named(named)}" if named else reason


def many(number: int, noun: str) -> str:
    """``1 file``, ``2,000 files``."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _named(names: list[str]) -> str:
    if len(names) <= _MOST_NAMES:
        return ", ".join(names)
    return f"{', '.join(names[: _MOST_NAMES - 1])} and {len(names) - _MOST_NAMES + 1} more"
