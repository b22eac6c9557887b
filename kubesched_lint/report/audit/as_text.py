"""The report of ``audit`` for the terminal: sections in order of importance, one finding per cause."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kubesched_lint.commands.audit.findings import PENDING, SECTIONS, Audit, AuditFinding
from kubesched_lint.engine.base.text import brief, first_few, many
from kubesched_lint.explaining.pending import Waiting
from kubesched_lint.findings import Severity
from kubesched_lint.printing import visible
from kubesched_lint.report.limits import MOST_LINES
from kubesched_lint.report.terminal.cells import wrapped
from kubesched_lint.report.terminal.palette import Palette
from kubesched_lint.report.wording.words import to_be_added

_QUIET = frozenset(["assumes", "since"])
"""Labels that only --verbose shows."""


def as_text(audit: Audit, *, color: bool = False, room: int = 0, verbose: bool = False) -> str:
    """Return the text for lines of ``room`` cells (0: no limit), without a newline at the end."""
    return "\n".join(_lines(audit, Palette(color), room, verbose))


def verdict(audit: Audit) -> str:
    """Return ``2 errors, 1 warning``, or ``nothing is wrong``, as far as the audit looked."""
    severities = [finding.severity for finding in audit.findings]
    words = (many(severities.count(severity), severity.word) for severity in sorted(set(severities), reverse=True))
    nothing = "nothing is found to be wrong" if audit.unfollowed else "nothing is wrong"
    return ", ".join(words) or nothing


def _lines(audit: Audit, paint: Palette, room: int, verbose: bool) -> Iterator[str]:
    worst = max((finding.severity for finding in audit.findings), default=None)
    for line in wrapped(_headline(audit), room, 2):
        yield paint.bold(line) if worst is None else paint.severity(worst, line)
    yield ""
    for section, title in SECTIONS.items():
        findings = list(audit.of(section))
        if not findings:
            continue
        yield paint.bold(f"{title} ({len(findings):,})")
        yield ""
        for finding in findings if verbose else findings[:MOST_LINES]:
            yield from _finding(finding, paint, room, verbose)
            yield ""
        if len(findings) > MOST_LINES and not verbose:
            yield from (f"  … and {len(findings) - MOST_LINES:,} more: --verbose and --format json show them", "")
    yield from _model(audit, paint, room, verbose)
    yield from _footer(audit, room)


def _finding(finding: AuditFinding, paint: Palette, room: int, verbose: bool) -> Iterator[str]:
    tag = f"{finding.severity.word}[{finding.rule or finding.section}]"
    message = finding.message if verbose else brief(finding.message)
    for number, line in enumerate(wrapped(f"{tag}: {visible(message)}", room, 4)):
        yield paint.severity(finding.severity, tag) + paint.bold(line[len(tag) :]) if not number else paint.bold(line)
    if finding.place:
        yield from _marked("-->", finding.place, paint, room)
    shown = [d for d in finding.details if verbose or d[0] not in _QUIET]
    for label, text in shown:
        yield from _marked("=", f"{label}: {text if verbose else brief(text)}", paint, room)
    if finding.others:
        names = [str(ref) for ref in finding.others]
        listed = ", ".join(names) if verbose else first_few(names)
        yield from _marked("=", f"the same: {listed}", paint, room)


def _marked(mark: str, text: str, paint: Palette, room: int) -> Iterator[str]:
    """Yield a line below a headline, wrapped before it is painted."""
    for number, line in enumerate(wrapped(f"  {mark} {visible(text)}", room, 6)):
        yield line if number else line.replace(mark, paint.gutter(mark), 1)


def _model(audit: Audit, paint: Palette, room: int, verbose: bool) -> Iterator[str]:
    """Yield, on request, every message of kube-scheduler that differs from the model's."""
    if not (verbose and audit.waiting):
        return
    yield paint.bold("Where kube-scheduler says something else than this model")
    yield ""
    for difference in audit.waiting:
        yield from _difference(difference, paint, room)
        yield ""


def _difference(difference: Waiting, paint: Palette, room: int) -> Iterator[str]:
    names = first_few([f"{b.namespace}/{b.name}" for b in difference.pods], most=1)
    yield f"{paint.severity(Severity.NOTE, difference.verdict)}: {visible(names)}"
    for label, text in (
        ("kube-scheduler", difference.theirs),
        ("model", difference.ours or "a node fits"),
        ("because", difference.why),
    ):
        if text:
            yield from _marked("=", f"{label}: {text}", paint, room)


_ABSENT = re.compile(r"holds no (\w+)s, so their pods count as running pods of others")


def _unfollowed(audit: Audit) -> Iterator[str]:
    """Yield what is not followed; the kinds that the file lacks are one line, with what to add."""
    kinds = [absent[1] for text in audit.unfollowed if (absent := _ABSENT.fullmatch(text))]
    if kinds:
        yield f"the file has no {to_be_added(kinds)}"
    yield from (text for text in audit.unfollowed if not _ABSENT.fullmatch(text))


def _headline(audit: Audit) -> str:
    """Return ``2 warnings in 5 workloads and 28 pods; no pod waits for a node now``."""
    looked = [many(audit.workloads, "workload")] if audit.workloads else []
    where = f"in {' and '.join([*looked, many(audit.pods, 'pod')])}"
    calm = "; no pod waits for a node now" if audit.findings and not list(audit.of(PENDING)) else ""
    return f"{verdict(audit)} {where}{calm}"


def _footer(audit: Audit, room: int) -> Iterator[str]:
    lines = [("cluster", audit.cluster)]
    lines += [("not followed", text) for text in _unfollowed(audit)]
    lines += [("note", text) for text in audit.notes]
    wide = max(len(label) for label, _ in lines)
    for label, text in lines:
        if text:
            yield from wrapped(f"{label:<{wide}}  {visible(text)}", room, wide + 2)
