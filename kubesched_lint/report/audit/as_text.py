"""The report of ``audit`` for the terminal: sections in order of importance, one finding per cause."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kubesched_lint.commands.audit.findings import PENDING, SECTIONS, Audit, AuditFinding
from kubesched_lint.engine.base.text import brief, first_few, many
from kubesched_lint.explaining.pending import Waiting
from kubesched_lint.findings import Severity
from kubesched_lint.printing import visible
from kubesched_lint.report.cells import wrapped
from kubesched_lint.report.limits import MOST_LINES
from kubesched_lint.report.palette import Palette
from kubesched_lint.report.words import to_be_added

_QUIET = frozenset(["assumes", "since"])
"""Labels that only --verbose shows."""


def as_text(audit: Audit, *, color: bool = False, room: int = 0, verbose: bool = False) -> str:
    """Return the text for lines of ``room`` cells (0: no limit), without a newline at the end."""
    return "\n".join(_lines(audit, Palette(color), room, verbose))


def verdict(audit: Audit) -> str:
    """Return ``2 errors, 1 warning``, or ``nothing is wrong``, as far as the audit looked."""
    found = [one.severity for one in audit.findings]
    words = (many(found.count(severity), severity.word) for severity in sorted(set(found), reverse=True))
    nothing = "nothing is found to be wrong" if audit.unfollowed else "nothing is wrong"
    return ", ".join(words) or nothing


def _lines(audit: Audit, paint: Palette, room: int, verbose: bool) -> Iterator[str]:
    worst = max((one.severity for one in audit.findings), default=None)
    for line in wrapped(_headline(audit), room, 2):
        yield paint.bold(line) if worst is None else paint.severity(worst, line)
    yield ""
    for section, title in SECTIONS.items():
        found = list(audit.of(section))
        if not found:
            continue
        yield paint.bold(f"{title} ({len(found):,})")
        yield ""
        for one in found if verbose else found[:MOST_LINES]:
            yield from _finding(one, paint, room, verbose)
            yield ""
        if len(found) > MOST_LINES and not verbose:
            yield from (f"  … and {len(found) - MOST_LINES:,} more: --verbose and --format json show them", "")
    yield from _model(audit, paint, room, verbose)
    yield from _footer(audit, room)


def _finding(one: AuditFinding, paint: Palette, room: int, verbose: bool) -> Iterator[str]:
    tag = f"{one.severity.word}[{one.rule or one.section}]"
    message = one.message if verbose else brief(one.message)
    for number, line in enumerate(wrapped(f"{tag}: {visible(message)}", room, 4)):
        yield paint.severity(one.severity, tag) + paint.bold(line[len(tag) :]) if not number else paint.bold(line)
    if one.place:
        yield from _marked("-->", one.place, paint, room)
    shown = [d for d in one.details if verbose or d[0] not in _QUIET]
    for label, text in shown:
        yield from _marked("=", f"{label}: {text if verbose else brief(text)}", paint, room)
    if one.others:
        names = [str(ref) for ref in one.others]
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
    for one in audit.waiting:
        yield from _difference(one, paint, room)
        yield ""


def _difference(one: Waiting, paint: Palette, room: int) -> Iterator[str]:
    names = first_few([f"{b.namespace}/{b.name}" for b in one.pods], most=1)
    yield f"{paint.severity(Severity.NOTE, one.verdict)}: {visible(names)}"
    for label, text in (("kube-scheduler", one.theirs), ("model", one.ours or "a node fits"), ("because", one.why)):
        if text:
            yield from _marked("=", f"{label}: {text}", paint, room)


_ABSENT = re.compile(r"holds no (\w+)s, so their pods count as running pods of others")


def _unfollowed(audit: Audit) -> Iterator[str]:
    """Yield what is not followed; the kinds that the file lacks are one line, with what to add."""
    kinds = [found[1] for text in audit.unfollowed if (found := _ABSENT.fullmatch(text))]
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
